"""A program may come as an export, text, a path, bytecode or a module; nothing else."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from tests.api.programs import counted, dims, exported, spec

B, S = dims("b, s")
X = counted(2, 3)


@pytest.fixture(scope="module")
def doubled() -> Any:
    """An export of x * 2."""
    return exported(lambda x: x * 2, spec(B, S))


@pytest.mark.parametrize("form", ["text", "module", "str path", "path", "bytecode", "bytearray", "bytecode path"])
def test_all_forms_of_a_program_do_the_same(form: str, doubled: Any, tmp_path: Path) -> None:
    text, code = doubled.mlir_module(), doubled.mlir_module_serialized
    file, binary = tmp_path / "program.mlir", tmp_path / "program.mlirbc"
    file.write_text(text)
    binary.write_bytes(code)
    forms = {
        "text": text,
        "module": shlo_disc.parse(text),
        "str path": str(file),
        "path": file,
        "bytecode": code,
        "bytearray": bytearray(code),
        "bytecode path": binary,
    }
    run = shlo_disc.compile(forms[form])
    result = run(X)
    assert isinstance(result, tuple)
    np.testing.assert_array_equal(result[0], X * 2)


@pytest.mark.parametrize("form", ["bytes", "bytearray", "memoryview", "str path", "path"])
def test_a_serialized_export_is_called_like_its_function(form: str, tmp_path: Path) -> None:
    (b,) = dims("b")
    program = exported(lambda p, *, x: {"y": p["w"] * x}, {"w": spec(b)}, x=spec(b))
    data, file = bytes(program.serialize()), tmp_path / "program.bin"
    file.write_bytes(data)
    forms: dict[str, Any] = {
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "str path": str(file),
        "path": file,
    }
    run = shlo_disc.compile(forms[form])
    for size in (1, 2, 7, 8):
        x = counted(size)
        np.testing.assert_array_equal(run({"w": x + 1}, x=x)["y"], (x + 1) * x)


def test_a_damaged_serialized_export_is_refused(doubled: Any, tmp_path: Path) -> None:
    data = bytes(doubled.serialize())
    start = data.index(b"ML\xefR")
    damaged = data[: start + 4] + bytes(byte ^ 0xFF for byte in data[start + 4 : start + 400]) + data[start + 400 :]
    for cut in (data[4 : start + 40], data[start - 40 :], damaged):
        with pytest.raises(shlo_disc.ShloDiscError) as caught:
            shlo_disc.compile(cut)
        assert not isinstance(caught.value, shlo_disc.InternalError)
    path = tmp_path / "program.bin"
    path.write_bytes(data[4 : start + 40])
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(path)
    assert str(caught.value).startswith(f"{path}: expected a serialized jax.export.Exported, found other bytes (")


def test_a_serialized_export_without_flatbuffers_says_what_to_install(
    doubled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(doubled.serialize())
    monkeypatch.delitem(sys.modules, "jax._src.export.serialization")
    monkeypatch.setitem(sys.modules, "flatbuffers", None)
    with pytest.raises(shlo_disc.ShloDiscError, match=r"with flatbuffers, .*: pip install 'shlo-disc\[jax\]'$"):
        shlo_disc.compile(data)


def test_another_module_that_is_missing_is_not_called_flatbuffers(
    doubled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(doubled.serialize())
    monkeypatch.delitem(sys.modules, "jax._src.export.serialization")
    monkeypatch.delattr("jax._src.export.serialization_generated")
    monkeypatch.setitem(sys.modules, "jax._src.export.serialization_generated", None)
    with pytest.raises(shlo_disc.ShloDiscError, match=r"read by JAX, which fails: .*serialization_generated"):
        shlo_disc.compile(data)


@pytest.mark.parametrize(
    "rubbish",
    [None, 3, ["module {}"]],
    ids=["none", "number", "list"],
)
def test_other_types_are_refused(rubbish: Any) -> None:
    with pytest.raises(shlo_disc.ArgumentTypeError) as caught:
        shlo_disc.compile(rubbish)
    assert str(caught.value) == (
        f"found a program of type {type(rubbish).__name__}, "
        "expected a jax.export.Exported, StableHLO text, a path to it, or MLIR bytecode\n"
        "  help: export a JAX function first: jax.export.export(jax.jit(function))(*specs)"
    )


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "nowhere.mlir",
            "expected StableHLO text or the path of a file with it, found 'nowhere.mlir': No such file or directory",
        ),
        (
            b"\xff\xfe",
            "<bytecode>: error: expected StableHLO text or MLIR bytecode, "
            "found other bytes (invalid start byte, number 0)",
        ),
    ],
)
def test_what_holds_no_program_is_refused(program: str | bytes, message: str) -> None:
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(program)
    assert str(caught.value) == message


def two_ways(x: jax.Array) -> jax.Array:
    ways = {name: partial(jnp.add, n) for n, name in enumerate(("cuda", "cpu", "tpu"), start=1)}
    return jax.lax.platform_dependent(x, **ways)


@pytest.mark.parametrize(
    ("platforms", "added"),
    [(("cuda", "cpu"), 2), (("cpu", "tpu", "cuda"), 2), (("cuda", "tpu"), 1), (("cuda",), 1), (("cpu",), 2)],
)
def test_the_platform_is_chosen_for_the_user(platforms: tuple[str, ...], added: int) -> None:
    run = shlo_disc.compile(exported(two_ways, spec(B), platforms=platforms))
    assert [one.name for one in run.executable.artifact.arguments] == ["args[0]"]
    np.testing.assert_array_equal(run(X[0]), X[0] + added)


def test_the_branch_of_another_platform_may_hold_what_only_that_one_has() -> None:
    def solve(x: jax.Array) -> jax.Array:
        return jax.lax.platform_dependent(x, cuda=jnp.linalg.cholesky, cpu=lambda x: x + 1)

    run = shlo_disc.compile(exported(solve, spec(2, 2), platforms=("cuda", "cpu")))
    np.testing.assert_array_equal(run(counted(2, 2)), counted(2, 2) + 1)


def test_a_custom_call_of_another_platform_is_refused_if_its_meaning_is_unknown() -> None:
    run = shlo_disc.compile(exported(jnp.linalg.cholesky, spec(2, 2), platforms=("cuda",)))  # by cuSOLVER's potrf
    np.testing.assert_array_equal(run(np.diag(np.array([4, 9], np.float32))), np.diag([2, 3]))
    known = jax.export.DisabledSafetyCheck.custom_call("cu_cholesky_update_ffi")
    update = jax.export.export(jax.jit(jax.lax.linalg.cholesky_update), platforms=("cuda",), disabled_checks=(known,))(
        spec(2, 2), spec(2)
    )
    unknown = update.mlir_module().replace("cu_cholesky_update_ffi", "cu_cholesky_downdate_ffi")
    with pytest.raises(shlo_disc.UnsupportedOpError, match="not supported for the target @cu_cholesky_downdate_ffi"):
        shlo_disc.compile(unknown)


def test_an_export_for_several_devices_is_refused(doubled: Any) -> None:
    class Exported:  # as JAX's; more devices than one cannot be had within a running process
        nr_devices = 8
        mlir_module = doubled.mlir_module

    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(Exported())
    assert str(caught.value) == "found an export for 8 devices, expected one for a single device"


@pytest.mark.parametrize(
    ("device", "options", "message"),
    [
        ("tpu", {}, "found device 'tpu', expected 'cpu' or 'cuda'"),
        (None, {"driver": "rust"}, "found driver 'rust', expected 'c' or 'vm'"),
        (None, {"fusion": "some"}, "found fusion 'some', expected 'none' or 'full'"),
        (None, {"matmul_precision": "low"}, "found matmul_precision 'low', expected 'default' or 'highest'"),
        (None, {"optimize": 7}, "found optimize 7, expected 0 or 1 or 2 or 3"),
        (None, {"threads": 0}, "found threads 0, expected None or at least 1"),
        (None, {"threads": 1.5}, "found threads = 1.5, expected a whole number"),
        (None, {"schedules": "{}"}, "found schedules of type str, expected what tune or parse_schedules returns"),
    ],
)
def test_choices_that_do_not_exist_are_refused(
    doubled: Any, device: str | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(doubled, device=device, options=shlo_disc.CompileOptions(**options))
    assert str(caught.value) == message


def test_a_missing_compiler_is_named(doubled: Any) -> None:
    with pytest.raises(shlo_disc.ToolchainError) as caught:
        shlo_disc.compile(doubled, options=shlo_disc.CompileOptions(compiler="/no/such/c++"))
    assert str(caught.value) == (
        "no C++ compiler '/no/such/c++': expected a path, or clang, gcc or zig if installed\n"
        "  help: install /no/such/c++, or take the best one there is: CompileOptions(compiler=None)"
    )


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"donate": 0}, "found donate = 0, expected several whole numbers such as [1, 8]"),
        ({"donate": "0"}, "found donate = '0', expected numbers of flat arguments such as [0, 2], or 'marked'"),
        ({"likely": {"b": 8}}, "found likely b = 8, expected several whole numbers such as [1, 8]"),
        ({"likely": {"b": [0.5]}}, "found a value of likely b = 0.5, expected a whole number"),
        ({"constraints": "b <= 8"}, "found constraints 'b <= 8', expected several such as ['b <= 8']"),
    ],
)
def test_a_lone_value_for_several_is_refused(doubled: Any, known: dict[str, Any], message: str) -> None:
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(doubled, **known)
    assert str(caught.value) == message
