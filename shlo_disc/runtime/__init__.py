"""Who compiles the text, owns memory and launches?

In: an artifact and arrays. Out: results. Imports nothing of the compiler: what it needs to know is in the artifact.
"""
