"""Dims (integer formulas over sizes and indices), facts about them, and scalars (formulas of one element).

In: symbols and operations. Out: canonical formulas, proofs, values. Rules that rewrite may be added where a property
test holds them: equal formulas have to have equal values for all sizes.
"""
