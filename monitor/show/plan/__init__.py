"""The Plan page: what is asked of a plan, and what comes of it."""
