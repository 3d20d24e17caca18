"""Compiled programs as files, which other processes run without a compiler and without JAX.

In: a program that is ready to run, and what it was compiled from. Out: the bytes of a file, and a program that is ready
to run again. docs/reference/artifact.md describes the files; a change of what is in them raises `SCHEMA`. What reading
needs imports nothing of the compiler.
"""
