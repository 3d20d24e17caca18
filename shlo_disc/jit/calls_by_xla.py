"""Let XLA serve calls that donate many small arrays: it takes and frees arrays in less time.

C reads every array that is new, and deletes every one that is donated, by a call of jaxlib each. XLA does so for all at
once, in a function that calls the program alone. It has to compile that function for the sizes of a call, so this is
done for sizes that come often. All other calls, and what XLA does not take, are served as before.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from shlo_disc.call_signature import Signature
from shlo_disc.expr.dim import symbol
from shlo_disc.jit.jax_modules import is_outside_of_traces, jax_module
from shlo_disc.jit.tracing import Trace
from shlo_disc.records import record
from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.xla.library import WIDENED, unsupported
from shlo_disc.runtime.xla.primitive import call_in_trace

log = logging.getLogger("shlo_disc")

Serve: TypeAlias = Callable[..., Any]

_FEWEST = 32  # donated arrays
_MOST_BYTES = 1 << 12  # of an array, in the mean: XLA copies results into the memory of donated arrays
_MOST_COMPILED = 64  # sizes
_MOST_COUNTED = 4096


@record
class _SizePlace:
    """Where the value of a symbol is found in a call: an axis of a leaf, and the keys of pytrees that lead to it."""

    keys: tuple[Any, ...]
    axis: int

    def of(self, args: Any) -> int:
        for key in self.keys:
            args = args[key]
        return args.shape[self.axis]


class _OtherTypes(Exception):  # noqa: N818  a condition, not an error of the user's
    """A call with these sizes has arrays of other types, or other pytrees."""


class CallsByXla:
    """Serves calls of a program: those of sizes that come often by XLA, others by the function of C."""

    def __init__(
        self,
        serve: Serve,
        executable: Executable,
        signature: Signature,
        trace: Trace,
        donated: Sequence[int],
        places: Sequence[_SizePlace],
    ) -> None:
        """`donated` are positional arguments; `places` those of the symbols, in their order."""
        self._serve, self._executable, self._signature, self._trace = serve, executable, signature, trace
        self._donated, self._places = donated, places
        self._by_sizes = dict[tuple[int, ...], Serve | None]()  # None: XLA does not serve these
        self._calls = Counter[tuple[int, ...]]()
        count = len(trace.specs) + len(trace.results)
        self._often = 500 + 100_000 // count  # calls that save as much time as XLA takes to compile one function

    def __call__(self, *args: Any) -> Any:
        """The results of a call; `NotImplemented` if neither can serve it."""
        try:
            sizes = tuple([one.of(args) for one in self._places])
            by_xla = self._by_sizes.get(sizes)
        except (AttributeError, LookupError, TypeError):  # other pytrees, or no arrays
            return self._serve(*args)
        if by_xla is not None and is_outside_of_traces():
            try:
                return by_xla(*args)
            except _OtherTypes:
                self._by_sizes[sizes] = None
            except ValueError as error:  # such as a deleted array, of which C says the same in JAX's usual words
                log.debug("%s: XLA refuses a call: %s", self._executable.artifact.name, error)
        found = self._serve(*args)
        if found is not NotImplemented and sizes not in self._by_sizes:
            self._count(sizes)
        return found

    def _count(self, sizes: tuple[int, ...]) -> None:
        if len(self._calls) >= _MOST_COUNTED:
            self._calls.clear()
        self._calls[sizes] += 1
        if self._calls[sizes] >= self._often and len(self._by_sizes) < _MOST_COMPILED:
            del self._calls[sizes]
            self._by_sizes[sizes] = self._compiled(sizes)

    def _compiled(self, sizes: tuple[int, ...]) -> Serve | None:
        jax = jax_module()

        values = dict(zip(self._trace.abstraction.symbols, sizes, strict=True))
        shapes = [tuple([dim.evaluate(values) for dim in dims]) for dims in self._trace.abstraction.shapes]
        types = [(shape, one.dtype) for shape, one in zip(shapes, self._trace.specs, strict=True)]
        results = self._trace.result_types(values)
        bytes_ = [math.prod(shape) * dtype.itemsize for shape, dtype in [*types, *[one[:2] for one in results]]]
        if sum(bytes_) > _MOST_BYTES * len(bytes_):
            return None

        def by_xla(*args: Any) -> Any:
            leaves, tree = jax.tree_util.tree_flatten((args, {}))
            found = [(one.shape, one.dtype) for one in leaves]
            if tree != self._signature.in_tree or found != types or any(one.weak_type for one in leaves):
                raise _OtherTypes
            return self._signature.out_tree.unflatten(call_in_trace(self._executable, leaves))

        made = jax.jit(by_xla, donate_argnums=self._donated, keep_unused=True)
        args, _ = self._signature.in_tree.unflatten([jax.ShapeDtypeStruct(*one) for one in types])
        try:
            with warnings.catch_warnings():
                # Of donated arrays that no result can use: `warn_of_unusable` has said so.
                warnings.simplefilter("ignore")
                made.lower(*args).compile()
        except Exception as error:  # noqa: BLE001  whatever JAX raises: calls go on as before
            log.warning("%s: XLA does not serve calls that come often: %s", self._executable.artifact.name, error)
            return None
        log.info("%s: XLA serves calls with shapes %s", self._executable.artifact.name, shapes)
        return made


def by_xla_if_often(
    serve: Serve, executable: Executable, signature: Signature, trace: Trace, donated: Sequence[int]
) -> Serve:
    """The function that serves calls of a program whose leaves `donated` are; the same, if XLA would not save time."""
    args, kwargs, _ = signature.example()
    positions = [k for k, one in enumerate(args) if set(jax_module().tree.leaves(one)) & set(donated)]
    artifact = executable.artifact
    names = {one.dtype for one in (*artifact.arguments, *artifact.results)}
    is_strong = not any(one.weak_type for one in (*trace.jaxpr.in_avals, *trace.jaxpr.out_avals))
    is_possible = not kwargs and is_strong and unsupported(artifact) is None and not WIDENED.keys() & names
    if len(donated) < _FEWEST or not is_possible:
        return serve
    places = _places(args, trace)
    return serve if places is None else CallsByXla(serve, executable, signature, trace, positions, places)


def _places(args: tuple[Any, ...], trace: Trace) -> list[_SizePlace] | None:
    """Where the symbols are found; None if one is in no size alone, or in a pytree without keys."""
    util = jax_module().tree_util
    found = dict[str, _SizePlace]()
    paths, _ = util.tree_flatten_with_path(args)
    for (path, _), dims in zip(paths, trace.abstraction.shapes, strict=True):
        keys = tuple([getattr(one, "idx", getattr(one, "key", None)) for one in path])
        is_keyed = all(isinstance(one, util.SequenceKey | util.DictKey) for one in path)
        for axis, dim in enumerate(dims):
            name = next((one.name for one in dim.symbols() if dim == symbol(one.name)), None)
            if name is not None and is_keyed:
                found.setdefault(name, _SizePlace(keys, axis))
    names = trace.abstraction.names
    return [found[name] for name in names] if found.keys() >= set(names) else None
