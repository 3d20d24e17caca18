# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""JAX functions as programs under test: exported for symbolic shapes, and run by `jax.jit` for one shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

import jax
import ml_dtypes
import numpy as np
from jax import export
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.dynamic_ops.program import Program as LegalProgram
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.pipeline.guarded import guarded

Array = NDArray[Any]
_Types: TypeAlias = tuple[tuple[str, Any], ...]  # of arguments: symbolic shape, dtype
Draw = Callable[[np.random.Generator, tuple[int, ...], np.dtype[Any]], Array]

SIZES = (1, 2, 7, 16, 17, 64, 97)
BF16, F16 = ml_dtypes.bfloat16, np.float16
# A test waits for compilers more than for kernels: ours and XLA's.
FAST, OPTIMIZED = CompileOptions(optimize=0), CompileOptions(optimize=1)
FAST_XLA: dict[str, str | bool] = {"xla_backend_optimization_level": "0", "xla_llvm_disable_expensive_passes": True}
# Units in the last place: of an element's own type, and of the type in which sums are added, at the largest element,
# since sums in another order are off by units of their terms. Narrow floats are rounded after, once or twice.
UNITS: Mapping[str, tuple[float, str, float]] = {
    "float64": (64, "float64", 512), "complex128": (64, "float64", 512),
    "float32": (32, "float32", 160), "complex64": (32, "float32", 160),
    "float16": (2, "float32", 160), "bfloat16": (2, "float32", 160),
}  # fmt: skip


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Numbers of every dtype that are harmless to compute with."""
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def special(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Floats with NaN, infinities, zeros of both signs and ties among them."""
    values = np.round(rng.standard_normal(shape) * 4).astype(np.float64)
    picks = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape)
    return np.where(rng.random(shape) < 0.15, picks, values).astype(dtype)


def infinite(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Floats among which some are -inf."""
    values = rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.2, -np.inf, values).astype(dtype)


def corners(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Integers near the ends of their range, near 0, and anywhere."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    ends = [low, low + 1, high, high - 1, 0, 1, 2, 7, *((-1, -2, -7) if low < 0 else (3,))]
    anywhere = rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.6, rng.choice(np.array(ends, dtype), shape), anywhere)


def between(low: int, high: int) -> Draw:
    """Integers (or floats) in `low ..= high`."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        if dtype.kind in "iu":
            return rng.integers(low, high + 1, shape).astype(dtype)
        return rng.uniform(low, high, shape).astype(dtype)

    return draw


@dataclass(frozen=True, slots=True)
class In:
    """One argument: a shape such as `b, 2*s`, a dtype, and how its values are drawn."""

    shape: str
    dtype: Any = np.float32
    draw: Draw = normal

    def symbols(self) -> list[str]:
        return re.findall(r"[a-z]\w*", self.shape)

    def array(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> Array:
        return self.draw(rng, concrete(self.shape, sizes), np.dtype(self.dtype))


@dataclass(frozen=True, slots=True)
class Program:
    """A function under test. Symbols are at least 1 (JAX assumes so): a dim that may be 0 is written `s - 1`."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[In, ...]
    constraints: tuple[str, ...] = ()
    wide: bool = False  # exported with 64-bit types
    draws: int = 2
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])
    scale: float = 1.0  # of the tolerance

    def symbols(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s for i in self.inputs for s in i.symbols()))

    def draw_sizes(self, rng: np.random.Generator) -> dict[str, int]:
        """Sizes that keep the constraints, no array huge."""
        while True:
            sizes = {s: self.fixed.get(s) or int(rng.choice(SIZES)) for s in self.symbols()}
            small = all(np.prod(concrete(i.shape, sizes), dtype=float) <= 200_000 for i in self.inputs)
            if small and all(_holds(c, sizes) for c in self.constraints):
                return sizes


def program(name: str, function: Callable[..., Any], *inputs: In, **options: Any) -> Program:
    """Describe one function and its arguments."""
    return Program(name, function, inputs, **options)


def concrete(shape: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Evaluate a symbolic shape.

    >>> concrete("b, 2*s + 1, 8", {"b": 3, "s": 5})
    (3, 11, 8)
    """
    return tuple(_evaluate(d, sizes) for d in shape.split(",") if d.strip())


def _holds(constraint: str, sizes: Mapping[str, int]) -> bool:
    return bool(_evaluate(constraint, sizes))


def _evaluate(text: str, sizes: Mapping[str, int]) -> int:
    return int(eval(text, {"__builtins__": {}}, dict(sizes)))  # noqa: S307 - the tests' own text


def exported(function: Callable[..., Any], inputs: Sequence[In], constraints: Sequence[str] = ()) -> Any:
    """Export a function for symbolic shapes, anew at each call.

    An artifact is found in the cache by the program's text, which names the lines of the test: one that changes how
    programs are compiled must not get what another test has compiled.
    """
    return _export(function, _types(inputs), tuple(constraints))


def _export(function: Callable[..., Any], inputs: _Types, constraints: tuple[str, ...]) -> Any:
    scope = export.SymbolicScope(constraints)
    specs = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape, dtype in inputs]
    return export.export(jax.jit(function))(*specs)


@lru_cache(maxsize=32)
def _exported(function: Callable[..., Any], inputs: _Types, _wide: bool) -> Any:
    return _export(function, inputs, ())


def compiled(function: Callable[..., Any], inputs: Sequence[In], options: CompileOptions = FAST) -> shlo_disc.Compiled:
    """Export a function and compile it. The last programs are kept: not for tests that change how they are compiled."""
    return _compiled(function, _types(inputs), options, _is_wide())


@lru_cache(maxsize=32)
def _compiled(function: Callable[..., Any], inputs: _Types, options: CompileOptions, wide: bool) -> shlo_disc.Compiled:
    return shlo_disc.compile(_exported(function, inputs, wide), options=options)


def _is_wide() -> bool:
    """Whether JAX's types have 64 bits here."""
    return jax.dtypes.canonicalize_dtype(np.float64) == np.float64


def _types(inputs: Sequence[In]) -> _Types:
    return tuple([(i.shape, np.dtype(i.dtype)) for i in inputs])


def by_jax(function: Callable[..., Any], arrays: Sequence[Array]) -> list[Array]:
    """What `jax.jit` makes of it, flat."""
    run = _by_jax(function, tuple([(x.shape, x.dtype) for x in arrays]), _is_wide())
    return [np.asarray(leaf) for leaf in jax.tree.leaves(run(*arrays))]


@lru_cache(maxsize=64)
def _by_jax(function: Callable[..., Any], types: tuple[tuple[tuple[int, ...], Any], ...], _wide: bool) -> Any:
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in types]
    return jax.jit(function).lower(*arguments).compile(compiler_options=FAST_XLA)


def expected(
    function: Callable[..., Any],
    inputs: Sequence[In],
    draws: Sequence[Sequence[Array]],
) -> Iterator[tuple[Sequence[Array], list[Array]]]:
    """Arguments, and what is to come of them: by `jax.jit` at the first and last sizes, else by the interpreter.

    XLA compiles for each size, which takes longer than all the rest of a test. The interpreter shares parser and
    legalization with the compiler; so sizes are to begin with the smallest and to end with a large one.
    """
    for number, arrays in enumerate(draws):
        by_xla = number in (0, len(draws) - 1)
        yield arrays, by_jax(function, arrays) if by_xla else by_interpreter(function, inputs, arrays)


def by_interpreter(function: Callable[..., Any], inputs: Sequence[In], arrays: Sequence[Array]) -> list[Array]:
    """What the reference interpreter makes of it, flat."""
    types, wide = _types(inputs), _is_wide()
    kept = _exported(function, types, wide).module_kept_var_idx
    return interpret(_legalized(function, types, wide), [arrays[k] for k in kept])


@lru_cache(maxsize=32)
def _legalized(function: Callable[..., Any], inputs: _Types, wide: bool) -> LegalProgram:
    return legalize(parse_module(_exported(function, inputs, wide).mlir_module(), "export.mlir"))


def flat(compiled: shlo_disc.Compiled, arrays: Sequence[Array]) -> list[Array]:
    """What we make of it, flat. The executable takes only the arguments that the program uses."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(compiled(*arrays))]


def check(
    found: Sequence[Array],
    wanted: Sequence[Array],
    what: str,
    scale: float = 1.0,
    floor: float = 0.0,
    *,
    inside: float = 0.0,
) -> None:
    """Compare all results; integers and NaNs exactly, floats element by element to the `UNITS` of their dtype.

    `scale`: how many times as far they may be apart. `floor`: the size of what cancels on the way, if it is larger than
    the largest element. `inside`: by how many units of a narrow float, at the largest element, what a program rounds to
    it on the way may be apart: probabilities in attention, several such numbers one after the other in its gradients,
    differences and exponentials in softmax.
    """
    assert len(found) == len(wanted), what
    for k, (ours, reference) in enumerate(zip(found, wanted, strict=True)):
        label = f"{what}, result {k}"
        assert (ours.dtype, ours.shape) == (reference.dtype, reference.shape), label
        if (units := UNITS.get(ours.dtype.name)) is None:
            np.testing.assert_array_equal(ours, reference, label)
            continue
        wide = np.complex128 if ours.dtype.kind == "c" else np.float64
        a, b = ours.astype(wide), reference.astype(wide)
        finite = np.abs(b[np.isfinite(b)])
        own, sums, of_sums = units
        relative = scale * own * float(ml_dtypes.finfo(ours.dtype).eps)
        within = float(ml_dtypes.finfo(ours.dtype).eps) * inside if ours.dtype.itemsize == 2 else 0.0
        absolute = (scale * of_sums * float(np.finfo(sums).eps) + within) * finite.max(initial=floor)
        np.testing.assert_allclose(a, b, relative, absolute, err_msg=label)


def ways(program: Any, options: CompileOptions = FAST) -> dict[str, Callable[[Sequence[Array]], list[Array]]]:
    """The program run by the generated driver, by the VM, and by the VM in guarded memory."""
    by_driver = shlo_disc.compile(program, options=options)
    by_vm = shlo_disc.compile(program, options=replace(options, driver="vm"))
    in_guarded = guarded(by_vm)
    return {
        "c": lambda arrays: flat(by_driver, arrays),
        "vm": lambda arrays: flat(by_vm, arrays),
        "guarded": lambda arrays: list(in_guarded([arrays[k] for k in program.module_kept_var_idx])),
    }


def verify(one: Program, options: CompileOptions = FAST) -> None:
    """Compile once; compare with `jax.jit` at random sizes, run in every way."""
    with jax.enable_x64(one.wide):
        runs = ways(exported(one.function, one.inputs, one.constraints), options)
        for seed in range(one.draws):
            rng = np.random.default_rng([seed, len(one.name)])
            sizes = one.draw_sizes(rng)
            arrays = [i.array(rng, sizes) for i in one.inputs]
            wanted = by_jax(one.function, arrays)
            for way, run in runs.items():
                check(run(arrays), wanted, f"{one.name}, {sizes}, seed {seed}, {way}", one.scale)
