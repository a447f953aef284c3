"""What the pages share: the frame, the cache, how a figure is written, and the parts that draw a report."""
