"""Compiled programs inside of functions that JAX traces: one custom call of XLA for each.

In: a program that is loaded, and the arrays or tracers of a call. Out: arrays or tracers. `call_in_trace` of
`primitive` is the interface. JAX is imported when a function is traced first. Programs of the CPU only: others would
need handlers of their own.
"""
