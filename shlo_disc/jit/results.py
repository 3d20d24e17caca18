"""Arrays of JAX for many results at once: XLA makes them in half of the time that jaxlib takes for one after the other.

It needs a program of its own for the shapes of the results, with one custom call in it, which it compiles in the time
of some hundred calls. So that is done for the sizes that many calls have, and for results that are small: the memory of
large ones is used again if it is ours, which matters more.
"""

from __future__ import annotations

import ctypes
import itertools
import logging
import math
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from shlo_disc.jit.jax_modules import jax_module, without_mesh
from shlo_disc.runtime.entry import Entry, Maker
from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.xla.library import WIDENED, XlaLibrary, open_library, unsupported

log = logging.getLogger("shlo_disc")

Shapes: TypeAlias = "tuple[tuple[int, ...], ...]"

_FILL = "shlo_disc_fill"  # XLA's name of the handler that runs a call of this thread
_FEWEST = 4
_MOST_BYTES = 1 << 16  # of a result, in the mean
_MOST_MAKERS = 64  # of a program


def let_xla_make_results(executable: Executable, entry: Entry, weak: Sequence[bool]) -> None:
    """Let XLA make the results of calls that often return many; `weak`: which of them have a weak type."""
    artifact = executable.artifact
    names = [one.dtype for one in artifact.results]
    if len(names) < _FEWEST or any(weak) or artifact.donations:
        return
    if unsupported(artifact) is not None or WIDENED.keys() & set(names):
        return
    found, its_entry = weakref.ref(executable), weakref.ref(entry)  # which keeps what prepares
    numbers = itertools.count()

    def prepare(shapes: Shapes) -> Maker | None:
        program, entry = found(), its_entry()
        if program is None or entry is None:
            return None
        bytes_ = sum(math.prod(one) * dtype_of(name).itemsize for one, name in zip(shapes, names, strict=True))
        if not 0 < bytes_ <= _MOST_BYTES * len(shapes) or next(numbers) >= _MOST_MAKERS:
            return None
        try:
            maker = new_maker(program, entry, shapes)
            if entry.makes(maker, len(shapes)):
                return maker
            why = "it does not run the call in the thread that calls it"
        except Exception as error:  # noqa: BLE001  whatever JAX raises: calls go on as before
            why = str(error)
        note = f"jaxlib makes one array of JAX after the other, as XLA cannot make all at once: {why}"
        log.warning("%s: %s", artifact.name, note)
        program.notes = (*program.notes, note)
        return None

    entry.make_results_by(prepare)


def new_maker(executable: Executable, entry: Entry, shapes: Shapes) -> Maker:
    """A function by which XLA makes arrays of these shapes, while it runs a call of the thread that calls it."""
    jax = jax_module()

    library = open_library(executable.for_xla)
    _register(library)
    entry.know_filling(ctypes.cast(library.handle.shlo_xla_begin_filling, ctypes.c_void_p))
    results = zip(shapes, executable.artifact.results, strict=True)
    device = jax.local_devices(backend=library.platform.name)[0]

    def make() -> tuple[Any, ...]:
        return tuple(jax.ffi.ffi_call(_FILL, types)())

    with jax.enable_x64(True), jax.default_device(device), without_mesh():
        types = [jax.ShapeDtypeStruct(shape, dtype_of(one.dtype)) for shape, one in results]
        return jax.jit(make).lower().compile()


@lru_cache(maxsize=1)
def _register(library: XlaLibrary) -> None:
    """Name the handler to XLA."""
    jax = jax_module()

    jax.ffi.register_ffi_target(
        _FILL, jax.ffi.pycapsule(library.handle.shlo_xla_fill), platform=library.platform.registry
    )
