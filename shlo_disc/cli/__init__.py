"""The command line: print, verify and tabulate programs."""
