"""A reviewed job on disk, in forms that outlive this program."""
