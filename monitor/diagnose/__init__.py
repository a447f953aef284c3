"""Rules over a run, one file per family, and the order in which to act on their findings."""
