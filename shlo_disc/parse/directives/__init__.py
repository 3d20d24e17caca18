"""The directives in braces of the templates of `form`: each reads and writes one part of an op.

In: tokens, or an op's attributes and types. Out: the same the other way. A directive may be added to
the table of its module; `parse.syntax` collects these.
"""
