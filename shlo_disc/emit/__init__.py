"""Printing of formulas as text of the C family.

In: scalars and dims of a kernel. Out: statements, each in the outermost block that can compute it. Targets override
the spelling.
"""
