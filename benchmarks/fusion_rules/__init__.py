"""Fusion planners to compare: the compiler's own, and re-implementations of DISC's and BladeDISC's.

Each gives a plan for `shlo_disc.pipeline.compile_module(..., fuse=planner)`.
"""

from collections.abc import Mapping

from benchmarks.fusion_rules.plan import plan_bladedisc, plan_disc
from shlo_disc.fusion.fuse import plan_unfused
from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.groups import Fuse

__all__ = ["PLANNERS", "plan_bladedisc", "plan_disc"]

PLANNERS: Mapping[str, Fuse] = {
    "none": plan_unfused,
    "disc": plan_disc,
    "bladedisc": plan_bladedisc,
    "full": plan_full,
}
