# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Packages for ARM give under qemu what programs give here, up to the last places of floats."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.c_package.build import package_files
from shlo_disc.c_package.weights import WeightSource
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.runtime.building import elf
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.schedules import scheduling_for
from shlo_disc.targets import target_named
from tests.c_package.foreign import ARM, EMULATOR, arm_package, assert_near, link_for_arm, linked_for_arm, require_arm
from tests.c_package.op_samples import artifact_of
from tests.c_package.packages import OK, compiled_function
from tests.c_package.programs import PROGRAMS
from tests.dynamic_ops.facets import agree, by_reference
from tests.dynamic_ops.samples import SAMPLES
from tests.dynamic_ops.sampling import Sample
from tests.models.recorded import MODELS, RECORDED, assert_close, load
from tests.nearness import product
from tests.pipeline.every_op import accepted, main
from tests.pipeline.exports import OPTIMIZED, check, special

SIZES = (0, 1, 2, 3, 7, 8, 13, 15, 16, 17, 31, 32, 33, 64, 65, 101, 127, 128, 129)


@pytest.fixture(autouse=True)
def _arm() -> None:
    require_arm()


def test_sums_of_products_have_the_bits_of_numpy_on_arm(tmp_path: Path) -> None:
    """LLVM contracts on ARM whatever it is allowed to (`-ffp-contract` of compiler.py)."""
    run = shlo_disc.compile(_sums_of_products, shapes="f32[n], f32[n], f32[n]", device="cpu", options=OPTIMIZED)
    made = arm_package(run, tmp_path)
    library = (tmp_path / "libmodel.so").read_bytes()
    assert library[18:20] == b"\xb7\x00"  # AArch64
    assert elf.fault(library, elf.SHARED, ("model_create", "model_run")) is None
    rng = np.random.default_rng(3)
    calls = [[special(rng, (n,), np.dtype(np.float32)) for _ in range(3)] for n in SIZES[1:]]
    calls += [[rng.standard_normal(n).astype(np.float32) for _ in range(3)] for n in SIZES[1:]]
    for answer, (a, b, c) in zip(made.calls(calls, threads=2), calls, strict=True):
        assert answer.status == OK
        with np.errstate(invalid="ignore"):
            wanted = (a * b + c, a * a - b * b, c - a * b)
        for found, expected in zip(answer.results, wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


def _sums_of_products(a: Any, b: Any, c: Any) -> Any:
    return a * b + c, a * a - b * b, c - a * b


@pytest.mark.slow
def test_the_static_library_for_arm_runs(tmp_path: Path) -> None:
    compiled_function(lambda x: (x * 2, x.sum(0)), "f32[n, 3]").build(tmp_path, target="aarch64")
    link_for_arm(tmp_path, "example", "libmodel.a", tmp_path / "example.c")
    done = subprocess.run([*EMULATOR, "./example", "5"], cwd=tmp_path, capture_output=True, check=False)
    assert done.stdout.splitlines()[1] == b"result 1 (3): 4 3.5 3", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_arm(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    run = shlo_disc.compile(program.function, shapes=program.shapes, device="cpu", options=OPTIMIZED)
    made = arm_package(run, tmp_path)
    rng = np.random.default_rng(7)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in SIZES[1:]]
    answers = [made.calls(calls, threads=threads) for threads in (1, 2)]
    for number, call in enumerate(calls):
        one, two = (answer[number].results for answer in answers)
        assert [x.tobytes() for x in one] == [x.tobytes() for x in two], "the number of threads changes no bits"
        check(one, run.executable(call), f"{name}, {[x.shape for x in call]}", 1.0, 1.0)


@pytest.mark.slow
def test_bound_programs_on_arm(tmp_path: Path) -> None:
    """With weights that the caller gives, and with a file of those that are not kept packed for this CPU."""
    rng = np.random.default_rng(9)
    sources: dict[WeightSource, int] = {"given": 48, "file": 5}  # operands of so few columns are not packed
    for name, width in sources.items():
        weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((16, width), (width,))]
        run = shlo_disc.compile(
            lambda w, b, x: jnp.tanh(x @ w + b), shapes=f"f32[16, {width}], f32[{width}], f32[n, 16]", device="cpu",
            options=OPTIMIZED,
        )  # fmt: skip
        bound, folder = run.bind(*weights), tmp_path / name
        bound.build(folder, target="aarch64", weights=name)
        made = linked_for_arm(run.executable.artifact, folder)
        calls = [[rng.standard_normal((n, 16)).astype(np.float32)] for n in SIZES[1:]]
        given = weights if name == "given" else folder / "model.weights"
        for answer, call in zip(made.calls(calls, threads=2, weights=given), calls, strict=True):
            assert (answer.status, answer.message) == (OK, "")
            check(answer.results, bound.executable(call), f"{name}, {call[0].shape}", 1.0, 1.0)


@pytest.mark.slow
def test_ops_without_element_rules_on_arm(tmp_path: Path) -> None:
    """Sorts, scatters and scans, of which there are no samples; sums of integers have no order."""
    run = shlo_disc.compile(_ops_of_templates, shapes="f32[n], i32[n], f32[n, 6]", device="cpu", options=OPTIMIZED)
    made = arm_package(run, tmp_path)
    rng = np.random.default_rng(4)
    calls = [
        [special(rng, (n,), np.dtype(np.float32)), rng.integers(-n, n, n).astype(np.int32), _drawn(rng, (n, 6), _F32)]
        for n in SIZES[4:]
    ]
    for answer, call in zip(made.calls(calls, threads=2), calls, strict=True):
        assert answer.status == OK
        for number, (found, here) in enumerate(zip(answer.results, run.executable(call), strict=True)):
            assert_near(found, np.asarray(here), f"result {number} of {call[0].shape}")


_F32 = np.dtype(np.float32)


def _ops_of_templates(x: Any, i: Any, y: Any) -> Any:
    pooled = jax.grad(lambda y: lax.reduce_window(y, -jnp.inf, lax.max, (3, 2), (2, 2), "VALID").sum())(y)
    sorted_ = lax.sort((i, x), num_keys=2)
    return sorted_, lax.top_k(y, 3), i.at[i].add(i), x.at[i].max(x[::-1]), pooled, jnp.cumsum(i), lax.cummax(x)


_DOT = "tensor<?x?x{0}>, tensor<?x?x{0}>) -> tensor<?x?x{1}>"


@pytest.mark.slow
@pytest.mark.parametrize(("operand", "result"), [
    ("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("bf16", "bf16"), ("i8", "i32"), ("i16", "i32"), ("i32", "i32"),
])  # fmt: skip
def test_products_on_arm(operand: str, result: str, tmp_path: Path) -> None:
    types = _DOT.format(operand, result)
    text = (
        f"func.func @main(%a: tensor<?x?x{operand}>, %b: tensor<?x?x{operand}>) -> tensor<?x?x{result}> {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({types}\n"
        f"  return %0 : tensor<?x?x{result}>\n}}"
    )
    made = arm_package(shlo_disc.compile(text, device="cpu", options=OPTIMIZED), tmp_path)
    rng, dtype = np.random.default_rng(5), np.dtype(numpy_dtype(DType(operand)))
    sizes = [(m, k, n) for m in (0, 1, 3, 17) for k in (0, 1, 33) for n in (0, 1, 16, 65)]
    sizes += [(64, 127, 31), (100, 300, 70), (7, 1025, 129), (193, 5, 258)]
    calls = [[_drawn(rng, shape, dtype) for shape in ((m, k), (k, n))] for m, k, n in sizes]
    for answer, (a, b), size in zip(made.calls(calls, threads=2), calls, sizes, strict=True):
        assert answer.status == OK
        product(a, b).check(answer.results[0], f"{operand}, {size}")


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind == "i":
        low, high = (-128, 128) if dtype.itemsize == 1 else (-3000, 3000)
        return rng.integers(low, high, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [
    DType.I1, DType.I4, DType.I8, DType.UI16, DType.I64, DType.F4E2M1FN, DType.F8E4M3FN, DType.BF16, DType.F16,
    DType.F32, DType.F64, DType.C64, DType.C128,
])  # fmt: skip
def test_elementwise_ops_on_arm(dtype: DType, tmp_path: Path) -> None:
    """Also at any place: the results of the first elements are the same, to the last bit, however many follow."""
    ops = [op.replace("tensor<3x", "tensor<?x") for op in accepted(dtype) if "%c" not in op and "_window" not in op]
    constant, text = "  %c = ", main(dtype, ops, "?x")
    text = "\n".join(line for line in text.splitlines() if not line.startswith(constant))
    run = shlo_disc.compile(text, device="cpu", options=OPTIMIZED)
    made = arm_package(run, tmp_path)
    rng = np.random.default_rng(1)
    whole = [_with_special(rng, SIZES[-1], np.dtype(numpy_dtype(dtype))) for _ in range(2)]
    calls = [[x[:n] for x in whole] for n in SIZES]
    answers = [answer.results for answer in made.calls(calls)]
    for call, answer in zip(calls, answers, strict=True):
        for op, found, last, here in zip(ops, answer, answers[-1], run.executable(call), strict=True):
            what = f"{op[:60]} of {call[0].shape}"
            units, least = _room(op) if dtype.is_complex else (4, 0)
            assert_near(found, np.asarray(here), what, units, least)
            if found.shape:
                assert_near(found, last[: len(found)], f"{what}, in place", 0)


def _room(op: str) -> tuple[float, float]:
    """The room for an op of complex numbers: the C library computes some powers, and atan2 is a logarithm near 1."""
    return (1e5, 0) if "power" in op else (4, 1) if "atan2" in op else (4, 0)


_SPECIAL = (0.0, -0.0, 1.0, -1.0, 3.5, np.nan, np.inf, -np.inf, 1e-40, 1e30, -1e30, 88.0, -104.0, 709.0, -745.0)


def _with_special(rng: np.random.Generator, count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers of which a half is special ones: also those at which functions change their formula."""
    if dtype.kind in "biu" or dtype.name.startswith(("int", "uint")):
        return (
            rng.integers(0, 256, (count, dtype.itemsize), dtype=np.uint8)
            .view(np.int8)
            .astype(np.int64)[:, 0]
            .astype(dtype)
        )
    parts = [
        np.where(rng.random(count) < 0.5, rng.choice(_SPECIAL, count), rng.standard_normal(count) * 3) for _ in "ri"
    ]
    with np.errstate(all="ignore"):
        return (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)


@pytest.mark.slow
def test_samples_of_every_op_on_arm(tmp_path: Path) -> None:
    """An element is what the reference says, or what it is here: that differs at some infinities."""
    known = target_named("cpu").scheduling(OPTIMIZED, "")
    for start in range(0, len(SAMPLES), 150):
        samples, folder = SAMPLES[start : start + 150], tmp_path / str(start)
        folder.mkdir()
        artifact = artifact_of(samples, scheduling_for(ARM, known))
        for name, data in package_files(artifact, "model", OPTIMIZED, ARM).items():
            (folder / name).write_bytes(data)
        call = [np.asarray(x) for sample in samples for x in sample.inputs]
        (answer,) = linked_for_arm(artifact, folder).calls([call])
        here = build(artifact_of(samples, known), OPTIMIZED)(call)
        results = iter(zip(answer.results, map(np.asarray, here), strict=True))
        for sample in samples:
            for wanted, (found, other) in zip(by_reference(sample), results, strict=False):
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), sample
                _check_sample(sample, found, wanted, other)
        assert next(results, None) is None


def _check_sample(sample: Sample, found: Any, wanted: Any, here: Any) -> None:
    for at in np.ndindex(wanted.shape):
        right = agree(found[at], wanted[at], sample.op) or agree(found[at], here[at], sample.op)
        assert right, (sample, at, found[at], wanted[at], here[at])


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models_on_arm(name: str, corpus: Path, tmp_path: Path) -> None:
    model = load(corpus / "models" / name)
    run = shlo_disc.compile(model.text, device="cpu")
    made = arm_package(run, tmp_path)
    calls = [*(model.inputs(case) for case in range(RECORDED)), *(model.random_inputs(seed) for seed in range(3))]
    wanted = [*(model.outputs(case) for case in range(RECORDED)), *(list(run(*call)) for call in calls[RECORDED:])]
    for number, answer in enumerate(made.calls(calls, threads=2)):
        assert answer.status == OK
        assert_close(tuple(answer.results), wanted[number], f"{name}, call {number}")
