"""A compiled program for people: `explain` as text, and one page for a browser.

In: an artifact. Out: text, HTML. Everything shown is in the artifact; nothing is computed by the compiler again.
"""
