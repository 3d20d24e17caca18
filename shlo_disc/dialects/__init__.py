"""The ops of StableHLO and CHLO: one record each, of how it is written and of what the specification demands.

The parser and the printer take an op's form, operands and attributes from its record, the verifier its slots and
constraints. Records may be added; constraints go by the numbers of the specification, and for each there is a program
that it refuses (`tests/verify/refused`).
"""
