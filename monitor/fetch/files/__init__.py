"""Log files on disk: paths, bytes to lines, and the forms in which copies of logs come."""
