"""The fusion of other compilers for dynamic shapes, re-implemented to compare with."""

from shlo_disc.fusion.baselines.plan import plan_bladedisc, plan_disc

__all__ = ["plan_bladedisc", "plan_disc"]
