# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Code on pages runs, and prints what stands there. Each block is run here or elsewhere, or is listed with a reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import shlo_disc
from benchmarks.fusion_rules import plan_bladedisc
from shlo_disc import custom_calls
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.targets import unregister_target
from tests.api.pages import ROOT, blocks, run_console, run_file, run_python
from tests.targets import plain_c

TYPED = {  # pages with prompts, and how many examples each has at least
    "docs/tutorial.md": 15,
    "docs/explanation/facts.md": 20,
    "docs/explanation/ragged.md": 6,
    "docs/how-to/ragged-batches.md": 9,
    "docs/how-to/custom_calls.md": 10,
    "docs/reference/other_dialects.md": 4,
}
TYPED_SLOWLY = {"docs/how-to/dynamic.md": 15, "docs/how-to/serve.md": 18, "docs/how-to/debug.md": 5}
CONSOLE = {"docs/how-to/debug.md": 2, "docs/how-to/check.md": 1, "docs/how-to/command-line.md": 2}  # blocks that run
ELSEWHERE = {
    ("README.md", "python"): "test_readme.py",
    ("docs/how-to/parse.md", "python"): "test_parse_page.py",
    ("docs/how-to/parse.md", "console"): "test_parse_page.py",
    ("docs/how-to/add-an-op.md", "python"): "tests/dynamic_ops/test_how_to_add.py",
    ("docs/how-to/add-a-template.md", "python"): "tests/dynamic_ops/test_how_to_add.py",
}
NOT_RUN = {
    ("README.md", "console"): "make runs it, and is what runs the tests",
    ("CONTRIBUTING.md", "console"): "make runs it, and is what runs the tests",
    ("docs/how-to/cuda.md", "python"): "needs a GPU",
    ("docs/how-to/install.md", "console"): "tests/api/test_wheel.py installs the wheel",
    ("docs/how-to/choose-padding.md", "console"): "tests/cli/test_advise_command.py runs the command on other lengths",
    ("docs/how-to/profile.md", "console"): "tests/cli/test_calls.py runs the command on another program",
    ("docs/explanation/schedules.md", "python"): "measures this CPU; tests/schedules has it measure less",
    ("docs/reference/testing.md", "console"): "hours of random programs, mutants and sanitizers",
}

W = np.ones((8, 8), np.float32)
X = np.ones((3, 8), np.float32)


def _step(params: Any, x: Any) -> Any:
    return jnp.tanh(x @ params["w"])


def _exported() -> Any:
    (n,) = export.symbolic_shape("n")
    return export.export(jax.jit(_step))(
        {"w": jax.ShapeDtypeStruct((8, 8), W.dtype)}, jax.ShapeDtypeStruct((n, 8), W.dtype)
    )


def _with_product() -> Mapping[str, Any]:
    """A product of arguments, as the page on profiles has it."""
    types = [jax.ShapeDtypeStruct(shape, W.dtype) for shape in ((*export.symbolic_shape("n"), 8), (8, 8))]
    return {"shlo_disc": shlo_disc, "exported": export.export(jax.jit(jnp.matmul))(*types), "x": X, "w": W}


def _with_lengths() -> Mapping[str, Any]:
    lengths = [int(one) for one in np.random.default_rng(0).integers(1, 300, 64)]
    return {
        "shlo_disc": shlo_disc,
        "jax": jax,
        "time": time,
        "train": _step,
        "params": {"w": W},
        "batch": X,
        "lengths": lengths,
    }


def _reduced() -> Any:
    b, s = export.symbolic_shape("b, s")
    return export.export(jax.jit(lambda x: jnp.tanh(x).sum(-1)))(jax.ShapeDtypeStruct((b, s), np.float32))


def _with_exported() -> Mapping[str, Any]:
    weights = {"params": {"w": W}, "new_params": {"w": 2 * W}, "x": X}
    run = shlo_disc.compile(_exported(), device="cpu")
    return {"shlo_disc": shlo_disc, "jax": jax, "exported": _exported(), "run": run, **weights}


def _with_target() -> Mapping[str, Any]:
    module = shlo_disc.parse("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}")
    names = {"generator": plain_c.GENERATOR, "open_device": plain_c.PLAIN.open, "module": module, "inputs": [X[0]]}
    return {**vars(plain_c), "start": plain_c.GENERATOR.start, "print_host": plain_c.GENERATOR.print_host, **names}


# Pages without prompts: what their blocks take for granted, and what is true of the names that they define.
FILES: Mapping[str, tuple[Callable[[], Mapping[str, Any]], Callable[[Mapping[str, Any]], Any]]] = {
    "docs/how-to/binding.md": (_with_exported, lambda found: np.allclose(found["serve"](X), _step({"w": 2 * W}, X))),
    "docs/how-to/inside-jax.md": (_with_exported, lambda found: found["simulate"]({"w": W}, X).shape == X.shape),
    "docs/how-to/ship.md": (_with_exported, lambda found: np.allclose(found["y"], _step({"w": W}, X))),
    "docs/how-to/jit.md": (
        lambda: {"jnp": jnp, "f": lambda x, y: (x, y)},
        lambda found: found["loss"]({"w": W}, X, X).shape == (),
    ),
    "docs/how-to/c.md": (
        lambda: {"shlo_disc": shlo_disc, "model": lambda x, w: x @ w, "params": np.ones((5, 64), np.float32)},
        lambda _: Path("package/model.h").exists(),
    ),
    "docs/how-to/profile.md": (_with_product, lambda found: found["profile"].steps),
    "docs/how-to/choose-padding.md": (_with_lengths, lambda found: found["advice"].ways[0].compilations > 0),
    "docs/how-to/add-a-target.md": (_with_target, lambda found: np.array_equal(found["outcome"][0], X[0])),
    "docs/explanation/memory.md": (
        lambda: {"run": shlo_disc.compile(lambda x: jnp.tanh(x @ x.T) @ x, shapes="f32[b, s]", device="cpu")},
        lambda found: found["run"].peak_memory(b=8, s=512) > 0,
    ),
    "docs/explanation/fusion.md": (
        lambda: {
            "compile_text": compile_text,
            "Request": Request,
            "Stopwatch": Stopwatch,
            "plan_bladedisc": plan_bladedisc,
            "text": _reduced().mlir_module(),
        },
        lambda found: found["artifact"].kernels,
    ),
}


def _flax_serves(found: Mapping[str, Any]) -> bool:
    expected = found["model"].apply(found["trained"], np.ones((5, 8), np.float32), train=False)
    return np.allclose(found["answers"], expected, atol=1e-5)


def _equinox_serves(found: Mapping[str, Any]) -> bool:
    model = found["eqx"].nn.inference_mode(found["model"])
    expected = jax.vmap(model)(np.ones((5, 8), np.float32))
    return np.allclose(found["answers"], expected, atol=1e-5) and np.allclose(found["normalized"].mean(0), 0, atol=1e-5)


def _keras_serves(found: Mapping[str, Any]) -> bool:
    return np.allclose(found["answers"], found["model"](np.ones((5, 16, 9, 3), np.float32)), atol=1e-5)


# Pages on libraries: what has to be installed, which functions are compiled twice, and what is true of the names.
LIBRARIES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], Callable[[Mapping[str, Any]], bool]]] = {
    "docs/how-to/from-flax.md": (("flax", "optax"), ("predict", "train", "fit"), _flax_serves),
    "docs/how-to/from-equinox.md": (("equinox", "optax"), ("predict", "train", "normalize"), _equinox_serves),
    "docs/how-to/from-keras.md": (("keras",), ("predict", "train"), _keras_serves),
}


@pytest.fixture(autouse=True)
def _custom_calls_of_pages_are_forgotten() -> Generator[None]:
    before = dict(custom_calls._hooks)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    yield
    custom_calls._hooks.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    custom_calls._hooks.update(before)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _blocks() -> set[tuple[str, str]]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = [str(page.relative_to(ROOT)) for page in pages]
    return {(page, language) for page in named for language in ("python", "console") if blocks(page, language)}


def test_every_block_of_code_is_accounted_for() -> None:
    run = {(page, "python") for page in {*TYPED, *TYPED_SLOWLY, *FILES, *LIBRARIES}}
    run |= {(page, "console") for page in CONSOLE}
    assert sorted(_blocks()) == sorted(run | {*ELSEWHERE, *NOT_RUN})
    assert not run & {*ELSEWHERE, *NOT_RUN}


@pytest.mark.parametrize("page", TYPED)
def test_what_python_prints(page: str) -> None:
    assert run_python(page) > TYPED[page]


@pytest.mark.slow
@pytest.mark.parametrize("page", TYPED_SLOWLY)
def test_what_python_prints_on_longer_pages(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "model.mlir").write_text("".join(blocks(page, "mlir")))
    assert run_python(page) >= TYPED_SLOWLY[page]


@pytest.mark.slow
@pytest.mark.parametrize("page", FILES)
def test_blocks_without_prompts_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given, holds = FILES[page]
    try:
        assert holds(run_file(page, tmp_path, given()))
    finally:
        if page == "docs/how-to/add-a-target.md":
            unregister_target(plain_c.PLAIN.name)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the libraries
@pytest.mark.parametrize("page", LIBRARIES)
def test_blocks_on_libraries_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages, compiled_twice, serves = LIBRARIES[page]
    if missing := [one for one in packages if find_spec(one) is None]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    found = run_file(page, tmp_path, {})
    assert {name: found[name].report().compilations for name in compiled_twice} == dict.fromkeys(compiled_twice, 2)
    assert serves(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that pages are about: a model with the sizes b and s, and its arrays."""
    (tmp_path / "model.mlir").write_text(_reduced().mlir_module())
    np.savez(tmp_path / "arrays.npz", np.ones((2, 3), np.float32))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", CONSOLE)
def test_what_the_command_line_prints(page: str, folder: Path) -> None:
    for program in blocks(page, "mlir"):
        (folder / "model.mlir").write_text(program)
    for block in blocks(page, "console")[: CONSOLE[page]]:
        codes = run_console(block, folder)
        assert codes == [0] * len(codes)
