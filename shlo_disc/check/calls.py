"""Calls of a compiled program that expose memory errors which a single call on fresh memory hides.

Memory of temporaries and results is reused. A step that reads it uninitialized finds values of an earlier call, which
are right after a call with the same inputs. Arrays are mostly surrounded by memory of the same process, so that
accesses out of bounds go unnoticed, too.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.check.comparing import identical
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.runtime.executable import Executable

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = Callable[[Sequence[Array]], Sequence[Any]]
RunsOfInputs: TypeAlias = Callable[[Sequence[Array]], Sequence[Sequence[Array]]]  # the results of each of several runs

_LIBC = ctypes.CDLL(None)
_CALLS_ON_DEVICE = 4  # the third one with equal addresses records a graph, the fourth replays it
_GARBAGE = 0xFF  # NaN in every type of floats, -1 in every type of integers


class UnsteadyError(Exception):
    """A repeated call gives other results for equal inputs, or a call has changed its inputs."""


def twice(run: Run, *, donates: bool = False, nan_signs: RunsOfInputs = lambda _: ()) -> Run:
    """Make a run that poisons memory, calls twice and compares: the second time with arguments that share memory.

    In the poisoning call each argument begins right behind an inaccessible page, in the first call it ends right before
    one. Results of the first call are kept during the second, whose results therefore have other memory. `donates`: a
    call may overwrite its arguments; otherwise it must not. `nan_signs`: all results of two runs with opposite signs of
    NaNs; what differs between these depends on the bits of a NaN, and is not compared. The run raises `UnsteadyError`.
    """

    def call(inputs: Sequence[Array]) -> Sequence[Array]:
        poison(run, inputs)
        first = _called(run, [guarded(x, at_end=True) for x in inputs], inputs, donates=donates)
        first = [x.copy() for x in first] if donates else first
        second = _called(run, sharing(inputs), inputs, donates=donates)
        if (difference := identical(second, first, _result_of(nan_signs, inputs))) is not None:
            raise UnsteadyError(f"in a second call, whose arguments share memory, {difference}")
        return first

    return call


def repeated(executable: Executable, calls: int = _CALLS_ON_DEVICE, *, nan_signs: RunsOfInputs = lambda _: ()) -> Run:
    """Make a run that calls several times and compares, the last time with equal arguments sharing memory.

    Arguments keep their addresses on the device, and a call reuses the memory that the call before has released: from
    the third call on, a recorded graph runs. Memory that `runtime.memory.POOL` poisons is poisoned before each call.
    `nan_signs`: as of `twice`. The run raises `UnsteadyError`.
    """

    def call(inputs: Sequence[Array]) -> Sequence[Array]:
        given = [executable.upload(x) for x in inputs]
        first = list[Array]()
        for number in range(calls + 1):
            shared = number == calls
            arguments = [given[_first_equal(inputs, k)] for k in range(len(inputs))] if shared else given
            found = [executable.download(x) for x in executable(arguments)]
            first = first or found
            if (difference := identical(found, first, _result_of(nan_signs, inputs))) is not None:
                what = "whose equal arguments share memory, " if shared else ""
                raise UnsteadyError(f"in call {number + 1}, {what}{difference}")
        for number, (one, before) in enumerate(zip(given, inputs, strict=True)):
            if executable.download(one).tobytes() != before.tobytes():
                raise UnsteadyError(f"argument {number} was overwritten, which nobody allowed")
        return first

    return call


def _result_of(runs: RunsOfInputs, inputs: Sequence[Array]) -> Callable[[int], Sequence[Array]]:
    """A function that gives one result of runs with these inputs."""
    found = cache(lambda: runs(inputs))
    return lambda number: [results[number] for results in found()]


def _first_equal(inputs: Sequence[Array], number: int) -> int:
    """The number of the first argument of the same type, shape and bits."""
    wanted = inputs[number]
    alike = (k for k, x in enumerate(inputs) if (x.dtype, x.shape) == (wanted.dtype, wanted.shape))
    return next(k for k in alike if inputs[k].tobytes() == wanted.tobytes())


def _called(run: Run, given: Sequence[Array], inputs: Sequence[Array], *, donates: bool) -> list[Array]:
    found = [np.asarray(x) for x in run(given)]
    if not donates:
        for number, (now, before) in enumerate(zip(given, inputs, strict=True)):
            if now.tobytes() != before.tobytes():
                raise UnsteadyError(f"argument {number} was overwritten, which nobody allowed")
    return found


def poison(run: Run, inputs: Sequence[Array]) -> None:
    """Leave NaN in temporaries, and garbage in the memory of results: the next call reuses both.

    Integers keep their values: they may be sizes, or trip counts of loops.
    """
    spoiled = [guarded(np.full_like(x, np.nan) if x.dtype.kind in "fc" else x, at_end=False) for x in inputs]
    with suppress(ShloDiscError, ArithmeticError):
        for result in run(spoiled):
            if isinstance(result, np.ndarray) and result.flags.writeable and result.flags.c_contiguous:
                bytes_: Array = result.reshape(-1).view(np.uint8)
                bytes_.fill(_GARBAGE)


def guarded(array: Array, *, at_end: bool) -> Array:
    """Copy an array between two inaccessible pages, to end right before the second or begin right behind the first.

    An array that repeats one element is returned as it is.
    """
    count, page = array.nbytes, mmap.PAGESIZE
    repeats = any(stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True))
    if not count or repeats:
        return array
    room = -(-count // page) * page
    memory = mmap.mmap(-1, room + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for guard in (start, start + page + room):
        if _LIBC.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0):
            raise MemoryError("mprotect failed")
    offset = page + (room - count if at_end else 0)
    copy = np.frombuffer(memory, np.uint8, count, offset).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def sharing(inputs: Sequence[Array]) -> list[Array]:
    """Copy arrays so that they share memory where values permit: equal ones are one, parts of others are views.

    >>> a, b = np.arange(6.0), np.arange(6.0)[2:5]
    >>> one, same, part = sharing([a, a.copy(), b])
    >>> one is same, np.shares_memory(one, part)
    (True, True)
    """
    made = list[Array]()
    for x in inputs:
        made.append(_placed(made, x))
    return made


def _placed(made: Sequence[Array], x: Array) -> Array:
    for y, start in itertools.product(made, (0, 1, 2)):
        whole = y.reshape(-1)
        part = whole[start : start + x.size]
        if x.dtype == y.dtype and x.size and part.size == x.size and part.tobytes() == x.tobytes():
            return y if x.shape == y.shape else part.reshape(x.shape)
    return x.copy()
