"""From rows to steps: series, bars, clocks, and which printed time is whose."""
