# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Packages of programs with bound arguments: weights in a mapped file, or in the caller's memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import shlo_disc
from shlo_disc.c_package.build import package_files
from shlo_disc.c_package.weights import Weights, weights_of
from shlo_disc.cli.main import main
from shlo_disc.program_file.tensors import read_tensors
from shlo_disc.program_file.writer import BoundProgram
from shlo_disc.runtime.building.machines import best_machine, native
from shlo_disc.runtime.cpu.build import build
from tests.c_package.in_process import Model
from tests.c_package.packages import (
    MEMORY,
    OK,
    SHAPE,
    STRICT,
    assert_same_bits,
    compile_c,
    compiled_function,
    compiled_text,
    linked,
)
from tests.c_package.test_libraries import assert_same_answers, output, sanitized
from tests.conftest import ROOT
from tests.runtime.sample import SAMPLE

ARGUMENT, FILE = 3, 5  # statuses of the header
SIZES = (0, 1, 2, 7, 16, 33, 128)


class Weighted(NamedTuple):
    """A program, the arrays to bind, and the arguments of a call at a size."""

    run: shlo_disc.Compiled
    weights: list[Any]
    call: Any


def _f32(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def _mlp(w: Any, b: Any, v: Any, x: Any) -> Any:
    return jax.nn.gelu(x @ w + b) @ v


def mlp(rng: np.random.Generator) -> Weighted:
    run = compiled_function(_mlp, "f32[d, h], f32[h], f32[h, d], f32[n, d]")
    weights = [_f32(rng, 16, 48), _f32(rng, 48), _f32(rng, 48, 16)]
    return Weighted(run, weights, lambda n: [_f32(rng, n, 16)])


def used_twice(rng: np.random.Generator) -> Weighted:
    """A weight that kernels read packed and as it is, one that nothing reads, an empty one, and a constant."""
    table = _f32(np.random.default_rng(5), 48, 32)
    run = compiled_function(
        lambda w, empty, x: (x @ w @ table, w[x[:, 0].astype(jnp.int32)] + empty.sum()),
        "f32[32, 48], f32[0, 3], f32[n, 32]",
    )
    return Weighted(run, [_f32(rng, 32, 48), np.zeros((0, 3), np.float32)], lambda n: [_f32(rng, n, 32).clip(0, 9)])


def half(rng: np.random.Generator) -> Weighted:
    run = compiled_function(lambda w, s, x: (x @ w) * s, "bf16[k, 64], bf16[], bf16[n, k]")
    bf16 = ml_dtypes.bfloat16
    weights = [_f32(rng, 32, 64).astype(bf16), np.array(1.5, bf16)]
    return Weighted(run, weights, lambda n: [_f32(rng, n, 32).astype(bf16)])


_COUNTED = """
func.func @main(%n: tensor<2xi32>, %w: tensor<?xf32>, %x: tensor<?xf32>) -> (tensor<?xi64>, tensor<?xf32>) {
  %0 = stablehlo.slice %n [1:2] : (tensor<2xi32>) -> tensor<1xi32>
  %1 = stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi32>) -> tensor<?xi64>
  %2 = stablehlo.add %w, %x : tensor<?xf32>
  return %1, %2 : tensor<?xi64>, tensor<?xf32>
}
"""


def counted(rng: np.random.Generator) -> Weighted:
    """Bound arrays fix a size by an element, and another by their shape."""
    return Weighted(
        compiled_text(_COUNTED), [np.array([3, 5], np.int32), _f32(rng, 9)], lambda n: [_f32(rng, 9 if n else 8)]
    )


PROGRAMS = {"mlp": mlp, "used twice": used_twice, "half": half, "counted": counted}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bound_programs_have_the_bits_of_python(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    run, weights, call = PROGRAMS[name](rng)
    bound = run.bind(*weights)
    bound.build(tmp_path, target="native")
    built = linked(run.executable.artifact, tmp_path)
    calls = [call(n) for n in SIZES]
    expected = [called(bound, one) for one in calls]
    for given, threads in ((tmp_path / "model.weights", 1), (weights, 2)):
        for answer, wanted in zip(built.calls(calls, threads=threads, weights=given), expected, strict=True):
            if isinstance(wanted, str):
                assert (answer.status, answer.message) == (SHAPE, wanted)
                continue
            assert (answer.status, answer.message) == (OK, "")
            for one, other in zip(answer.results, wanted, strict=True):
                assert_same_bits(one, other)


def called(run: Any, call: list[Any]) -> tuple[Any, ...] | str:
    """The results of Python, or the text of its error about sizes."""
    try:
        return run.executable(call)
    except shlo_disc.RuntimeShapeError as error:
        return str(error)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Weighted, Any]:
    """The folder of a package with a file of weights, its program, and that with bound arguments."""
    folder, weighted = tmp_path_factory.mktemp("served"), mlp(np.random.default_rng(8))
    bound = weighted.run.bind(*weighted.weights)
    bound.build(folder, target="native")
    return folder, weighted, bound


def test_the_file_has_packed_forms_in_place_of_arrays(served: tuple[Path, Weighted, Any]) -> None:
    """It is in the format of safetensors, as in saved programs."""
    folder, weighted, bound = served
    found = read_tensors((folder / "model.weights").read_bytes())
    saved = bound.executable.saved_binding
    assert set(found) == {f"argument.{k}" for k in saved.arrays} | {f"packed.{k}" for k in saved.packed}
    assert saved.packed
    assert not {0, 2} & saved.arrays.keys()
    model = Model(folder, weighted.run.executable.artifact, folder / "model.weights", check_weights=1)
    assert (model.status, model.message) == (OK, "")
    names = [one.name.encode() for one in weighted.run.executable.artifact.arguments]
    described = [model.tensor("weight", k) for k in range(3)]
    assert [one.name for one in described] == names[:3]
    assert [one.shape[: one.rank] for one in described] == [[16, 48], [48], [48, 16]]
    assert model.tensor("argument", 0).name == names[3]
    assert (model.functions.model_weight_count(), model.functions.model_argument_count()) == (3, 1)
    assert not model.functions.model_weight(3)
    model.close()


def test_given_weights_are_those_of_a_model(served: tuple[Path, Weighted, Any]) -> None:
    """Two models of one library have other weights; those of a call are none of its arguments."""
    folder, weighted, _ = served
    artifact, (x,) = weighted.run.executable.artifact, weighted.call(5)
    others = [2 * one for one in weighted.weights]
    for weights in (weighted.weights, others):
        model = Model(folder, artifact, weights)
        status, message, results = model.run([x])
        assert (status, message) == (OK, "")
        assert_same_bits(results[0], weighted.run.bind(*weights)(x))
        model.close()


def test_sanitizers_find_nothing_in_bound_programs(served: tuple[Path, Weighted, Any], tmp_path: Path) -> None:
    """Also where files are refused."""
    folder, weighted, bound = served
    run, path = weighted.run, folder / "model.weights"
    description = BoundProgram(bound.executable, run.executable, 3, ())
    weights = weights_of(description, run.executable.artifact, native(), shlo_disc.CompileOptions(optimize=0), "file")
    plain = linked(run.executable.artifact, folder)
    checked = sanitized(plain, run, weights)
    calls = [weighted.call(n) for n in SIZES]
    for given in (path, weighted.weights):
        assert_same_answers(checked.calls(calls, threads=2, weights=given), plain.calls(calls, weights=path))
    (tmp_path / "short").write_bytes(path.read_bytes()[:-1])
    for wrong in (tmp_path / "short", tmp_path / "none", tmp_path):
        assert [one.status for one in checked.calls(calls, weights=wrong)] == [FILE]


def test_models_share_the_pages_of_a_file(served: tuple[Path, Weighted, Any]) -> None:
    folder, weighted, _ = served
    model = Model(folder, weighted.run.executable.artifact, folder / "model.weights")
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("/model.weights")]
    assert [line.split()[1] for line in maps] == ["r--s"]
    model.close()
    assert "/model.weights" not in Path("/proc/self/maps").read_text()


def test_files_that_are_wrong(served: tuple[Path, Weighted, Any], tmp_path: Path) -> None:
    folder, weighted, _ = served
    data, path = (folder / "model.weights").read_bytes(), tmp_path / "w"
    header = int.from_bytes(data[:8], "little")
    other = tmp_path / "other"
    weighted.run.bind(*[2 * one for one in weighted.weights]).build(other, target="native")
    flipped = bytearray(data)
    flipped[-5] ^= 16
    size = len(data)
    damaged = {
        b"": f"0 bytes, expected {size}\n",
        data[:7]: f"7 bytes, expected {size}\n",
        data[:-1]: f"{size - 1} bytes, expected {size}\n",
        data + b"\0": f"{size + 1} bytes, expected {size}\n",
        b"\xff" * 8 + data[8:]: "other weights than",
        data[:8] + data[8:header].replace(b"F32", b"I32", 1) + data[header:]: "other weights than",
        (other / "model.weights").read_bytes(): "other weights than",
        bytes(flipped): "another CRC-32 than",
    }
    for bytes_, text in damaged.items():
        path.write_bytes(bytes_)
        model = Model(folder, weighted.run.executable.artifact, path, check_weights=1)
        assert (model.status, model.model.value) == (FILE, None)
        assert model.message.startswith(f"{path}: found {text}"), model.message
        assert "\n  help: take the file of weights that was written together with this library" in model.message
    assert Model(folder, weighted.run.executable.artifact, path).status == OK, "unread, the damage is not seen"
    path.unlink()
    for place, why in ((path, "No such file or directory"), (tmp_path, "Is a directory")):
        model = Model(folder, weighted.run.executable.artifact, place)
        assert (model.status, model.message) == (FILE, f"{place}: found no file of weights that can be mapped: {why}")


def test_weights_that_are_missing(served: tuple[Path, Weighted, Any], tmp_path: Path) -> None:
    folder, weighted, bound = served
    artifact = weighted.run.executable.artifact

    def refused(where: Path, given: Any, **options: Any) -> str:
        model = Model(where, artifact, given, **options)
        assert (model.status, model.model.value) == (ARGUMENT, None)
        return model.message

    assert refused(folder, None) == "found no weights, expected arrays of them, or the path of their file"
    both = refused(folder, weighted.weights, weights=str(folder / "model.weights").encode())
    assert both == "found a file of weights, and arrays of them, expected one of both"
    aside = np.zeros(4 * 48 + 4, np.uint8)[2:-2].view(np.float32)
    assert aside.ctypes.data % 4
    found = refused(folder, [weighted.weights[0], aside, weighted.weights[2]])
    assert found == "weight 1: found memory that is not aligned to its elements"
    assert refused(folder, weighted.weights, threads=-1) == "found a negative number of threads"
    assert refused(folder, weighted.weights, allocate=1) == "found one of allocate and release, expected both or none"
    bound.build(tmp_path, target="native", weights="given")
    assert not (tmp_path / "model.weights").exists()
    wanted = "found a file of weights, expected arrays: this library was built without a file"
    assert refused(tmp_path, folder / "model.weights") == wanted
    assert refused(tmp_path, None) == "found no weights, expected arrays of them"
    with pytest.raises(shlo_disc.ShloDiscError, match="found weights='none', expected 'file' or 'given'"):
        bound.build(tmp_path, weights="none")


def test_the_page_maps_a_file(served: tuple[Path, Weighted, Any], tmp_path: Path) -> None:
    folder, _, bound = served
    body = (ROOT / "docs" / "how-to" / "c.md").read_text().split("```c\n")[2].partition("```")[0]
    start = '#include <stdio.h>\n#include "model.h"\nint main(void) {\n'
    (tmp_path / "main.c").write_text(f'{start}{body}puts("fine");\nmodel_destroy(it);\nreturn 0;\n}}\n')
    (tmp_path / "package").symlink_to(folder)
    compile_c("gcc", *STRICT, "main.c", f"-I{folder}", f"-L{folder}", "-lmodel", "-o", "main", folder=tmp_path)
    assert output("./main", folder=tmp_path, LD_LIBRARY_PATH=str(folder)) == "fine\n"
    bound.build(tmp_path / "given", target="native", weights="given")
    example = ("example.c", "-I.", "-L.", "-lmodel", "-lm", "-lpthread", "-o", "example")
    compile_c("gcc", *STRICT, *example, folder=tmp_path / "given")
    found = output("./example", "2", "16", folder=tmp_path / "given", LD_LIBRARY_PATH=".")
    assert found.startswith("result 0 (2, 16): ")


def test_sizes_in_weights_are_those_of_the_library(tmp_path: Path) -> None:
    run, (sizes, w), _ = counted(np.random.default_rng(4))
    run.bind(sizes, w).build(tmp_path, target="native")
    model = Model(tmp_path, run.executable.artifact, [np.array([4, 5], np.int32), w])
    assert (model.status, model.model.value) == (OK, model.model.value), "element 0 is no size"
    model.close()
    model = Model(tmp_path, run.executable.artifact, [np.array([3, 6], np.int32), w])
    assert (model.status, model.model.value) == (SHAPE, None)
    name = run.executable.artifact.arguments[0].name
    assert model.message == f"{name}: found 6 as element 1, expected 5, a size for which this library was built"


def test_no_memory_for_weights_leaks_nothing(served: tuple[Path, Weighted, Any]) -> None:
    folder, weighted, _ = served
    built, call = linked(weighted.run.executable.artifact, folder), weighted.call(5)
    for weights, packed in ((folder / "model.weights", 0), (weighted.weights, 2)):
        statuses = [built.calls([call], allocations=n, weights=weights)[0].status for n in range(packed + 3)]
        # the model, packed forms if they are not in the file, and temporaries
        assert statuses == [MEMORY] * (packed + 2) + [OK]


def test_the_command_builds_saved_programs(
    served: tuple[Path, Weighted, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, weighted, _ = served
    weighted.run.bind(*weighted.weights).save(tmp_path / "saved.shlo")
    level = best_machine()
    assert level is not None
    folder, target = tmp_path / "out", ("--target", level.name)
    assert main(["build", str(tmp_path / "saved.shlo"), "--out", str(folder), *target]) == 0
    assert "model.weights (" in capsys.readouterr().out
    compile_c("gcc", *STRICT, "example.c", "-I.", "-L.", "-lmodel", "-lm", "-lpthread", "-o", "example", folder=folder)
    found = output("./example", "5", "16", folder=folder, LD_LIBRARY_PATH=".").split()
    x = (np.arange(80) % 7 * 0.25).astype(np.float32).reshape(5, 16)
    (wanted,) = shlo_disc.load(tmp_path / "saved.shlo").executable([x])
    assert found[:4] == ["result", "0", "(5,", "16):"]
    np.testing.assert_array_equal(np.array(found[4:-1], np.float32), wanted.ravel()[:8])


def test_a_size_that_a_weight_has(tmp_path: Path) -> None:
    """An argument of the same symbol as a bound one: the text is that of Python."""
    first, second = SAMPLE.arguments
    artifact = replace(SAMPLE, arguments=(first, replace(second, shape=("s",))), raw=((0, 0), (0, 1), (0, 1)))
    options = shlo_disc.CompileOptions(optimize=0)
    bound = build(artifact, options).bind({1: np.ones(3, np.float32)})
    weights = Weights(bound.bound, bound.saved_binding.known)  # type: ignore[attr-defined]
    for name, data in package_files(artifact, "model", options, native(), weights).items():
        (tmp_path / name).write_bytes(data)
    model, x = Model(tmp_path, artifact, [np.ones(3, np.float32)]), np.ones((2, 4), np.float32)
    with pytest.raises(shlo_disc.RuntimeShapeError) as error:
        bound([x])
    assert model.run([x]) == (SHAPE, str(error.value), [])
    assert "found size 4, expected 3, bound as the size s of args[1], dim 0" in str(error.value)
    status, message, results = model.run([x[:, :3].copy()])
    assert (status, message) == (OK, "")
    for one, other in zip(results, bound([x[:, :3].copy()]), strict=True):
        assert_same_bits(one, other)
    model.close()
