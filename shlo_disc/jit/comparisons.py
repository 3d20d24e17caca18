"""What a trace with symbolic sizes assumes of these sizes.

A trace depends on sizes only through the comparisons that the function makes, JAX's own code among it. JAX answers them
for symbolic sizes under two assumptions (jax.export, "Shape polymorphism", on comparisons): every size is at least 1,
and two sizes that it cannot prove to be equal are different. So a function that asks `x.shape[0] == 1` is traced as for
all other sizes, and no function for sizes of 0. Each answer is recorded here. At sizes where all of them are true, a
trace at these very sizes would take the same path; at others, the two have to be compared.

Code of JAX whose results are defined alike for all sizes is an exception: `jax.lax`, whose functions are defined by
their mathematics, and NumPy's broadcasting, indexing and products. A path that it takes for equal sizes computes what
the other one computes, so its equalities are not recorded. Its other comparisons check that shapes are valid, which a
trace at the sizes in question shows, too (`by_library`). Other functions of NumPy are recorded like the user's code:
`squeeze` removes the axes whose size is 1.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from shlo_disc.expr.dim import Dim
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.legalize.constraints import read_size
from shlo_disc.records import record


@record
class SizeAssumption:
    """That a size, or a difference of two, has a relation to 0: one of `!=`, `>=`, `<=`, `<`.

    `read` is no relation, and never true: the function looked the size up, as in a dict, made a text of it, or caught
    JAX's error that there is no answer. No answer is right for such a use of a symbolic size.

    `by_library`: asked by code that is defined alike for all sizes at which it raises no error.
    """

    size: Dim
    relation: str
    by_library: bool = False

    def holds(self, sizes: Sizes) -> bool:
        """Whether it is true of the values of symbols."""
        value = self.size.evaluate(sizes)
        match self.relation:
            case "!=":
                return value != 0
            case ">=":
                return value >= 0
            case "<=":
                return value <= 0
            case "read":
                return False
            case _:
                return value < 0


@record
class JaxAssumption:
    """The same of a size of JAX."""

    size: Any
    relation: str
    by_library: bool

    def named(self, names: Mapping[str, Dim]) -> SizeAssumption:
        """The same, as a dim of named symbols."""
        return SizeAssumption(read_size(str(self.size), names), self.relation, self.by_library)


class _Recording(threading.local):
    scope: Any = None  # of the sizes whose comparisons are recorded
    found: dict[JaxAssumption, None]


_state = _Recording()


@contextmanager
def assumptions_of(scope: Any) -> Generator[list[JaxAssumption]]:
    """Record what JAX assumes of the sizes of a scope, in this thread."""
    result = list[JaxAssumption]()
    _watch()
    found = dict[JaxAssumption, None]()
    before = _state.scope, getattr(_state, "found", {})
    _state.scope, _state.found = scope, found
    try:
        yield result
    finally:
        _state.scope, _state.found = before
        result += found


def all_assumptions(scope: Any, found: Sequence[JaxAssumption]) -> list[JaxAssumption]:
    """Add what was found by one trace to what was found by others of a scope, and return all of it.

    JAX keeps traces of nested functions, and so asks nothing where a later trace of the same scope needs one of them.
    """
    every = _of_scopes.setdefault(scope, {})
    every.update(dict.fromkeys(found))
    return [*every]


_of_scopes = WeakKeyDictionary[Any, dict[JaxAssumption, None]]()


def _record(size: Any, relation: str, *, is_equality: bool = False) -> None:
    """Record an assumption of a size of the scope, unless it is a number and proven."""
    scope = _state.scope
    if scope is None or getattr(size, "scope", None) is not scope or (is_equality and _is_asked_by_hash_table()):
        return
    by_library = relation != "!=" or is_equality
    by_library = by_library and _is_asked_by_library()
    if by_library and is_equality:
        return
    _state.scope = None  # storing it compares sizes, too
    try:
        _state.found.setdefault(JaxAssumption(size, relation, by_library))
    finally:
        _state.scope = scope


def _record_error(error: Exception, catching: CodeType) -> None:
    """Record that JAX has no answer, for which it makes an error.

    If the function catches that, it takes a path which no number leads to.
    Where JAX itself asks, and expects that there may be no answer, nothing is recorded. The code of `catching` raises
    the error where it catches it.
    """
    if _state.scope is None:
        return
    frame = inspect.currentframe()
    frame = frame and frame.f_back
    while frame is not None and frame.f_locals.get("self") is error:  # the constructors of its classes
        frame = frame.f_back
    if frame is not None and frame.f_code is not catching:
        frame = frame.f_back  # behind the function that raises it
    while frame is not None:
        if "InconclusiveDimensionOperation" in frame.f_code.co_names and _is_of_jax(frame.f_code.co_filename):
            return
        frame = frame.f_back
    _state.found.setdefault(JaxAssumption(0, "read", by_library=False))


@lru_cache(maxsize=1)
def _watch() -> None:
    """Let JAX's symbolic sizes report what they assume; JAX has no public way to ask for it."""
    module = jax_module("jax._src.export.shape_poly")
    kind = module._DimExpr  # noqa: SLF001
    equal, divide, bounds = kind.__eq__, kind._divmod, module._bounds_decision  # noqa: SLF001

    def watched_equal(self: Any, other: Any) -> bool:
        answer = equal(self, other)
        of_scope = not isinstance(other, kind) or other.scope is self.scope  # JAX keeps sizes of other traces in caches
        if not answer and _state.scope is self.scope and isinstance(other, int | kind) and of_scope:
            _record(_difference(self, other), "!=", is_equality=True)
        return answer

    def watched_divide(self: Any, divisor: Any) -> Any:
        _record(divisor, "!=", is_equality=True)
        return divide(self, divisor)

    def watched_bounds(size: Any, precision: Any) -> tuple[float, float]:
        lowest, highest = bounds(size, precision)
        if lowest >= 0:
            _record(size, ">=")
        elif highest <= 0:
            _record(size, "<" if highest < 0 else "<=")
        return lowest, highest

    def watched_truth(self: Any) -> bool:
        _record(self, "!=")
        return True

    kind.__hash__, kind.__str__, kind.__repr__ = map(_reading, (kind.__hash__, kind.__str__, kind.__repr__))
    kind.__eq__, kind._divmod, kind.__bool__ = watched_equal, watched_divide, watched_truth  # noqa: SLF001
    module._bounds_decision = watched_bounds  # noqa: SLF001
    _watch_errors(kind, divide.__code__)


def _reading(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A method by which code outside of JAX reads a size."""

    def watched(self: Any) -> Any:
        if _state.scope is self.scope and _is_read_by_user():
            _record(self, "read")
        return read(self)

    return watched


def _watch_errors(kind: Any, catching: CodeType) -> None:
    """Let the errors of symbolic sizes, that JAX has no answer, report that they are raised.

    `catching`: code that raises one where it catches it.
    """
    inconclusive = jax_module("jax.errors").InconclusiveDimensionOperation
    raised = inconclusive.__init__

    def watched(self: Any, *args: Any) -> None:
        _record_error(self, catching)
        raised(self, *args)

    def without_answer(message: str) -> Callable[[Any], Any]:
        def refuse(_: Any) -> Any:
            raise TypeError(message)

        return _reading(refuse)

    inconclusive.__init__ = watched
    for method, message in _CONVERSIONS.items():
        setattr(kind, method, without_answer(message))


# Python raises these errors for a class without the method; with one, it is seen that a function asked.
_CONVERSIONS = {
    "__index__": "'_DimExpr' object cannot be interpreted as an integer",
    "__float__": "must be real number, not _DimExpr",
    "__complex__": "must be complex number, not _DimExpr",
}


def _difference(one: Any, other: Any) -> Any:
    scope, _state.scope = _state.scope, None
    try:
        return one - other
    finally:
        _state.scope = scope


@lru_cache(maxsize=1)
def _own_files() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files whose code compares sizes for its caller, and those of JAX that are defined alike for all sizes."""
    source = Path(jax_module().__file__).parent / "_src"
    passing = ("export/", "core.py", "util.py")
    numpy = ("util.py", "indexing.py", "einsum.py", "tensor_contractions.py")
    alike = ("lax/", "interpreters/", "ad_util.py", *[f"numpy/{name}" for name in numpy])
    return (str(Path(__file__)), *[f"{source}/{name}" for name in passing]), tuple([f"{source}/{one}" for one in alike])


def _is_read_by_user() -> bool:
    """Whether code outside of JAX looks a size up, or makes a text of it. JAX does so all the time, for its caches."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        # <string>: methods that dataclasses make. The standard library reads for its caller.
        if file != __file__ and not file.startswith("<") and file.rpartition(os.sep)[0] != _STANDARD_LIBRARY:
            return not file.startswith(_library_folders())
        frame = frame.f_back
    return False


_STANDARD_LIBRARY = inspect.__file__.rpartition(os.sep)[0]


@lru_cache(maxsize=1)
def _library_folders() -> tuple[str, ...]:
    """JAX's, and that of this package, whose calls look sizes up in JAX's caches."""
    return str(Path(jax_module().__file__).parent), str(Path(__file__).parent)


def _is_of_jax(file: str) -> bool:
    return file.startswith(_library_folders()[0])


def _is_asked_by_hash_table() -> bool:
    """Whether JAX makes a type, and compares it with other types that it keeps.

    Its hash table, of C++, compares types whose hashes have a few bits in common: what it asks is left to chance.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame is not None and "_create" in frame.f_code.co_names and frame.f_code.co_filename == _types_file()


@lru_cache(maxsize=1)
def _types_file() -> str:
    """The file whose classes of types make their instances by `_create`, which asks the hash table."""
    return str(Path(jax_module().__file__).parent / "_src" / "core.py")


def _is_asked_by_library() -> bool:
    """Whether code of JAX that is defined alike for all sizes compares sizes."""
    passing, alike = _own_files()
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(alike):
            return True
        if not file.startswith(passing):
            return False
        frame = frame.f_back
    return False
