"""The entry of a program, which crosses into C once per call; see `call.h` of the CPU's prelude."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int64, c_void_p, py_object
from typing import Any

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.records import record
from shlo_disc.runtime.binding import Binding
from shlo_disc.runtime.host_calls import HostCalls, Session, memory_of
from shlo_disc.runtime.interop import dtype_of, jax_put, to_jax
from shlo_disc.runtime.interpreter import teach_jax
from shlo_disc.runtime.library import Pointers, Runtime, Words, pointers, words
from shlo_disc.runtime.pytrees import Tree, read_tree

Quick = Callable[..., Any]
Maker = Callable[[], object]  # a function of JAX for a custom call of `runtime.xla`; it returns a tuple of arrays

_BUCKETS = 1024
_PLANS_KEPT = 4096
_MOST_ARRAYS = 4000  # each takes up to 130 bytes of a call's stack
_FORMATS = {  # of the buffer protocol, by the kind of a dtype and its bytes
    "b1": b"?", "i1": b"b", "i2": b"h", "i4": b"i", "i8": b"q", "u1": b"B", "u2": b"H", "u4": b"I", "u8": b"Q",
    "f2": b"e", "f4": b"f", "f8": b"d", "c8": b"Zf", "c16": b"Zd",
}  # fmt: skip


class _EntryPlan(ctypes.Structure):
    """`ShloPlan` of call.h. It is its own `owner`: it keeps alive all that it points to."""

    _fields_ = [
        ("next", c_void_p),
        ("owner", c_void_p),
        ("raw", POINTER(c_int64)),
        ("registers", POINTER(c_int64)),
        ("dims", POINTER(c_int64)),
        ("bytes", POINTER(c_int64)),
        ("arena_bytes", c_int64),
        ("avals", POINTER(py_object)),
        ("timed", c_int64),
        ("nanoseconds", c_int64),
        ("made", c_int64),
        ("maker", c_void_p),
        ("spent", c_int64),
        ("spends", POINTER(c_int64)),
    ]
    shapes: tuple[tuple[int, ...], ...]
    kept_maker: object


class _Donation(ctypes.Structure):
    """`ShloDonation` of call.h."""

    _fields_ = [("place", c_int64), ("argument", c_int64), ("result", c_int64)]


class _Entry(ctypes.Structure):
    """`ShloEntry` of call.h."""

    _fields_ = [
        ("bind", c_void_p),
        ("addresses", POINTER(c_void_p)),
        ("raw", POINTER(c_int64)),
        ("arguments", c_int64),
        ("raw_count", c_int64),
        ("formats", POINTER(c_char_p)),
        ("results", c_int64),
        ("dtypes", POINTER(py_object)),
        ("ranks", POINTER(c_int64)),
        ("code", c_void_p),
        ("runtime", c_void_p),
        ("constants", POINTER(c_void_p)),
        ("donations", c_int64),
        ("donated", POINTER(_Donation)),
        ("donation_of", POINTER(c_int64)),
        ("items", POINTER(c_int64)),
        ("bound_bytes", POINTER(c_int64)),
        ("is_steady", c_int64),
        ("of_jax", c_int64),
        ("no_weak", c_int64),
        ("prepare_maker", c_void_p),
        ("host_call", c_void_p),
        ("begin", py_object),
        ("fail", py_object),
        ("calls", POINTER(c_int64)),
        ("recurring", c_void_p),
        ("donated_count", c_int64),
        ("donated_arguments", POINTER(c_int64)),
        ("buckets", POINTER(c_void_p)),
    ]
    kept: tuple[object, ...]  # other objects that have to stay alive
    plans: dict[bytes, _EntryPlan]


class _Node(ctypes.Structure):
    """`ShloTree` of call.h."""

    _fields_ = [("kind", c_int64), ("children", c_int64), ("keys", POINTER(py_object))]


class _Signature(ctypes.Structure):
    """`ShloSignature` of call.h."""

    _fields_ = [
        ("into", POINTER(_Node)),
        ("places", POINTER(c_int64)),
        ("nested", c_int64),
        ("out", POINTER(_Node)),
        ("spending", c_int64),
    ]


@record
class NativeProgram:
    """A program that C runs alone: the address of its `ShloHostCode`, and what is the same in all calls."""

    code: int
    constants: Pointers
    is_steady: bool  # how long a call takes depends on the sizes of its arguments alone
    host_calls: HostCalls | None  # of functions of Python
    owner: object  # keeps all of it alive


class Entry:
    """Python callables that run a program in C.

    `flat` takes a tuple of arrays and returns a tuple of NumPy arrays; None if only the plan of the sizes is missing;
    `NotImplemented` for calls that Python has to prepare.
    """

    def __init__(
        self, artifact: Artifact, binding: Binding, program: NativeProgram, runtime: Runtime, calls: Words
    ) -> None:
        """`calls` counts the calls that are served."""
        dtypes = [dtype_of(argument.dtype) for argument in artifact.arguments]
        self._results = tuple([dtype_of(result.dtype) for result in artifact.results])
        self._library = runtime.library
        self._binding = binding
        self._knows_jax = False
        self._weak: tuple[bool, ...] = ()
        places = binding.binder.places
        formats = [_FORMATS.get(f"{dtypes[k].kind}{dtypes[k].itemsize}") for k in places]
        donated = [
            _Donation(places.index(one.argument), one.argument, -1 if one.result is None else one.result)
            for one in artifact.donations
        ]
        donation_of = {one.result: number for number, one in enumerate(donated)}
        calls_back = None if program.host_calls is None else ctypes.cast(program.host_calls.function, c_void_p)
        bound_bytes = [binding.arrays[k].nbytes if k in binding.arrays else 0 for k in range(len(binding.addresses))]
        self._entry = _Entry(
            ctypes.cast(binding.binder.pointer, c_void_p), binding.addresses, binding.raw,
            len(dtypes) + len(artifact.packings), artifact.given, (c_char_p * max(1, len(formats)))(*formats),
            len(self._results), _objects(self._results), words([len(result.shape) for result in artifact.results]),
            program.code, runtime.address, program.constants,
            len(donated), (_Donation * max(1, len(donated)))(*donated),
            words([donation_of.get(k, -1) for k in range(len(self._results))]),
            words([dtypes[k].itemsize for k in places]), words(bound_bytes),
            program.is_steady, binding.of_jax, 0, None,
            calls_back, _beginning(binding, program.owner), Session.raise_error,
            calls, self._new_recurring(len(places)), 0, words([]), pointers([0] * _BUCKETS),
        )  # fmt: skip
        weakref.finalize(
            self._entry, runtime.library.shlo_drop_recurring, c_void_p(self._entry.recurring), c_int64(len(places))
        ).atexit = False
        self._entry.kept = (binding, program)
        self._entry.plans = {}
        self.flat: Quick = self._callable(None, self._entry)

    def _new_recurring(self, count: int) -> int:
        """Memory for what is known of the arrays of JAX that many calls bring."""
        if not (found := self._library.shlo_new_recurring(c_int64(count))):
            raise MemoryError("no memory for a program that is loaded")
        return found

    @property
    def arguments(self) -> int:
        """How many arrays a call supplies."""
        return len(self._binding.binder.places)

    @property
    def results(self) -> int:
        """How many arrays it returns."""
        return len(self._results)

    def tree(
        self,
        given: object,
        result: object,
        kept: Sequence[int],
        donated: Sequence[int] = (),
        otherwise: Quick | None = None,
    ) -> Quick | None:
        """A callable on pytrees; it returns a pytree of JAX arrays if it gets any, else of NumPy arrays.

        `given` (the positional arguments) and `result` have the numbers of leaves in the places of these; the program
        takes the leaves that are `kept`. A call deletes the arrays of the leaves that are `donated`, as `jax.jit` does:
        all callables that delete any have to be given the same ones. `otherwise` serves the calls that Python has to
        prepare, such as those with keywords; without it they return `NotImplemented`. None if there are other
        containers than tuples, lists and dicts.
        """
        into, out = read_tree(given), read_tree(result)
        if into is None or out is None or out.leaves != tuple(range(len(self._results))):
            return None
        place = {leaf: number for number, leaf in enumerate(kept)}
        places = words([place.get(leaf, -1) for leaf in into.leaves])
        is_nested = len(into.nodes) > 1 + len(into.leaves)
        if donated:
            self._donate([place[leaf] for leaf in donated if leaf in place])
        signature = _Signature(_nodes(into), places, is_nested, _nodes(out), bool(donated))
        return self._callable(ctypes.byref(signature), (self._entry, signature), otherwise)

    def _donate(self, arguments: Sequence[int]) -> None:
        if self._entry.donated_count:
            return
        self._entry.donated_arguments, self._entry.donated_count = words(arguments), len(arguments)
        for plan in self._entry.plans.values():
            plan.spends = words([0] * len(arguments))

    def add(self, key: bytes, registers: Words, shapes: tuple[tuple[int, ...], ...], arena_bytes: int) -> None:
        """From now on serve calls with the raw sizes in `key`."""
        if (plan := self._entry.plans.get(key)) is None:
            plan = self._new_plan(key, registers, shapes, arena_bytes)
        # Also for a known plan: an earlier attempt may have run out of memory before it was added.
        self._library.shlo_add_plan(ctypes.byref(self._entry), ctypes.byref(plan))

    def _new_plan(
        self, key: bytes, registers: Words, shapes: tuple[tuple[int, ...], ...], arena_bytes: int
    ) -> _EntryPlan:
        """A plan that lives as long as C may refer to it."""
        if len(self._entry.plans) >= _PLANS_KEPT:
            self._library.shlo_forget_plans(ctypes.byref(self._entry))
            self._entry.plans.clear()
        sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in zip(shapes, self._results, strict=True)]
        dims = [size for shape in shapes for size in shape]
        raw = words(memoryview(key).cast("q").tolist())
        plan = _EntryPlan(None, None, raw, registers, words(dims), words(sizes), arena_bytes, None, 0, 0, 0, None)
        plan.spent, plan.spends = -1, words([0] * self._entry.donated_count)
        plan.owner = id(plan)
        plan.shapes = shapes
        if self._knows_jax:
            self._name_types(plan)
        self._entry.plans[key] = plan
        return plan

    def know_jax(self, kind: type) -> None:
        """Take JAX arrays, too, from now on, and return them."""
        if not self._knows_jax:
            teach_jax(self._library, kind)
            self._knows_jax = True
            for plan in self._entry.plans.values():
                self._name_types(plan)

    def return_jax(self, weak: Sequence[bool]) -> None:
        """From now on return arrays of JAX, and take none of weak types; `weak`: which results have a weak type."""
        self._weak = tuple(weak)
        self._entry.of_jax = self._entry.no_weak = 1
        self.know_jax(type(to_jax((np.empty(0, np.float32),))[0]))

    def make_results_by(self, prepare: Callable[[tuple[tuple[int, ...], ...]], Maker | None]) -> None:
        """Let XLA make the JAX arrays of calls that often return many; `prepare` gives the maker of some shapes."""
        if self._entry.host_call is not None:
            return

        def give_maker(plan: _EntryPlan) -> None:
            plan.kept_maker = prepare(plan.shapes)
            plan.maker = None if plan.kept_maker is None else id(plan.kept_maker)

        self._entry.prepare_maker = id(give_maker)
        self._entry.kept = (*self._entry.kept, give_maker)

    @property
    def makers(self) -> int:
        """For how many sizes XLA makes the results."""
        return sum(plan.maker is not None for plan in self._entry.plans.values())

    def know_filling(self, begin: c_void_p) -> None:
        """Pass the address of the function of XLA's library that begins a call whose results XLA makes."""
        self._library.shlo_know_filling(begin)

    def makes(self, maker: Maker, count: int) -> bool:
        """Whether a maker works: it returns so many arrays, and XLA fills them in the thread that calls it."""
        return bool(self._library.shlo_try_maker(py_object(maker), c_int64(count), words([0] * count)))

    def _name_types(self, plan: _EntryPlan) -> None:
        _, shaped, _, _ = jax_put()
        weak = self._weak or (False,) * len(self._results)
        plan.avals = _objects([shaped(*one) for one in zip(plan.shapes, self._results, weak, strict=True)])

    def _callable(self, signature: object, owner: object, otherwise: Quick | None = None) -> Quick:
        served = None if otherwise is None else py_object(otherwise)
        return self._library.shlo_callable(ctypes.byref(self._entry), signature, py_object(owner), served)


def refusal(artifact: Artifact, runtime: Runtime) -> str | None:
    """Why one call into C cannot serve a call of a program; None if it can."""
    count = len(artifact.arguments) + len(artifact.results)
    return f"found {count} arrays, expected at most {_MOST_ARRAYS}" if count > _MOST_ARRAYS else runtime.refusal


def open_entry(
    artifact: Artifact, binding: Binding, program: NativeProgram | None, runtime: Runtime, calls: Words
) -> Entry | None:
    """The entry of a program; None if it is refused, or Python runs the program (the VM)."""
    if program is None or refusal(artifact, runtime) is not None:
        return None
    return Entry(artifact, binding, program, runtime, calls)


def _beginning(binding: Binding, owner: object) -> Callable[[object, object], Session]:
    """A factory of sessions for C: each keeps all memory of its call alive for the arrays of host calls."""
    return lambda arena, arrays: Session(memory_of((binding, owner, arena, arrays)))


def _objects(values: Sequence[object]) -> ctypes.Array[py_object[Any]]:
    return (py_object * max(1, len(values)))(*values)


def _nodes(tree: Tree) -> ctypes.Array[_Node]:
    return (_Node * len(tree.nodes))(*[_Node(one.kind, one.children, _objects(one.keys)) for one in tree.nodes])
