"""Log lines from CloudWatch Logs: events, streams, the reader of a job's logs, excerpts and aggregates."""
