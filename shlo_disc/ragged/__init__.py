"""Which elements of a program with padded, masked arguments depend on the padding, and programs without it.

In: a DHLO program, and which argument holds the lengths of which size. Out: for each result, whether its elements
within the lengths are independent of the padding, the chain of ops if not, and which elements of every op are needed
(`program.py`, `demand.py`); and the DHLO program that computes within the lengths alone (`packing.py`).
"""
