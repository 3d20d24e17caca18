# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""A third target: elementwise programs, reductions and products at any sizes; the rest is refused."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions, parse
from shlo_disc.check.running import BuildConfig, InProcess, Outcome, Stop, standard_ways
from shlo_disc.diagnostics import ShloDiscError, UnsupportedOpError
from shlo_disc.targets import default_target, register_target, unregister_target
from tests.targets.plain_c import GENERATOR, PLAIN

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def registered() -> Generator[None]:
    register_target(PLAIN)
    yield
    unregister_target(PLAIN.name)


def _softmax(x: Any, y: Any) -> Any:
    return jax.nn.softmax(x * 2 + y, -1)


def _layer_norm(x: Any, y: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) + y


def _places(x: Any, y: Any) -> Any:
    return jnp.argmax(x, 1), jnp.max(y, 0), jnp.sum(jnp.where(x > y, x, 0)), (x > 0).any(1)


def _turned(x: Any, y: Any) -> Any:
    return jnp.concatenate([x.T, jnp.exp(-abs(y)).T], 1)[::-1], jnp.pad(x, ((1, 2), (0, 1)))


def _product(x: Any, y: Any) -> Any:
    return jnp.tanh(x @ y.T + 1), jnp.einsum("ij,ik->jk", x, y)


PROGRAMS = (_softmax, _layer_norm, _places, _turned, _product)


def _compiled(function: Callable[..., Any], dtype: Any = np.float32) -> Any:
    scope = export.SymbolicScope()
    b, s = export.symbolic_shape("b, s", scope=scope)
    spec = jax.ShapeDtypeStruct((b, s), dtype)
    return shlo_disc.compile(export.export(jax.jit(function))(spec, spec), device="plain")


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__.strip("_"))
def test_programs_agree_with_jax(function: Callable[..., Any]) -> None:
    run, rng = _compiled(function), np.random.default_rng()
    for shape in ((1, 1), (3, 7), (17, 16), (64, 5), (2, 129)):
        x, y = (rng.standard_normal(shape, np.float32) for _ in range(2))
        got: list[NDArray[Any]] = jax.tree.leaves(run(x, y))
        for one, wanted in zip(got, jax.tree.leaves(jax.jit(function)(x, y)), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=2e-5)
    assert "for (int64_t" in run.kernels_source
    assert run.stats.compilations == 1


def test_nan_and_infinities() -> None:
    x = np.array([[np.nan, 1, -np.inf], [np.inf, 2, 3]], np.float32)
    largest, least = _compiled(lambda x, y: (x.max(1), jnp.minimum(x, y)))(x, np.zeros_like(x))
    np.testing.assert_array_equal(largest, [np.nan, np.inf])
    np.testing.assert_array_equal(least, [[np.nan, 0, -np.inf], [0, 0, 0]])


def test_what_it_lacks_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="plain C has no loops for a sort yet"):
        _compiled(lambda x, y: (jnp.sort(x, 1), y))
    with pytest.raises(
        UnsupportedOpError, match="found elements of type f16, expected one of those the plain C target has"
    ):
        _compiled(lambda x, y: x + y, np.float16)
    with pytest.raises(UnsupportedOpError, match="plain C has no tan yet"):
        _compiled(lambda x, y: jax.lax.tan(x) + y)


def test_a_name_stands_for_one_target() -> None:
    assert default_target().name != "plain"
    with pytest.raises(ShloDiscError, match="found a target named 'plain' already"):
        register_target(PLAIN)
    with pytest.raises(ShloDiscError, match="found device 'plane', expected 'cpu' or 'cuda' or 'plain'"):
        shlo_disc.compile("", device="plane")


def test_check_runs_it() -> None:
    """The ways of `check` know a target by its name alone."""
    ways = InProcess(standard_ways(BuildConfig(CompileOptions(), PLAIN.name)), PLAIN.name)
    module = parse(
        "func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {\n"
        "  %0 = stablehlo.tanh %x : tensor<?x?xf32>\n  %1 = stablehlo.add %0, %x : tensor<?x?xf32>\n"
        "  return %1 : tensor<?x?xf32>\n}"
    )
    x = np.random.default_rng().standard_normal((5, 3), np.float32)
    (wanted,) = _arrays(ways.run("interpreter", module, [x]))
    for way in ("compiled", "vm", "unfused"):
        np.testing.assert_allclose(_arrays(ways.run(way, module, [x]))[0], wanted, rtol=1e-6)


def _arrays(found: Outcome) -> tuple[NDArray[Any], ...]:
    assert not isinstance(found, Stop), found
    return found


def test_programs_of_another_generator_are_not_taken_from_the_cache(tmp_path: Path) -> None:
    """The key of an artifact has the code of this package, not that of a target: only its version tells."""
    options, texts = CompileOptions(cache_dir=tmp_path), list[str]()
    text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}"
    for version in (None, None, "1", "1", "2"):
        unregister_target(PLAIN.name)
        said = f"// generator {len(texts)}\n"
        generator = replace(GENERATOR, print_host=lambda _program, _host, said=said: said)
        register_target(replace(PLAIN, generator=lambda one=generator: one, version=version))
        texts.append(shlo_disc.compile(text, device=PLAIN.name, options=options).host_source)
    assert texts == [f"// generator {k}\n" for k in (0, 1, 2, 2, 4)]
