"""Run a program in several ways against each other, and find the smallest program that still differs."""
