"""The stages of a row kernel as C++.

In: a stage, and what the stages of its kernel share. Out: its statements (`lines.py`): for single elements
(`scalar.py`), vectors along the last axis (`vector.py`), or vectors of quotients by a constant (`modulo.py`).
"""
