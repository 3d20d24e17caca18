"""The CPU target: C++ with explicit vectors."""
