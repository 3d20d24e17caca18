"""Attention as C++: forward and backward."""
