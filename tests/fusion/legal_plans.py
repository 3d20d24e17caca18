"""What every plan of groups keeps to, whichever rules made it."""

from __future__ import annotations

from collections import Counter

from shlo_disc.dynamic_ops.program import Body, Tensor
from shlo_disc.kernels.groups import Context, FusionPlan, GroupKind
from shlo_disc.kernels.op_graph import group_inputs


def faults_of(plan: FusionPlan, body: Body, context: Context) -> list[str]:
    """What is wrong with a plan; empty if each tensor is stored by one group, for a reader, and before it is read."""
    launches = [group.parts if group.kind is GroupKind.PARALLEL else (group,) for group in plan.groups]
    stored = Counter(root for parts in launches for part in parts for root in part.roots)
    found = [f"{number} groups store %{tensor.name}" for tensor, number in stored.items() if number > 1]
    read, before = set(body.results), set[Tensor]()
    for parts in launches:
        inputs = {tensor for part in parts for tensor in group_inputs(part, context.producers)}
        early = inputs.intersection(stored) - before
        found += [f"%{tensor.name} is read before it is stored" for tensor in early]
        read |= inputs
        before.update(root for part in parts for root in part.roots)
    rows = [part for parts in launches for part in parts if part.kind is GroupKind.ROWS]  # others store all results
    return found + [f"%{t.name} is stored for nobody" for part in rows for t in part.roots if t not in read]
