"""Signs of linear forms, and joins of states, against numbers."""

from __future__ import annotations

from itertools import product

import pytest

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import const
from shlo_disc.expr.facts import Facts
from shlo_disc.ragged.forms import Atom, Length, LinearForm, Position, Signs, form_of, is_possible, known_in, regions_of
from shlo_disc.ragged.states import FREE, AtLeastZero, Both, Cause, Known, Not, Padding, holds, joined

pytestmark = pytest.mark.quick

Q, K, LENGTH = Position(1), Position(2), Length(0, 0)
SIZE = 4
BEYOND = tuple(form_of(at) - form_of(LENGTH) for at in (Q, K))
SIGNS = Signs(Facts.empty(), 1, {0: const(SIZE)}, {Q: const(SIZE), K: const(SIZE)})


def value(form: LinearForm, q: int, k: int, length: int) -> int:
    """The value of a form."""
    numbers: dict[Atom, int] = {Q: q, K: k, LENGTH: length}
    return sum(times * numbers[atom] for atom, times in form.terms) + (form.rest.constant or 0)


class TestSigns:
    def test_proofs_hold_for_all_numbers(self) -> None:
        forms = [
            form_of(Q).scaled(a) + form_of(K).scaled(b) + form_of(LENGTH).scaled(c) + LinearForm(rest=const(d))
            for a, b, c, d in product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1), (-1, 0, 1))
        ]
        points = list(product(range(SIZE), range(SIZE), range(1, SIZE + 1)))
        proofs = 0
        for region in regions_of(BEYOND, SIGNS):
            inside = [p for p in points if all((value(each, *p) >= 0) is (each in region) for each in BEYOND)]
            for form in forms:
                if SIGNS.never_negative(form, known_in(BEYOND, region)):
                    proofs += 1
                    assert all(value(form, *p) >= 0 for p in inside), (form, region)
        assert proofs > 100

    def test_regions_that_contradict_themselves_are_left_out(self) -> None:
        later = form_of(Q).plus(-1) - form_of(LENGTH)
        assert not is_possible((BEYOND[0], later), frozenset([later]), SIGNS)
        assert len(regions_of((BEYOND[0], later), SIGNS)) == 3


class TestStates:
    def test_conditions(self) -> None:
        def sign(form: LinearForm) -> bool | None:
            return None if form.terms else (form.rest.constant or 0) >= 0

        true, false, unknown = (
            AtLeastZero(LinearForm()),
            AtLeastZero(LinearForm(rest=const(-1))),
            AtLeastZero(form_of(Q)),
        )
        assert [holds(each, sign) for each in (true, false, unknown)] == [True, False, None]
        assert [holds(Both(unknown, each), sign) for each in (true, false)] == [None, False]
        assert [holds(Not(each), sign) for each in (true, unknown)] == [False, None]

    def test_joins(self) -> None:
        padding = Padding(Cause("the padding of argument 0", NOWHERE))
        assert joined(Known(0.0), Known(0.0)) == Known(0.0)
        assert joined(Known(float("nan")), Known(float("nan"))) == Known(float("nan"))
        assert joined(Known(0.0), Known(1.0)) == FREE
        assert joined(FREE, padding) == padding
