"""The command line: print, verify, tabulate, check and compile programs.

In: arguments and files. Out: text on the standard streams, and an exit status. What a command does is in the library:
a module here only parses and prints. `main` imports the module of a command when that runs.
"""
