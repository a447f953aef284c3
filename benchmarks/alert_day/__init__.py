"""A day of watches on simulated jobs, with all that goes wrong in one, and the account of what the receiver got."""
