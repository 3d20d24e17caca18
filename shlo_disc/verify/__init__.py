"""What StableHLO demands of an op, constraint by constraint."""
