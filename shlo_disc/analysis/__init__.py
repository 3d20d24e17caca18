"""Analyses of a program: element formulas, accesses, bounds of values.

The input is a `dynamic_ops.Program`, which no analysis changes. The meaning of ops comes from `dynamic_ops`, and a new
analysis needs no change to the others.
"""
