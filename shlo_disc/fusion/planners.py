"""The fusion planners that `CompileOptions.fusion` names."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dynamic_ops.program import Body
from shlo_disc.fusion.attention_groups import merge_attention
from shlo_disc.fusion.backward_groups import merge_backward
from shlo_disc.fusion.fuse import plan_fusion, plan_unfused
from shlo_disc.fusion.parallel import merge_parallel
from shlo_disc.fusion.prologue import merge_prologues
from shlo_disc.kernels.groups import Context, Fuse, FusionPlan
from shlo_disc.options import FusionRules


def plan_full(body: Body, context: Context) -> FusionPlan:
    """Merge all groups for which it is legal and pays."""
    plan = plan_fusion(body, context)
    if context.abilities.attention is not None:
        if context.abilities.attention.backward:
            plan = merge_backward(plan, body, context)
        plan = merge_attention(plan, body, context)
    if context.abilities.prologues:
        plan = merge_prologues(plan, body, context)
    if context.abilities.parallel is not None:
        plan = merge_parallel(plan, body, context)
    return plan


FUSIONS: Mapping[FusionRules, Fuse] = {
    "none": plan_unfused,
    "full": plan_full,
}
