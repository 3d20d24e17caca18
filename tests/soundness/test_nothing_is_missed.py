"""Fusion refuses nothing for want of an equality that holds.

Each refusal of the full rules names the equalities that it rests on; where all of them hold at 50 telling points, the
facts ought to have proven them. On the way, every plan is found legal.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import likely_points
from shlo_disc.dynamic_ops.program import Body
from shlo_disc.expr.dim import const
from shlo_disc.fusion.planners import plan_full
from shlo_disc.kernels.groups import Claim, Context, Decision
from shlo_disc.kernels.op_graph import is_control
from shlo_disc.lower_cuda.kernels import CudaLowering
from tests.fusion.legal_plans import faults_of
from tests.soundness.completeness import missed, telling_points
from tests.soundness.programs import parametrize_names, read_program


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_names(metafunc)


def decisions_of(body: Body, context: Context) -> list[Decision]:
    """All decisions of a body and of those nested in it, whose plans have to be legal."""
    plan = plan_full(body, context)
    assert not (faults := faults_of(plan, body, context)), faults
    inner = [b for op in body.ops if is_control(op) for b in op.bodies]
    return [*plan.decisions, *(d for b in inner for d in decisions_of(b, context))]


def test_no_merge_is_refused_for_an_equality_that_holds(program_name: str, corpus: Path) -> None:
    program = read_program(corpus, program_name, rewritten=True)
    producers = producers_of(program.body)
    context = Context(program.facts, producers, CudaLowering.abilities, likely_points(program, {}))
    decisions = decisions_of(program.body, context)
    claimed = [d for d in decisions if d.claims and not d.merged]
    points = telling_points(program, seed=3) if claimed else []
    found = [f"{d.producer.results[0]!r} into {d.consumer}: {d.reason} {d.claims}" for d in missed(claimed, points)]
    assert not found, "\n".join(found)


def test_a_claim_that_holds_is_found(corpus: Path) -> None:
    """The test above can fail."""
    program = read_program(corpus, "models/bert", rewritten=True)
    points = telling_points(program, seed=3)
    b, s = (dim for dim in program.parameters[-1].tensor.shape)
    op = program.body.ops[0]
    true, false = Claim(b * s, s * b), Claim(b, s)
    decisions = [Decision(op, "x", False, "", claims) for claims in ((true,), (true, false), (), (Claim(b, const(8)),))]
    assert list(missed(decisions, points)) == decisions[:1]
