"""Where the GPU hours of many jobs go: facts of archived jobs in, one report out. Pure."""
