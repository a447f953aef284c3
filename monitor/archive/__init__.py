"""A reviewed job on disk, in forms that outlive this program, and the cache of what was read."""
