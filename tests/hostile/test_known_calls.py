"""Custom calls that the compiler knows, with operands and results that are not theirs: refused or run, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from random import Random, SystemRandom

import pytest

import shlo_disc
from shlo_disc import VerifyError
from shlo_disc.legalize.rules_custom_calls import CUSTOM
from tests.hostile.known_calls import Call, Tensor, changes, known_calls
from tests.hostile.net import net
from tests.pipeline.exports import FAST

pytestmark = pytest.mark.slow

CALLS = {call.target: call for call in known_calls()}
MUTANTS, SECONDS = 300, 20.0
# What they are called with are numbers at random, which these refuse: a shape, a truth, an order of rows.
CHECKED = {
    "stablehlo.dynamic_rng_bit_generator", "stablehlo.dynamic_top_k", "shape_assertion", "cusolver_csrlsvqr_ffi",
    "shlo_disc.prefix", "shlo_disc.dynamic_fft",
}  # fmt: skip


def test_each_target_has_a_call_that_runs() -> None:
    assert CALLS.keys() == CUSTOM.keys()
    with net(SECONDS) as one:
        for call in known_calls():
            outcome = one.attempt(call.text, 1)
            assert not outcome.is_finding, outcome.message
            assert outcome.kind == "ran" or call.target in CHECKED, outcome.message


def test_changed_calls_are_refused_or_run() -> None:
    seed = SystemRandom().randrange(10**6)
    rng = Random(seed)
    with net(SECONDS) as one:
        for number, call in enumerate(islice(changes(rng, known_calls()), MUTANTS)):
            outcome = one.attempt(call.text, number)
            assert not outcome.is_finding, f"seed {seed}, number {number}\n{call.text}\n{outcome.message}"


def _less(call: Call) -> Call:
    return replace(call, operands=call.operands[:-1])


def _result_more(call: Call) -> Call:
    return replace(call, results=(*call.results, call.results[0]))


def _rank_more(call: Call) -> Call:
    return replace(call, operands=(*call.operands[:-1], replace(call.operands[-1], sizes=("1", "1", "1", "1", "2"))))


def _other_type(call: Call) -> Call:
    return replace(call, operands=(*call.operands[:-1], replace(call.operands[-1], element="i16")))


def _other_result(call: Call) -> Call:
    return replace(call, results=(replace(call.results[0], element="i16"), *call.results[1:]))


REFUSED: list[tuple[Callable[[Call], Call], str, str]] = [
    (_less, "lapack_sormqr_ffi", "expected 3 operands of @lapack_sormqr_ffi, found 2"),
    (_result_more, "lapack_dgetrf_ffi", "expected 3 results of @lapack_dgetrf_ffi, found 4"),
    (_rank_more, "lapack_zungqr_ffi", "expected operand 1 of @lapack_zungqr_ffi to have 2 dims, found 5"),
    (_other_type, "cusparse_gtsv2_ffi", "expected operand 3 of @cusparse_gtsv2_ffi to hold f32, found i16"),
    (_other_result, "Sharding", "expected result 0 of @Sharding to have 2 dims of f32, found 2 of i16"),
    (_less, "stablehlo.dynamic_reduce_window", "expected 7 operands of .*, found 6"),
    (_other_type, "cu_threefry2x32_ffi", "expected words of threefry of type ui32, found i16"),
    (_less, "stablehlo.dynamic_top_k", "expected 2 operands of @stablehlo.dynamic_top_k, found 1"),
    (lambda call: replace(call, functions=""), "ApproxTopK", "expected 'called_computations' to name a function"),
]


@pytest.mark.parametrize(("change", "target", "message"), REFUSED)
def test_what_is_wrong_is_said(change: Callable[[Call], Call], target: str, message: str) -> None:
    calls = {call.target: call for call in reversed(known_calls())}
    with pytest.raises(VerifyError, match=message):
        shlo_disc.compile(change(calls[target]).text, device="cpu", options=FAST)


@pytest.mark.parametrize(
    ("target", "operand", "sizes"),
    [
        ("lapack_sorgqr_ffi", 1, ("2", "4")),  # more reflectors than columns
        ("lapack_sorgqr_ffi", 0, ("2", "2", "3")),  # more columns than rows
        ("lapack_sormqr_ffi", 1, ("2", "4")),
        ("lapack_sormqr_ffi", 2, ("2", "4", "4")),  # other rows than the reflectors
        ("lapack_sgeqp3_ffi", 1, ("2", "2")),
        ("lapack_sgtsv_ffi", 0, ("2", "4")),
        ("lapack_strsm_ffi", 0, ("3", "5", "5")),
        ("cu_cholesky_update_ffi", 1, ("4",)),
        ("cu_lu_pivots_to_permutation", 0, ("2", "6")),
    ],
)
def test_sizes_that_a_routine_would_read_beyond(target: str, operand: int, sizes: tuple[str, ...]) -> None:
    """LAPACK reads as many elements as its other operands have."""
    call = CALLS[target]
    operands = list[Tensor](call.operands)
    operands[operand] = replace(operands[operand], sizes=sizes)
    with pytest.raises(shlo_disc.ShapeError):
        shlo_disc.compile(replace(call, operands=tuple(operands)).text, device="cpu", options=FAST)
