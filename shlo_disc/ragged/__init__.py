"""Which elements of a program with padded, masked arguments depend on the padding.

In: a DHLO program, and which argument holds the lengths of which size. Out: for each result, whether its elements
within the lengths are independent of the padding, the chain of ops if not, and which elements of every op are needed.
Nothing is rewritten.
"""
