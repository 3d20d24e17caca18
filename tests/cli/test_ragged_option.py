# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""`--ragged`: programs are compiled for ragged sizes, and random arrays have lengths or masks for them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.cli.main import main
from shlo_disc.cli.run import arrays_of
from shlo_disc.function_export import export_function
from tests.pipeline.exports import FAST

SHAPES = "f32[b, s], f32[b, t], f32[u, b], i32[b], f32[b, t], f32[u, b]"
RAGGED = ("--ragged", "s=lengths", "--ragged", "t=4", "--ragged", "u=turned")  # argument 4 is the mask


def pooled(x, y, z, lengths, mask, turned):
    within = jnp.arange(x.shape[1])[None] < lengths[:, None]
    return jnp.where(within, x, 0).sum(1) + (y * mask).sum(1) + (z * turned).sum(0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ragged") / "pooled.mlir"
    path.write_text(export_function(pooled, SHAPES, (), "cpu").mlir_module())
    return path


@pytest.mark.slow
def test_random_lengths_and_masks_are_within_the_sizes(file: Path) -> None:
    run = shlo_disc.compile(file, device="cpu", ragged={"s": "lengths", "t": 4, "u": "turned"}, options=FAST)
    options = argparse.Namespace(inputs=None, sizes="b=40,s=5,t=3,u=2", seed=0)
    _, _, _, lengths, mask, turned = arrays_of(options, run)
    assert set(lengths) == {1, 2, 3, 4, 5}
    assert {tuple(row) for row in mask} == {(1, 0, 0), (1, 1, 0), (1, 1, 1)}
    assert {tuple(row) for row in turned.T} == {(1, 0), (1, 1)}


@pytest.mark.slow
def test_commands_compile_for_ragged_sizes(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, page = tmp_path / "pooled.shlo", tmp_path / "page.html"
    assert main(["compile", str(file), *RAGGED, "-o", str(saved)]) == 0
    run: Any = shlo_disc.load(saved)
    x, mask = np.ones((2, 4), np.float32), np.ones((2, 3), np.float32)
    with pytest.raises(shlo_disc.RuntimeShapeError, match=r"lengths has a length from 0 to 4, .* in row 1"):
        run(x, mask, mask.T, np.array([1, 5], np.int32), mask, mask.T)
    assert main(["run", str(saved), "--dims", "b=9,s=2"]) == 0, "no length is above 2"
    assert main(["report", str(file), *RAGGED, "-o", str(page)]) == 0
    assert "sum_s" in page.read_text()
    assert main(["run", str(file), *RAGGED, "--dims", "b=9,s=2"]) == 0, "no length is above 2"
    assert main(["profile", str(file), *RAGGED, "--repeat", "1"]) == 0
    assert "sum_s=" in capsys.readouterr().out
    assert main(["explain", str(file), *RAGGED]) == 0
    assert "ragged: t is as long as ones of mask says in each row of b" in capsys.readouterr().out


WRONG = (
    (["s"], "expected a size and the argument with its lengths such as s=lengths, found 's'", 2),
    (["=lengths"], "such as s=lengths, found '=lengths'", 2),
    (["s=lengths", "s=2"], "found --ragged twice for the size 's'", 2),
    (["q=lengths"], "found the ragged size 'q', expected one of b, s, t, u", 1),
    (["s=6"], "found the argument number 6, expected one from 0 to 5", 1),
    (["t=lengths"], "result 0: elements within the lengths may depend on the padding", 1),
)


@pytest.mark.parametrize(
    "command", ["run", *(pytest.param(name, marks=pytest.mark.slow) for name in ("report", "compile"))]
)
def test_wrong_sizes_are_named(command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message, code in WRONG:
        ragged = [part for word in words for part in ("--ragged", word)]
        assert main([command, str(file), *ragged]) == code, words
        assert message in capsys.readouterr().err


def test_a_library_for_c_has_no_such_option(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["build", str(file), *RAGGED, "--out", str(tmp_path)])
    assert "unrecognized arguments: --ragged" in capsys.readouterr().err
