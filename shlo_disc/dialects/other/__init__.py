"""Ops of other dialects that compute sizes in dynamic StableHLO: `arith`, `index`, `tensor` and `shape`.

In: slots and constraints of `dialects`. Out: an `OpRecord` for each op. A record may be added together with its rule in
`legalize.other_dialects`; the labels of its constraints are ours, as no specification numbers them.
"""
