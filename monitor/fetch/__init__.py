"""Bytes in: jobs, metrics and logs of an AWS account or of log files, behind one protocol (``source.Source``)."""
