"""Who compiles the text, owns memory and launches? Imports nothing of the compiler."""
