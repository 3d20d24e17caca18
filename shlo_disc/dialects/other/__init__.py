"""Ops of other dialects that compute sizes in dynamic StableHLO: `arith`, `index`, `tensor` and `shape`.

Labels of constraints are ours.
"""
