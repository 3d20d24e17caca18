# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""What cannot be a library for C is refused before anything is written; texts of users are no code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.c_package.example import example_text
from shlo_disc.c_package.refusals import refuse_device
from shlo_disc.c_package.spelling import c_string, check_package_name
from shlo_disc.c_package.tables import package_text
from shlo_disc.call_signature import Signature
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from tests.c_package.packages import STRICT, compile_c, compiled_function, compiled_text, package
from tests.pipeline.hostile_texts import MARK, payloads, program

PARTITIONS = """
func.func @main(%a: tensor<?xi32>) -> tensor<?xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}
"""


COPY = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }"


def refused(run: Any, folder: Path, *options: Any) -> str:
    with pytest.raises(shlo_disc.ShloDiscError) as error:
        run.build(folder / "package", *options)
    assert not list(folder.iterdir())
    return str(error.value)


def test_programs_in_partitions(tmp_path: Path) -> None:
    assert "found a program in partitions" in refused(compiled_text(PARTITIONS), tmp_path)


def test_what_python_computes(tmp_path: Path) -> None:
    run = compiled_function(jnp.fft.fft, "f32[n, 8]")
    assert "expected a program without Python" in refused(run, tmp_path)
    run = compiled_function(jnp.linalg.cholesky, "f32[n, 4, 4]")
    assert "found linear algebra" in refused(run, tmp_path)


@pytest.mark.parametrize("missing", ["objcopy", "ar"])
def test_machines_without_binutils(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, found = compiled_function(lambda x: x + 1, "f32[n]"), shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name.endswith(missing) else found(name))
    message = refused(run, tmp_path)
    assert message.startswith(f"found neither {missing} nor llvm-{missing}, expected one of them")


def test_other_families_need_zig_and_binutils_of_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shlo_disc.compile(COPY, device="cpu", options=CompileOptions(optimize=0, compiler="gcc"))
    message = refused(run, tmp_path, "model", "aarch64-linux")
    assert re.match(r"found the compiler gcc .*, expected zig: no other has the C library of aarch64\n", message)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    message = refused(compiled_text(COPY), tmp_path, "model", "aarch64-linux")
    assert message.startswith("found neither aarch64-linux-gnu-objcopy nor llvm-objcopy, expected one of them")


def test_weights_in_another_form(tmp_path: Path) -> None:
    """What is only kept packed for this CPU cannot be read by code for another family; callers can give it."""
    bound = compiled_function(lambda w, x: x @ w, "f32[64, 64], f32[n, 64]").bind(np.ones((64, 64), np.float32))
    message = refused(bound, tmp_path, "model", "aarch64")
    assert "found an array of which only the form that this CPU packs is kept" in message
    assert "weights='given'" in message


@pytest.mark.quick
def test_other_devices() -> None:
    refuse_device("cpu")
    with pytest.raises(shlo_disc.ShloDiscError, match="found a program for 'cuda', expected one for 'cpu'"):
        refuse_device("cuda")


@pytest.mark.quick
@pytest.mark.parametrize("name", ["", "Model", "9a", "a-b", "int", "class", "size_t", "a\n", "a;b", "é", "a" * 64, 7])
def test_names_that_are_none(name: Any) -> None:
    with pytest.raises(shlo_disc.ShloDiscError, match="for a package, expected lower-case letters"):
        check_package_name(name)


def test_arguments_of_build(tmp_path: Path) -> None:
    run = compiled_text(COPY)
    assert "expected lower-case" in refused(run, tmp_path, "no name")
    assert "found the machine 'z80'" in refused(run, tmp_path, "name", "z80")


@pytest.mark.quick
def test_strings_are_literals() -> None:
    assert c_string('a"b\\c??/\n\0é') == r'"a\042b\134c\077\077/\012\134x00\303\251"'
    assert c_string("\ud800") == r'"\134ud800"'


def test_hostile_texts_are_no_code() -> None:
    """In the tables and in the example a user's text is within literals, which end on their line."""
    for payload in PAYLOADS:
        names = (f"args[0]['{payload}']", payload)
        request = Request("cpu", CompileOptions(), Signature(None, None, names, (0, 1), 0, is_flat=False), Hints())
        artifact = compile_text(hostile(payload), payload, request, Stopwatch())
        tables, example = package_text(artifact, "model"), example_text(artifact, "model")
        assert MARK in tables
        for text in (tables, example):
            assert set(text) <= set(map(chr, range(32, 127))) | {"\n"}
            assert MARK not in "".join(part for line in text.splitlines() for part in line.split('"')[::2])


def test_hostile_texts_are_in_messages(tmp_path: Path) -> None:
    run = compiled_text(hostile("".join(PAYLOADS)))
    built = package(run, tmp_path)
    compile_c("gcc", *STRICT, "example.c", "-I.", "-L.", "-lmodel", "-lm", "-lpthread", folder=tmp_path)
    call = [np.zeros((2, 3), np.float32), np.zeros(4, np.float32)]
    with pytest.raises(shlo_disc.RuntimeShapeError) as error:
        run.executable(call)
    (answer,) = built.calls([call])
    assert MARK in answer.message
    assert answer.message == str(error.value)


PAYLOADS = tuple(payloads("{ syntax error }").values())
CALLED, _ALL = "%e = stablehlo.tanh %d : tensor<?x?xf32>", re.DOTALL | re.MULTILINE


def hostile(payload: str) -> str:
    """The hostile program, without its custom call, which Python would compute."""
    text = program(lambda _: payload)
    found, count = re.subn(r"%e = stablehlo\.custom_call.*?: \(tensor.*?$", CALLED, text, flags=_ALL)
    assert count == 1
    return found
