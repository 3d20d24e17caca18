"""Programs come as text, as files and as bytecode."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import export

import shlo_disc
from shlo_disc.diagnostics import ParseError, ShloDiscError
from shlo_disc.parse import bytecode, disassembler
from shlo_disc.parse.bytecode import read_program
from shlo_disc.pipeline import read_source

TEXT = "module {\n}\n"


def test_text_is_taken_as_it_is() -> None:
    assert read_program(TEXT) == (TEXT, "<string>")
    assert read_program(TEXT.encode()) == (TEXT, "<bytecode>")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    assert read_program(path) == (TEXT, str(path))
    assert read_program(str(path)) == (TEXT, str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShloDiscError, match=r"no\.mlir'.*No such file"):
        read_program(str(tmp_path / "no.mlir"))


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ShloDiscError, match="found other bytes"):
        read_program(b"\xff\xfe\x00")


def test_damaged_bytecode_is_refused() -> None:
    with pytest.raises(ShloDiscError, match="expected bytecode that jaxlib can read"):
        read_program(b"ML\xefRdamaged")


def test_bytecode_without_jaxlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    with pytest.raises(ShloDiscError, match=r"pip install 'shlo-disc\[jax\]'"):
        read_program(b"ML\xefRdamaged")


DAMAGED = sorted((Path(__file__).parent / "bytecode").glob("*.mlirbc"))  # they crash jaxlib 0.10


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.stem)
def test_bytecode_that_crashes_the_reader_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="expected bytecode that jaxlib can read") as caught:
        read_program(path)
    assert str(caught.value).startswith(f"{path}: error: ")
    with pytest.raises(ParseError, match=r"^<bytecode>: error: expected bytecode that jaxlib can read"):
        read_program(path.read_bytes())
    assert not list(tmp_path.glob("core*"))


CRASHES = {
    "aborts": ("import os; os.abort()", "it crashed .killed by SIGABRT"),
    "crashes": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it crashed .killed by SIGSEGV"),
    "hangs": ("import time; time.sleep(1000)", "it came to no end after 1 s"),
    "ends": ("import sys; sys.exit(7)", "it crashed .exit status 7"),
    "says why": ("import sys; sys.stderr.write('\\x1b[31mno'); sys.exit(3)", r"jaxlib can read: \\x1b\[31mno$"),
    "reads nothing": ("raise OSError('no')", "it crashed .exit status 1"),
}


@pytest.mark.parametrize("crash", CRASHES)
def test_what_a_reader_may_do(crash: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, message = CRASHES[crash]
    (tmp_path / "reader.py").write_text(text)
    monkeypatch.setattr(disassembler, "__file__", str(tmp_path / "reader.py"))
    monkeypatch.setattr(bytecode, "SECONDS", 1.0)
    with pytest.raises(ParseError, match=message):
        read_program(b"ML\xefR" + b"x" * 10**6)


def test_a_missing_python_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ShloDiscError, match=r"CompileOptions\(isolate_reader=False\)"):
        read_program(b"ML\xefRdamaged")
    with pytest.raises(ParseError, match="expected bytecode that jaxlib can read"):
        read_program(b"ML\xefRdamaged", isolate=False)


def test_only_what_comes_from_bytes_is_read_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = export.export(jax.jit(lambda x: x + 1))(jax.ShapeDtypeStruct((3,), jnp.float32))
    loaded = export.deserialize(made.serialize())
    apart = [read_source(each, "cpu", isolate=True)[0] for each in (made, loaded, made.mlir_module_serialized)]
    assert len(set(apart)) == 1

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(bytecode, "run", refuse)
    assert read_source(made, "cpu")[0] == apart[0]
    assert read_source(loaded, "cpu", isolate=False)[0] == apart[0]
    assert read_source(made.mlir_module_serialized, "cpu", isolate=False)[0] == apart[0]
    for each in (loaded, made.mlir_module_serialized):
        with pytest.raises(AssertionError, match="a process was started"):
            read_source(each, "cpu")


def test_damaged_exports_are_refused() -> None:
    made = export.export(jax.jit(lambda x: x + 1))(jax.ShapeDtypeStruct((3,), jnp.float32))
    damaged = replace(made, mlir_module_serialized=made.mlir_module_serialized[:100])
    for isolate in (None, True, False):
        with pytest.raises(ParseError, match="jaxlib can read"):
            shlo_disc.compile(damaged, options=shlo_disc.CompileOptions(isolate_reader=isolate))


NO_TEXT = {
    "empty": ("", "expected 'module' or 'func.func', found the end of the text"),
    "spaces": ("  ", "expected 'module' or 'func.func', found the end of the text"),
    "half a character": ("module { // \ud800\n}", r"expected Unicode characters, found the half U\+D800 of one"),
    "half an escaped byte": ('module attributes {a = "\udc80"} {\n}', r"found the half U\+DC80 of one"),
    "other bytes": (b"\xff\xfe\x00", "found other bytes"),
    "bytes within": (b'module attributes {a = "\xc3"} {\n}', "found other bytes"),
    "no bytes": (b"", "found the end of the text"),
}


@pytest.mark.parametrize("case", NO_TEXT)
def test_what_is_no_text(case: str) -> None:
    source, message = NO_TEXT[case]
    with pytest.raises(ParseError, match=message) as caught:
        shlo_disc.compile(source)
    assert ": error: " in str(caught.value)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000, "/", "\x1b[31m"])
def test_what_is_no_file(name: str) -> None:
    with pytest.raises(ShloDiscError, match="expected StableHLO text or the path of a file") as caught:
        shlo_disc.compile(name)
    assert str(caught.value).isprintable()


def test_a_mark_of_the_byte_order_is_no_text() -> None:
    assert read_program(b"\xef\xbb\xbf" + TEXT.encode())[0] == TEXT
