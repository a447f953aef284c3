"""From log lines to steps and events: recognize one line at a time, then assemble. Pure: no clock, file or network."""
