"""A reviewed job on disk, in formats that outlive this program, and the cache of what was read."""
