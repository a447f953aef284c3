"""Metrics of hosts and GPUs: CloudWatch's, and the profiler's minutes."""
