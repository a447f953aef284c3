"""Logs as CloudWatch leaves them in S3: what an export task or a subscription wrote, as events of single jobs."""
