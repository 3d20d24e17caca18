"""A compiled program as one page for a browser."""
