"""A report to keep and to share: one HTML page, Markdown, JSON, tables as CSV."""
