"""Linear forms of positions, lengths and sizes, and proofs of their sign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import TypeAlias

from shlo_disc.expr.dim import ZERO, Dim, as_dim, const
from shlo_disc.expr.facts import Facts
from shlo_disc.records import record


@record
class Position:
    """The index along a factor of a value's dims."""

    factor: int


@record
class Iteration:
    """The number of the iteration of a loop, from 0."""

    loop: int


@record
class Length:
    """The length of a row: `source` is the number of the argument that says it, `batch` the factor that counts rows."""

    source: int
    batch: int


Atom: TypeAlias = Position | Iteration | Length


@record
class LinearForm:
    """A sum of integer multiples of atoms, and of a dim."""

    terms: frozenset[tuple[Atom, int]] = frozenset()
    rest: Dim = ZERO

    def __add__(self, other: LinearForm) -> LinearForm:
        counts = dict(self.terms)
        for atom, k in other.terms:
            counts[atom] = counts.get(atom, 0) + k
        return LinearForm(frozenset((atom, k) for atom, k in counts.items() if k), self.rest + other.rest)

    def __sub__(self, other: LinearForm) -> LinearForm:
        return self + other.scaled(-1)

    def plus(self, rest: Dim | int) -> LinearForm:
        """The form plus a dim."""
        return LinearForm(self.terms, self.rest + as_dim(rest))

    def scaled(self, by: int) -> LinearForm:
        """The form times an integer."""
        return LinearForm(frozenset((atom, k * by) for atom, k in self.terms if by), self.rest * by)

    def replaced(self, places: Callable[[Atom], LinearForm | None]) -> LinearForm | None:
        """The form with each atom replaced; None if an atom has no replacement."""
        found = LinearForm(frozenset(), self.rest)
        for atom, k in self.terms:
            place = places(atom)
            if place is None:
                return None
            found += place.scaled(k)
        return found

    @property
    def atoms(self) -> Iterator[Atom]:
        """The atoms of the form."""
        return (atom for atom, _ in self.terms)


def form_of(atom: Atom) -> LinearForm:
    """The form that is one atom."""
    return LinearForm(frozenset(((atom, 1),)))


def size_form(dim: Dim | int) -> LinearForm:
    """The form that is a size."""
    return LinearForm(frozenset(), as_dim(dim))


Region: TypeAlias = frozenset[LinearForm]


@record
class Signs:
    """Proofs of signs. `extents`: of positions and iterations, which count from 0.

    Lengths are from `least` to `most`, the size of the ragged axis, by the number of the argument that says them.
    """

    facts: Facts
    least: int
    most: Mapping[int, Dim]
    extents: Mapping[Atom, Dim]

    def with_extents(self, extents: Mapping[Atom, Dim]) -> Signs:
        """These proofs, with the extents of more atoms."""
        return Signs(self.facts, self.least, self.most, {**self.extents, **extents}) if extents else self

    def never_negative(self, form: LinearForm, given: Sequence[LinearForm]) -> bool:
        """Whether a form is at least 0 where all `given` forms are."""
        if self._by_extents(form):
            return True
        if not form.terms:
            return False
        if any(self._by_extents(form - each) for each in given):
            return True
        return len(form.terms) > 1 and any(
            self._by_extents(form - a - b) for a, b in combinations_with_replacement(given, 2) if a is not b
        )

    def _by_extents(self, form: LinearForm) -> bool:
        least = form.rest
        for atom, k in form.terms:
            if isinstance(atom, Length):
                least = least + k * (self.most[atom.source] if k < 0 else self.least)
            elif k < 0:
                extent = self.extents.get(atom)
                if extent is None:
                    return False
                least = least + k * (extent - 1)
        known = least.constant
        return known >= 0 if known is not None else self.facts.at_least(least, 0).is_true


def known_in(conditions: Iterable[LinearForm], region: Region) -> tuple[LinearForm, ...]:
    """Forms that are at least 0 in a region: its own, and opposites of the other conditions."""
    return tuple([each if each in region else each.scaled(-1).plus(-1) for each in conditions])


def is_possible(conditions: Sequence[LinearForm], region: Region, signs: Signs) -> bool:
    """Whether a region may have elements: no two of its conditions contradict each other."""
    known = known_in(conditions, region)
    for k, each in enumerate(known):
        opposite = each.scaled(-1).plus(-1)
        if signs.never_negative(opposite, known[k + 1 :]):
            return False
    return True


def regions_of(conditions: Sequence[LinearForm], signs: Signs) -> list[Region]:
    """All regions that may have elements, those where fewest conditions hold first."""
    found = [frozenset[LinearForm]()]
    for each in conditions:
        found += [region | {each} for region in found]
    return sorted((region for region in found if is_possible(conditions, region, signs)), key=len)


def spelled(form: LinearForm, names: Callable[[Atom], str]) -> str:
    """A form as text, positive terms first."""
    parts = sorted((names(atom), k) for atom, k in form.terms)
    texts = [f"{'- ' if k < 0 else '+ '}{'' if abs(k) == 1 else f'{abs(k)}*'}{name}" for name, k in parts]
    if form.rest != const(0) or not texts:
        texts.append(f"+ {form.rest}")
    return " ".join(texts).removeprefix("+ ")
