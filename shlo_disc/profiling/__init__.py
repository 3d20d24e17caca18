"""Where a call spends its time: each step measured, beside its bytes and operations, and the limits of the machine.

In: a program that is ready to run, and the arguments of a call. Out: a `Profile`, which shows itself as a table, a
page, JSON and a trace. Measuring is the runtime's (`runtime/step_times.py`); what a step is made of is in the
artifact's report.
"""
