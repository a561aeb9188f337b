"""What the original does not have: attention over blocks of queries and keys, and its pieces."""
