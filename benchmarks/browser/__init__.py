"""A dashboard on a stub of an account, and a real Chromium that looks at it."""
