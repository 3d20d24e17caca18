"""Programs inside of `jax.jit`: the results of a call outside and of JAX, and what a call takes.

Tests run the handler on an emulator, by a stand-in for XLA. Only this section shows XLA's own streams and memory.
"""

# JAX is typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

import shlo_disc
from benchmarks.gpu.section import Section, wall_seconds

SIZES = (1, 7, 33, 1000)
WIDTH = 64
TOLERANCE = 5e-3  # of the largest value: both sides may use TF32
CALLS = 100  # in one function
THREADS, ROUNDS = 4, 50

Function = Callable[[Any, Any], Any]


def elementwise(x: Any, y: Any) -> Any:
    """One launch."""
    return x * 2 + y, jnp.sin(x) - y


def softmax(x: Any, y: Any) -> Any:
    """Rows, and a sum over all of them."""
    return jax.nn.softmax(x + y, axis=-1), jnp.sum(x, axis=0)


def product(x: Any, y: Any) -> Any:
    """Products with epilogues, by temporaries; cuBLAS where it is faster."""
    return (jnp.tanh(jnp.tanh(x @ y.T) @ y) + x,)


def ordered(x: Any, y: Any) -> Any:
    """Sorts, by temporaries of their own."""
    return (jnp.sort(x, axis=0) * jnp.sort(y, axis=0),)


def looped(x: Any, y: Any) -> Any:
    """A loop whose flag is read back: the handler waits for XLA's stream."""
    return (lax.while_loop(lambda c: jnp.max(jnp.abs(c)) < 100, lambda c: c * 2 + jnp.abs(y) + 1, x),)


CASES: tuple[Function, ...] = (elementwise, softmax, product, ordered, looped)


def compiled(function: Function, **options: Any) -> Any:
    """The program, for all numbers of rows."""
    (n,) = export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n, WIDTH), np.float32)
    return shlo_disc.compile(export.export(jax.jit(function), platforms=["cuda"])(spec, spec), device="cuda", **options)


def arrays(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Two arrays on the GPU."""
    x, y = np.random.default_rng(n + seed).standard_normal((2, n, WIDTH), np.float32)
    return jax.device_put(x), jax.device_put(y)


def main() -> None:
    """Results first, then times."""
    section, wrong, other_bits = Section(), list[str](), list[str]()
    for function in CASES:
        run = compiled(function)
        ways = in_functions(run.as_jax(), function)
        for n in SIZES:
            outside, inside = run(*arrays(n)), ways["alone"][0](*arrays(n))
            if not all(map(same_bits, outside, inside)):
                other_bits.append(f"{function.__name__} {n}")
            for way, (ours, wanted) in ways.items():
                wrong += [f"{function.__name__} {n} {way}: {why}" for why in differences(ours, wanted, arrays(n))]
        section.add("checked", [*section.report.get("checked", []), function.__name__])
    wrong += [f"threads: {why}" for why in threads_disagree(compiled(product).as_jax())]
    wrong += [f"donated: {why}" for why in donations_disagree()]
    section.add("wrong", wrong)
    section.add("other_bits_than_outside", other_bits)
    section.add("calls", times())
    calls = {name: f"{took:.1f}" for name, took in section.report["calls"].items()}
    told = f"{len(wrong)} wrong {wrong[:5]}, other bits than outside: {other_bits}"
    section.add("summary", [told, f"microseconds: {calls}"])


def in_functions(step: Function, plain: Function) -> Mapping[str, tuple[Function, Function]]:
    """Functions that call the program in several ways, and the same of JAX alone."""

    def around(f: Function) -> Function:
        return jax.jit(lambda x, y: [one * 2 for one in f(jnp.sin(x), y)])

    def chained(f: Function) -> Function:
        return jax.jit(lambda x, y: [lax.fori_loop(0, 3, lambda _, c: jnp.tanh(f(c, y)[0]), x)])

    def twice(f: Function) -> Function:
        return jax.jit(lambda x, y: [*f(x, y), *f(y, x)])

    return {
        "alone": (jax.jit(step), jax.jit(plain)),
        "between ops of XLA": (around(step), around(plain)),
        "in a loop": (chained(step), chained(plain)),
        "twice": (twice(step), twice(plain)),
    }


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bytes."""
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def differences(ours: Function, wanted: Function, given: tuple[Any, Any]) -> list[str]:
    """What is wrong with the results of a function, called several times: XLA reuses the memory of temporaries."""
    first, *others = [list(map(np.asarray, ours(*given))) for _ in range(4)]
    again = all(all(map(same_bits, first, other)) for other in others)
    wrong = [] if again else ["other bits at another call"]
    for found, reference in zip(first, map(np.asarray, wanted(*given)), strict=True):
        error, most = float(np.max(np.abs(found - reference))), float(np.max(np.abs(reference)))
        if not error <= TOLERANCE * max(1.0, most):
            wrong.append(f"off by {error} from JAX")
    return wrong


def threads_disagree(step: Function) -> list[str]:
    """Several threads call one jitted function at once, with arrays of their own."""
    jitted, wrong = jax.jit(step), list[str]()
    calls = [arrays(257, seed) for seed in range(THREADS)]
    wanted = [np.asarray(jitted(*given)[0]) for given in calls]

    def work(number: int) -> None:
        for _ in range(ROUNDS):
            if not same_bits(jitted(*calls[number])[0], wanted[number]):
                wrong.append(f"other bits in thread {number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong[:5]


def donations_disagree() -> list[str]:
    """A donated argument is overwritten where JAX donates it, and kept elsewhere."""
    step, (x, y) = compiled(elementwise, donate=(0,)).as_jax(), arrays(33)
    before = np.asarray(x)
    wanted = [np.asarray(one) for one in jax.jit(elementwise)(x, y)]
    kept = jax.jit(lambda x, y: [*step(x, y), x])(x, y)
    given = jax.jit(step, donate_argnums=0)(jnp.array(x, copy=True), y)
    close = all(np.allclose(a, b, 1e-5, 1e-5) for a, b in zip([*kept[:2], *given], [*wanted, *wanted], strict=True))
    return ([] if close else ["wrong"]) + ([] if np.array_equal(kept[2], before) else ["an argument was overwritten"])


def times() -> dict[str, float]:
    """Microseconds of a call among calls in a row, and of each of a hundred in one function, on 64 numbers."""
    given, run = arrays(1), compiled(elementwise)
    functions: dict[str, Function] = {"the program": run.as_jax(), "XLA": elementwise}

    def repeated(f: Function) -> Function:
        def every(x: Any, y: Any) -> Any:
            for _ in range(CALLS):
                x, y = f(x, y)
            return x, y

        return jax.jit(every)

    found = {"outside of jax.jit": wall_seconds(lambda: run(*given)) * 1e6}
    for name, function in functions.items():
        found[f"{name}, one call"] = wall_seconds(partial(jax.jit(function), *given)) * 1e6
        found[f"{name}, each of a hundred"] = wall_seconds(partial(repeated(function), *given)) * 1e6 / CALLS
    return found


if __name__ == "__main__":
    main()
