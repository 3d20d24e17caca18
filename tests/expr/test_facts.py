"""Facts: what is concluded from assumptions, and what is left open."""

from __future__ import annotations

import itertools
import sys

import pytest

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import ZERO, Data, Dim, Max, Min, Sym, const, maximum, minimum, of, symbol
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.expr.scalar import Arg
from shlo_disc.ir.dtypes import DType
from tests.expr.sizes import A, B, H, S, T, sizes

pytestmark = pytest.mark.quick

AT, J = symbol("i"), symbol("j")

# -- comparisons ---------------------------------------------------------------

TRUE, FALSE, UNKNOWN = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN


@pytest.mark.parametrize(
    ("relation", "a", "b", "wanted"),
    [
        ("equal", B * S // S, B, TRUE),
        ("equal", S, T, UNKNOWN),
        ("equal", S, S + 1, FALSE),
        ("equal", 2 * S, 2 * T + 1, FALSE),
        ("equal", T, 0, FALSE),
        ("at_least", S, 0, TRUE),
        ("at_least", H, 1, UNKNOWN),
        ("at_least", T, 1, TRUE),
        ("at_least", -S, 1, FALSE),
        ("at_least", B * T, B, TRUE),
        ("at_least", 2 * S, S, TRUE),
        ("at_least", S, S // 2, TRUE),
        ("at_least", S, (S + 1) // 2, TRUE),
        ("at_least", (S + 3) // 4 * 4, S, TRUE),
        ("greater", S + 4, (S + 3) // 4 * 4, TRUE),
        ("at_least", S + T, maximum(S, T), TRUE),
        ("at_least", minimum(S, T), S + T, FALSE),
        ("at_least", minimum(H, A), H + A, UNKNOWN),
        ("at_least", S, minimum(S, T), TRUE),
        ("greater", B * S, AT * S + J, TRUE),
        ("greater", AT * S + J, B * S, FALSE),
        ("at_least", S - 1 - J, 0, TRUE),
        ("greater", S, J % 7, UNKNOWN),
        ("greater", const(7), J % 7, TRUE),
        ("at_least", T * S, J, TRUE),
        ("greater", S // 2 + 1, J // 2, TRUE),
    ],
)
def test_comparisons_are_decided(relation: str, a: Dim, b: Dim | int, wanted: Truth) -> None:
    facts = sizes(T).with_index(Sym("i"), B).with_index(Sym("j"), S)
    decide = {"equal": facts.equal, "at_least": facts.at_least, "greater": facts.greater}
    assert decide[relation](a, b) is wanted
    assert (~wanted).known == wanted.known


# -- assumptions ---------------------------------------------------------------


def equal(a: Dim, b: Dim | int, facts: Facts | None = None) -> Facts:
    return (facts or sizes()).assume_equal(a, b, "the program says so", NOWHERE)


def test_an_equation_eliminates_the_later_symbol() -> None:
    facts = equal(symbol("s2"), symbol("s10") + 1)
    assert facts.canonical(symbol("s10")) == symbol("s2") - 1
    assert facts.interval(symbol("s10")) == (None, None)


def test_bounds_survive_elimination() -> None:
    facts = equal(S, T + 5)
    assert facts.canonical(T) == S - 5
    assert facts.at_least(S, 5) is Truth.TRUE
    assert facts.interval(S) == (5, None)


def test_equations_chain() -> None:
    facts = equal(T, S + 1, equal(S, 2 * B))
    assert facts.equal(T, 2 * B + 1) is Truth.TRUE
    assert facts.equal(T, 2 * H) is Truth.FALSE


def test_a_product_equation_cancels_what_is_not_zero() -> None:
    assert equal(B * S, B * T).equal(S, T) is Truth.UNKNOWN
    assert equal(B * S, B * T, sizes(B)).equal(S, T) is Truth.TRUE


def test_an_equation_of_multiples_is_solved_over_the_integers() -> None:
    facts = equal(2 * S, 3 * T)
    ((q, definition),) = facts.definitions
    assert (facts.canonical(S), facts.canonical(T)) == (3 * of(q), 2 * of(q))
    assert definition == T // 2
    assert (facts.divisor(S), facts.divisor(T)) == (3, 2)
    assert facts.at_least(of(q), 0) is Truth.TRUE


@pytest.mark.parametrize("form", [S - 2 * (S // 2), S % 2])
def test_a_remainder_equation_becomes_a_fresh_symbol(form: Dim) -> None:
    facts = equal(form, 1)
    ((q, definition),) = facts.definitions
    assert facts.canonical(S) == 2 * of(q) + 1
    assert facts.canonical((S - 1) // 2) == of(q)
    assert facts.equal(S % 2, 1) is Truth.TRUE
    assert facts.interval(of(q)) == (0, None)
    assert definition.evaluate({Sym("s"): 7}) == 3


def test_divisibility_is_used_and_accumulates() -> None:
    facts = sizes().assume_divides(4, S, "aligned", NOWHERE).assume_divides(6, S, "six", NOWHERE)
    assert facts.divisor(S) == 12
    assert facts.canonical(S % 12) == ZERO
    env = {Sym("s"): 24}
    for sym, definition in facts.definitions:
        env[sym] = definition.evaluate({Sym("s"): 24})
    assert facts.canonical(S).evaluate(env) == 24


def test_divisibility_of_a_product_is_remembered() -> None:
    facts = sizes().assume_divides(4, B * S, "aligned", NOWHERE)
    assert facts.divisor(B * S) == 4
    assert facts.divisor(3 * B * S) == 12
    assert facts.divisor(B) == 1
    assert facts.canonical(B * S % 4) == ZERO
    assert facts.definitions == ()


def test_known_inequalities_combine() -> None:
    facts = sizes().assume_at_least(S, T, "longer", NOWHERE).assume_at_least(T, H, "", NOWHERE)
    assert facts.at_least(S, H) is Truth.TRUE
    assert facts.at_least(B * S, B * H) is Truth.TRUE
    assert facts.canonical(minimum(S, T, H)) == H
    assert facts.canonical(maximum(S, T, H)) == S
    assert facts.at_least(H, T) is Truth.UNKNOWN
    any_sign = symbol("x")
    assert facts.at_least(any_sign * S, any_sign * T) is Truth.UNKNOWN


def test_what_is_known_survives_a_later_equation() -> None:
    before = sizes().assume_at_least(S, H, "", NOWHERE).assume_divides(4, B * H, "", NOWHERE)
    facts = equal(T, H, before).assume_equal(B, 2 * symbol("c"), "", NOWHERE)
    assert facts.at_least(S, T) is Truth.TRUE
    assert facts.divisor(B * T) == 4


def test_a_bounded_quotient_bounds_its_numerator() -> None:
    facts = sizes().assume_at_least(S // 2, 3, "long enough", NOWHERE)
    assert facts.interval(S) == (6, None)


def test_two_bounds_that_meet_are_an_equation() -> None:
    facts = sizes().assume_at_least(S, 4, "", NOWHERE).assume_at_least(4 - S, 0, "", NOWHERE)
    assert facts.canonical(S) == const(4)


def test_data_can_be_bounded_and_replaced() -> None:
    n = of(Data(Arg("n", DType.I32)))
    facts = sizes().assume_at_least(n, 0, "a count", NOWHERE)
    assert facts.at_least(n + S, 0) is Truth.TRUE
    assert equal(n, S, facts).canonical(n * 2) == 2 * S


def test_an_equation_that_cannot_be_solved_is_still_known() -> None:
    facts = equal(B * S, T * H)
    assert facts.equal(B * S, T * H) is Truth.TRUE
    assert facts.at_least(B * S + 1, T * H) is Truth.TRUE


def test_facts_are_persistent_and_listed_once() -> None:
    before = sizes()
    after = equal(S, T, equal(S, T, before))
    assert len(after.facts) == len(before.facts) + 1
    assert str(after.facts[-1]).startswith("s == t (the program says so, ")
    assert before.equal(S, T) is Truth.UNKNOWN


def test_explain_names_what_is_known() -> None:
    facts = equal(T, 2 * S, sizes(B))
    assert facts.explain(B + T + symbol("x")) == ("b >= 1, t == 2*s, t >= 0, x is any integer")
    assert facts.explain(const(3)) == "nothing"


def test_contradicting_facts_do_not_crash() -> None:
    facts = equal(S, 3, equal(S, 2))
    assert facts.equal(S, 2).known
    assert sizes().assume_at_least(-1 - S, 0, "", NOWHERE).interval(S)[1] == -1


def test_extremes_are_taken_apart() -> None:
    facts = sizes()
    assert facts.interval(minimum(S, 4)) == (0, 4)
    assert facts.interval(maximum(S, 4)) == (4, None)
    assert isinstance(facts.canonical(minimum(S, T)).atom, Min)
    assert isinstance(facts.canonical(maximum(S, T)).atom, Max)


ENDS = [(low, high) for low in (None, -2, 1) for high in (None, 1, 3) if low is None or high is None or low <= high]


def between(name: Dim, low: int | None, high: int | None, facts: Facts) -> Facts:
    if low is not None:
        facts = facts.assume_at_least(name, low, "a fact", NOWHERE)
    return facts if high is None else facts.assume_at_least(high - name, 0, "a fact", NOWHERE)


@pytest.mark.parametrize(("a", "b"), [*itertools.product(ENDS, ENDS)])
def test_bounds_of_extremes_are_exact(a: tuple[int | None, int | None], b: tuple[int | None, int | None]) -> None:
    """The bounds are those of the members, no others are proven, and none of them is refused."""
    facts = between(AT, *a, between(J, *b, Facts.empty()))
    lows, highs = [x for x in (a[0], b[0]) if x is not None], [x for x in (a[1], b[1]) if x is not None]
    least, most = minimum(AT, J), maximum(AT, J)
    for low, high, dim in (
        (min(lows) if len(lows) == 2 else None, min(highs, default=None), least),
        (max(lows, default=None), max(highs) if len(highs) == 2 else None, most),
    ):
        assert facts.interval(dim) == (low, high)
        for bound in range(-4, 6):
            assert facts.at_least(dim, bound).is_true == (low is not None and bound <= low)
            assert facts.at_least(const(bound), dim).is_true == (high is not None and bound >= high)


# -- products, chains, quotients, extremes -------------------------------------

M, N, P = map(symbol, "mnp")


def learned(*claims: tuple[str, Dim, Dim | int]) -> Facts:
    """Facts of sizes that may be 0."""
    facts = sizes()
    for size in (M, N, P):
        facts = facts.assume_at_least(size, 0, "a size", NOWHERE)
    for relation, a, b in claims:
        facts = equal(a, b, facts) if relation == "==" else facts.assume_at_least(a, b, "a fact", NOWHERE)
    return facts


@pytest.mark.parametrize(
    ("claims", "relation", "a", "b", "wanted"),
    [
        ([("==", A * B, M * N)], "equal", 3 * A * B * S, 3 * M * N * S, TRUE),
        ([("==", A * B, M * N)], "equal", A * B, M * N + 1, FALSE),
        ([("==", A * B, M * N)], "equal", A * B // N, M, TRUE),
        ([("==", A * B, M * N)], "equal", A, M, UNKNOWN),
        ([("==", A * B, M * N), ("==", M * N, S * T)], "equal", A * B, S * T, TRUE),
        ([("==", A * B, P), ("==", B * S, M * N)], "equal", P * S, A * M * N, TRUE),
        ([("==", A * M, B * N), ("==", M * S, N * T)], "equal", A * N * T, B * N * S, TRUE),  # from both rules
        ([("==", A * B, M * N), ("==", A, 2 * M)], "at_least", 2 * M * B, M * N, TRUE),
        ([(">=", B, A), (">=", S, B), (">=", T, S), (">=", H, T), (">=", M, H)], "at_least", M, A, TRUE),
        ([(">=", B, A), (">=", S, B)], "at_least", B, S, UNKNOWN),
        ([(">=", 2 * T, S + 1)], "greater", 2 * T, S, TRUE),
        ([(">=", 2 * T, S + 1)], "at_least", T, 1, TRUE),
        ([(">=", 2 * T, S + 1)], "at_least", T, S, UNKNOWN),
        ([(">=", T, S // 2)], "at_least", 2 * T + 1, S, TRUE),
        ([(">=", S // 2, T)], "at_least", S, 2 * T, TRUE),
        ([(">=", const(5), maximum(S, T))], "at_least", const(5), T, TRUE),
        ([(">=", minimum(S, T), 3)], "at_least", S, 3, TRUE),
        ([("==", maximum(S, T), S)], "at_least", S, T, TRUE),
        ([(">=", maximum(S - T, 0), 1)], "greater", S, T, TRUE),
        ([(">=", maximum(S - T, B - A), 1)], "greater", S, T, UNKNOWN),
        ([(">=", const(2), minimum(S, 3))], "at_least", const(2), S, TRUE),
        ([(">=", maximum(minimum(B, S) - minimum(S, 4), 0), 1)], "at_least", S, 5, TRUE),  # from one case to the next
        ([(">=", const(9), S)], "at_least", 9 * B, B * S, TRUE),
        ([(">=", const(9), S), (">=", const(2), B)], "at_least", 18 + B, B * S, TRUE),
        ([(">=", const(9), S)], "at_least", 8 * B, B * S, UNKNOWN),
        ([(">=", const(9), S), (">=", B, 1)], "at_least", 9 * B * S, S * S, TRUE),  # a factor of both
        ([(">=", const(9), S), (">=", B, 1)], "at_least", 9 * B * S, S * S + 1, UNKNOWN),
        ([("==", S % 8, T % 8)], "equal", S % 4, T % 4, TRUE),
        ([("==", S % 8, T % 8)], "equal", S, T + 4, FALSE),
    ],
)
def test_what_follows(claims: list[tuple[str, Dim, Dim]], relation: str, a: Dim, b: Dim | int, wanted: Truth) -> None:
    facts = learned(*claims)
    decide = {"equal": facts.equal, "at_least": facts.at_least, "greater": facts.greater}
    assert decide[relation](a, b) is wanted


@pytest.mark.parametrize("k", [const(2), const(8), T, A * B])
def test_what_is_rounded_up_is_written_in_one_way(k: Dim) -> None:
    facts = learned()
    rounded = facts.canonical((S + k - 1) // k)
    assert facts.canonical(-(-S // k)) == rounded
    filled = [S + -S % k, k * -(-S // k), (S + k - 1) // k * k, S + k - 1 - (S + k - 1) % k]
    assert {facts.canonical(each) for each in filled} == {facts.canonical(k * rounded)}
    assert facts.canonical(B * S - B * (S % k)) == facts.canonical(B * k * (S // k))


def test_a_fact_names_the_facts_that_solved_its_symbols() -> None:
    facts = equal(2 * T, A * B, equal(T, S, sizes()))
    assert facts.facts[-1].because == (5,)
    assert facts.solved_by(T) == (5,)
    assert [fact.text for fact in facts.about(T)] == ["s >= 0", "t >= 0", "t == s", "2*t == a*b"]


def test_inequalities_read_without_terms_below_zero() -> None:
    facts = Facts.empty()
    for claim in (128 - S, S - 1, 2 * T - S - 3, S // 2 - 2):
        facts = facts.assume_at_least(claim, 0, "a test", NOWHERE)
    assert [fact.text for fact in facts.facts] == ["s <= 128", "s >= 1", "2*t >= s + 3", "s // 2 >= 2"]


def test_equations_of_products_that_divide_each_other_come_to_an_end() -> None:
    """Each says that a number divides the other's product, again and again with new quotients."""
    a, b, s, t = map(symbol, ("a", "b", "s0", "s1"))
    facts = Facts.empty().assume_equal(a * s, 5 * b + 4, "one", NOWHERE)
    facts = facts.assume_equal(a * t + 6 * a, -7, "two", NOWHERE)
    # a == 7, t == -7, s == 2, b == 2
    values = {Sym("a"): 7, Sym("s1"): -7, Sym("s0"): 2, Sym("b"): 2}
    for sym, definition in facts.definitions:
        values[sym] = definition.evaluate(values)
    assert facts.canonical(a * s - b).evaluate(values) == 12


def _calls_to_judge(count: int) -> int:
    """How many Python calls it takes to find no proof about the size that so many sizes broadcast to."""
    sizes = [symbol(f"s{k}") for k in range(count)]
    facts, joined, calls = Facts.empty(), sizes[0], 0
    for size in sizes:
        facts = facts.assume_at_least(size, 0, "a size", NOWHERE)
    for size in sizes[1:]:
        joined = maximum(joined, size) * minimum(joined, size, 1)

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        assert facts.at_least(joined, sizes[0]) is Truth.UNKNOWN
    finally:
        sys.setprofile(None)
    return calls


def test_a_proof_that_fails_takes_little_work() -> None:
    assert _calls_to_judge(6) < 12 * _calls_to_judge(3)
