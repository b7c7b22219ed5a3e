"""Code that runs on a node inside a rank; it imports nothing else of maccluster."""
