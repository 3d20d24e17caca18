"""XLA as the oracle: what it makes of a StableHLO text with `?` dims, for arrays of any one shape."""

from shlo_disc.check.xla import xla_executable, xla_reference

__all__ = ["xla_executable", "xla_reference"]
