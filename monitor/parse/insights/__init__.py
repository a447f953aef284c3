"""The steps of a job as questions to CloudWatch Logs Insights, and their answers."""
