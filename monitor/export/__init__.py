"""A report to keep and to pass on: one HTML page, Markdown, JSON, tables as CSV."""
