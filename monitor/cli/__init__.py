"""The command line: a file a command. Results go to standard output, everything else to standard error."""
