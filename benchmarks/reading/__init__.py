"""Does a job read newest first come to the report of one read from its head, and is every report on the way sound?

Jobs of any maker (planted faults, the demo's stories, random accounts) are served by the stub of an account, on pages so
short that their logs have many; the reading is that of a real account.
"""
