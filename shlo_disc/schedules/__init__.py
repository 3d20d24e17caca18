"""Schedules of matrix products: which there are, what each costs, and which one a size takes."""
