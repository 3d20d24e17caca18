"""What every DHLO op means, and how StableHLO becomes DHLO."""
