"""Reports that several lines make together: blocks, pieces, tables."""
