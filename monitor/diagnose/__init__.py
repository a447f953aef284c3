"""Rules over a run, a file a family, and the order in which their findings are to be acted on."""
