"""Text to `ir` and back: lexer, parser, printer. The records of `dialects` say how each op is written.

In: StableHLO text or bytecode. Out: an `ir.Module`, or an error with its place. The reader and the writer of an op
are one template, so they cannot disagree.
"""
