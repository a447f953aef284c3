"""Lines that no reader knows: which of them report steps is learned from the log."""
