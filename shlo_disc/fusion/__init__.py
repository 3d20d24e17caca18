"""Which ops share a kernel, and what that costs.

In: a program. Out: a plan of groups, with the reasons for what was refused. Rules for merges may be added; costs are
formulas of sizes.
"""
