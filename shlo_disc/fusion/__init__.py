"""Fusion: which ops share a kernel, and what that costs.

In: a program. Out: a plan of groups, with the reasons for refused merges. Extension points: rules for merges. Costs are
formulas of sizes.
"""
