"""CloudWatch alarms that go on without this program: their plan, their calls, their document."""
