"""What is true of a program: element formulas, liveness. Nothing here changes it."""
