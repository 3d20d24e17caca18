"""Records do what frozen dataclasses with slots do: each class here is made both ways, and compared."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

import pytest

from shlo_disc.records import record

pytestmark = pytest.mark.quick

_T = TypeVar("_T")


@record
class Point:
    """A record at module level, to be pickled."""

    x: int
    y: str = "y"


def _twins(body: Callable[[Callable[..., Any]], type]) -> tuple[Any, Any]:
    """What a function declares with `record`, and with `dataclass`, which gets the same arguments."""

    def other(kind: Any = None, /, **given: Any) -> Any:
        made = dataclass(frozen=True, slots=True, **given)
        return made if kind is None else made(kind)

    return body(record), body(other)


def _plain(made: Callable[..., Any]) -> type:
    @made
    class Kind:
        """Fields with and without defaults."""

        a: int
        b: tuple[int, ...] = (1, 2)
        c: list[int] = field(default_factory=list[int])
        d: str = field(default="d", compare=False, repr=False)

    return Kind


def _keywords(made: Callable[..., Any]) -> type:
    @made(kw_only=True)
    class Kind:
        """Keyword arguments alone."""

        a: int
        b: int = 2

    return Kind


def _derived(made: Callable[..., Any]) -> type:
    @made
    class Base(Generic[_T]):
        """A generic base, with a value that is computed."""

        a: _T
        double: int = field(init=False, repr=False)
        zero: int = field(init=False, default=0)
        items: tuple[int, ...] = field(init=False, default_factory=tuple[int, ...])

        def __post_init__(self) -> None:
            object.__setattr__(self, "double", 2 * int(str(self.a)))

    @made
    class Kind(Base[int]):
        """A class derived from it."""

        b: int = 5

        @property
        def sum(self) -> int:
            """Of both."""
            return self.a + self.b

    return Kind


def _empty(made: Callable[..., Any]) -> type:
    @made
    class Kind:
        """No fields."""

    return Kind


def _awkward(made: Callable[..., Any]) -> type:
    @made
    class Kind:
        """Names that generated code might use itself."""

        other: int
        set_other: int = 3
        fields: tuple[int, ...] = field(default_factory=tuple[int, ...])
        MISSING: int = 4

    return Kind


CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], Any]]] = {
    "plain": (_plain, ((1,), {}), ((2, (3,)), {"d": "e"})),
    "keywords": (_keywords, ((), {"a": 1}), ((), {"a": 1, "b": 3})),
    "derived": (_derived, ((1,), {}), ((1,), {"b": 6})),
    "awkward": (_awkward, ((1,), {}), ((1, 2, (3,)), {"MISSING": 5})),
}


@pytest.mark.parametrize("case", CASES)
def test_records_are_what_dataclasses_are(case: str) -> None:
    body, (args, kwargs), (others, other_kwargs) = CASES[case]
    ours, theirs = _twins(body)
    assert [one.name for one in fields(ours)] == [one.name for one in fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    assert "__dict__" not in dir(ours)
    found = list[tuple[Any, ...]]()
    for kind in (ours, theirs):
        one, same, other = kind(*args, **kwargs), kind(*args, **kwargs), kind(*others, **other_kwargs)
        assert one == same
        assert one != other
        assert one != object()
        assert (replace(other), copy.copy(other), copy.deepcopy(other)) == (other, other, other)
        values = [[getattr(x, f.name) for f in fields(kind)] for x in (one, other)]
        found.append((repr(one), repr(other), values, str(inspect.signature(kind.__init__))))
    assert found[0][:3] == found[1][:3]
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


def test_equal_records_have_equal_hashes() -> None:
    ours, theirs = _twins(_derived)
    for kind in (ours, theirs):
        assert hash(kind(1)) == hash(kind(1))
        assert len({kind(1), kind(1), kind(2)}) == 2
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(_twins(_plain)[0](1))


def test_fields_that_are_not_compared() -> None:
    kind = _twins(_plain)[0]
    assert kind(1, d="e") == kind(1, d="f")


def test_records_without_fields() -> None:
    kind = _twins(_empty)[0]
    assert kind() == kind()
    assert hash(kind()) == hash(kind())
    assert repr(kind()).endswith("Kind()")


def test_an_object_is_equal_to_itself_in_a_field() -> None:
    """As in tuples: NaN, and arrays, which have no truth value."""
    value = float("nan")
    assert Point(value) == Point(value)  # pyright: ignore[reportArgumentType]
    assert Point(value) != Point(float("nan"))  # pyright: ignore[reportArgumentType]


def test_records_of_other_classes_are_not_equal() -> None:
    @record
    class Other(Point):
        """The same fields."""

    assert Point(1) != Other(1)
    assert Other(1) == Other(1)


def test_records_are_dataclasses() -> None:
    assert is_dataclass(Point)
    assert [one.name for one in fields(Point(1))] == ["x", "y"]


def test_records_are_frozen() -> None:
    one: Any = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="'x'"):
        del one.x
    with pytest.raises(FrozenInstanceError, match="'z'"):
        one.z = 2
    assert one == Point(1)


@pytest.mark.parametrize("given", [((), {}), ((1, "y", 3), {}), ((1,), {"z": 3}), ((1,), {"x": 3})])
def test_wrong_arguments(given: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    @record
    class Kind:
        """A class that is called for the first time here."""

        x: int
        y: str = "y"

    for _ in range(2):
        with pytest.raises(TypeError, match=r"Kind\.__init__\(\) (missing|takes|got)"):
            Kind(*given[0], **given[1])


def test_records_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Point(1, "z"))) == Point(1, "z")


def test_methods_are_compiled_for_records_that_were_not_constructed() -> None:
    """Those that come from a pickle: `__init__` is not called for them."""

    @record
    class Kind:
        """A class that is never called."""

        x: int

    one, two = (object.__new__(Kind) for _ in range(2))
    for each in (one, two):
        object.__setattr__(each, "x", 1)
    assert one == two
    assert hash(one) == hash(two)


def test_methods_of_the_class_itself_are_kept() -> None:
    @record
    class Kind:  # noqa: PLW1641  what is tested
        """A class with methods of its own."""

        x: int

        def __init__(self) -> None:
            object.__setattr__(self, "x", 3)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Kind)

        def __repr__(self) -> str:
            return "a kind"

    one = Kind()
    assert (one.x, repr(one)) == (3, "a kind")
    assert one == Kind()
    assert hash(one) == hash(Kind())


def test_identity() -> None:
    @record(eq=False)
    class Base:
        """Equal to itself alone."""

        x: int

        def __repr__(self) -> str:
            return "a base"

    @record(eq=False, repr=False)
    class Kind(Base):
        """Shown as its base."""

        y: int = 0

    one = Kind(1)
    assert one == one  # noqa: PLR0124
    assert one != Kind(1)
    assert len({one, Kind(1), one}) == 2
    assert repr(one) == "a base"


def test_matching() -> None:
    match Point(1, "z"):
        case Point(x, "z"):
            assert x == 1
        case _:
            pytest.fail("found no match")


def test_records_made_by_several_threads_at_once() -> None:
    @record
    class Kind:
        """A class that is called for the first time by several threads."""

        x: int

    barrier, found = threading.Barrier(8), list[object]()

    def work() -> None:
        barrier.wait()
        found.append((Kind(1), hash(Kind(1)), Kind(1) == Kind(1)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(Kind(1), hash(Kind(1)), True)] * 8
