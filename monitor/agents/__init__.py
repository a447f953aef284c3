"""Tools for coding agents: what ``trainwatch mcp`` offers, six questions about training jobs with small answers."""
