"""Dims (integer formulas over sizes and indices) and scalars (formulas of one element)."""
