"""Jobs side by side: what differs, what that did to their figures, and what was predicted of it."""
