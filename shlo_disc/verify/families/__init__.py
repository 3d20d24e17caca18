"""The constraints of StableHLO's specification, a module for each family of ops."""
