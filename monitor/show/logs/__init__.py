"""The Logs page, and links to a line of a log."""
