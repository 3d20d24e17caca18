"""Schedules of matrix products: the candidates, their costs, and the choice by size.

In: measured or shipped rates of micro-kernels. Out: candidates with costs, as data for the host program. Rates of other
CPUs may be added as JSON.
"""
