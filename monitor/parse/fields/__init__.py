"""What the named numbers of a line are: keys, words, units, and what they amount to together."""
