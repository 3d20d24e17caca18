"""The differential tester finds what is put into the compiler, and shrinks it to a handful of lines."""

from __future__ import annotations

import pytest

from examples.data_dependent import PROGRAM
from shlo_disc import parse
from shlo_disc.check.judging import Judge, undefined_results
from shlo_disc.check.running import BuildConfig, InProcess, standard_ways
from shlo_disc.check.session import CheckPlan, CheckReport, check
from shlo_disc.options import CompileOptions
from tests.check.bugs import BUGS
from tests.check.programs import ATTENTION

pytestmark = pytest.mark.slow

TARGET = BuildConfig(CompileOptions(optimize=0))
PLAN = CheckPlan(random=3, seconds=120)


def report(text: str, plan: CheckPlan = PLAN, others: tuple[str, ...] = ("compiled",)) -> CheckReport:
    module = parse(text)
    judge = Judge(InProcess(standard_ways(TARGET)), others)
    return check(module, judge, plan, TARGET, silent)


def silent(_what: str, _done: int, _total: int) -> None:
    pass


def test_all_ways_agree() -> None:
    found = report(ATTENTION, CheckPlan(random=2), ("compiled", "vm", "xla"))
    assert found.finding is None
    assert found.agreed == 8


def test_sizes_that_data_decides_agree() -> None:
    found = report(PROGRAM.replace("@keep", "@main"), CheckPlan(random=2), ("compiled", "vm"))
    assert found.finding is None
    assert found.agreed


FACTORS = """
func.func @main(%a: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>) {
  %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {
    mhlo.backend_config = {mode = 83 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>,
    dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]
  } : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<i32>)
  %1 = stablehlo.abs %0#0 : tensor<2x2xf32>
  return %1, %0#1, %0#2 : tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>
}
"""


def test_what_a_decomposition_leaves_of_its_matrix_is_nobodys() -> None:
    assert undefined_results(parse(FACTORS)) == {0}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_found_and_shrunk(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put, op = BUGS[bug]
    put(monkeypatch)
    finding = report(ATTENTION).finding
    assert finding is not None
    shrunk = finding.shrunk
    names = [one.name for one in shrunk.case.ops]
    assert op in names
    assert shrunk.case.size <= 4, str(shrunk.case.module)
    assert shrunk.complete
    assert finding.failure.kind == ("error" if bug == "breakdown" else "differs")
