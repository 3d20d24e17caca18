"""Text to `ir` and back: lexer, parser, printer, from one table of op spellings.

In: StableHLO text or bytecode. Out: an `ir.Module`, or an error with its place. Spellings may be added to the tables;
reader and writer of an op are one template, so they cannot disagree.
"""
