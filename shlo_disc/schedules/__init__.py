"""Schedules of matrix products: which there are, what each costs, and which one a size takes.

In: measured or shipped rates of micro-kernels. Out: candidates with costs, as data for the host program. Rates of other
CPUs may be added as JSON.
"""
