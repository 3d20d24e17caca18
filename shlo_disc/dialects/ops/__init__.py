"""The ops of StableHLO and CHLO, a module for each family."""
