"""From log lines to steps and events: recognise one line at a time, then assemble. Pure: no clock, file or network."""
