"""The rules, a file a family: each is one documented function from a case to a finding or nothing."""
