"""Ops of `arith`, `index`, `tensor` and `shape` as ops of StableHLO: `without_other_dialects` of `rewrite.py`.

In: a module. Out: one of StableHLO alone, but for `shape.broadcast`. An `index` and a `!shape.size` become a
`tensor<i64>`, a shape a `tensor<…xi64>`; then the folding of shape arithmetic knows them. Rules may be added.
"""
