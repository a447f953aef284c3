"""Simulated training jobs with one planted fault each, and healthy ones: what does the review say of them?

A job is built as AWS would show it: an answer of DescribeTrainingJob, lines of text with times in log streams, host sums
of metrics. The review reads them through its own parsers. Nothing here is taken from the rules: effects are as large as
an owner would notice, and a healthy job is what an owner would call healthy.
"""
