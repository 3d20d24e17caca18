"""Reports on a compiled program: `explain` as text, and one page for a browser.

In: an artifact. Out: text, HTML. Everything shown is in the artifact; the compiler does not run again.
"""
