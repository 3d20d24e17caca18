"""Dims (integer formulas over sizes and indices), facts about them, and scalars (formulas of one element).

Symbols and operations become canonical formulas, proofs and values. Every rewrite rule needs a property test: equal
formulas must have equal values for all sizes.
"""
