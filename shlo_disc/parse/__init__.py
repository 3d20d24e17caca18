"""Text to ir and back: lexer, parser, printer, and the table of op spellings."""
