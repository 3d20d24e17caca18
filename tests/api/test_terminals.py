"""Text of users' reaches terminals with its control characters escaped, and carets stay below what they mark."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.cli.main import main
from shlo_disc.diagnostics import ShloDiscError, Source, Span
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.report.page import write_page
from tests.pipeline.hostile_texts import BREAKS, MARK, payloads, program, quoted

UNSEEN = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
STRANGE = ("\x1b[31m", "\x1b]0;title\x07", "\r", "\x7f", "\x9b2J", "\u202e", "\u2066", "\u2028", "\x08\x08", "\ufeff")
strange = pytest.mark.parametrize("strange", STRANGE, ids=ascii)


def same(x: Any, **_: object) -> Any:
    return x


def is_plain(text: str) -> bool:
    return not UNSEEN.search(text)


ERRORS = {
    "name of an op": 'func.func @main() {{ "stablehlo.{0}"() : () -> () }}',
    "symbol": 'func.func @"{0}"() {{ %0 = stablehlo.constant dense<1> : tensor<2xi64> ',
    "a character": "func.func @main() {{ {0}",
    "a string": 'module attributes {{a = "{0}}} {{',
    "a comment": "func.func @main() {{ %0 = // {0}\n",
    "a call": 'func.func @main() {{ %0 = stablehlo.custom_call @"unknown{0}"() : () -> tensor<i32> return }}',
    "behind the error": 'func.func @main() {{ %0 = stablehlo.foo "{0}" }}',
}


@strange
@pytest.mark.parametrize("case", ERRORS)
def test_errors_of_programs(case: str, strange: str) -> None:
    text = ERRORS[case].format(strange)
    with pytest.raises(ShloDiscError) as caught:
        compile_text(text, f"model{strange}.mlir", Request(), Stopwatch())
    assert is_plain(str(caught.value))
    escaped = ERRORS[case].format("".join([f"\\{byte:02X}" for byte in strange.encode()]))
    with pytest.raises(ShloDiscError) as caught:
        compile_text(escaped, "model.mlir", Request(), Stopwatch())
    assert is_plain(str(caught.value))


@strange
def test_errors_of_calls(strange: str) -> None:
    text = program(lambda place: strange if place in {"message", "location", "argument"} else "plain")
    shlo_disc.register_custom_call("plain", same)
    run = shlo_disc.compile(text, options=shlo_disc.CompileOptions(optimize=0))
    with pytest.raises(shlo_disc.RuntimeShapeError) as caught:
        run(np.ones((2, 3), np.float32), np.ones(4, np.float32))
    assert is_plain(str(caught.value))
    assert is_plain(run.explain())


@strange
def test_notes_on_errors_of_functions(strange: str) -> None:
    def fails(x: Any, **_: object) -> Any:
        raise ValueError(x.shape)

    shlo_disc.register_custom_call(strange, fails)
    text = f"""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = stablehlo.custom_call @{quoted(strange)}(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32> }}"""
    run = shlo_disc.compile(text, options=shlo_disc.CompileOptions(optimize=0))
    with pytest.raises(ValueError, match="2") as caught:
        run(np.ones(2, np.float32))
    assert all(map(is_plain, caught.value.__notes__))


@strange
@pytest.mark.parametrize("command", ["verify", "ops", "print"])
@pytest.mark.parametrize("text", ERRORS.values(), ids=ERRORS)
def test_the_command_line(command: str, text: str, strange: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{strange}.mlir"
    path.write_text(text.format(strange))
    with pytest.MonkeyPatch.context() as patch:
        shown = io.StringIO()
        patch.setattr(sys, "stdout", shown)
        patch.setattr(sys, "stderr", shown)
        main([command, str(path)])
    assert is_plain(shown.getvalue())


LINES = (
    "\tfoo \x1b[31m {} here\t x",
    "\u4f60\u597d\x9b {}",
    "e\u0301\t\u202e {} \r",
    "{}",
    "\U0001f600 {} \U0001f600",
)


def columns(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "FW" else 1 for c in text)


@pytest.mark.parametrize("word", ["word", "\u597d\u597d", "a\x1b[2Kb", "x\ty"])
@pytest.mark.parametrize("line", LINES)
def test_carets_stay_below_what_they_mark(line: str, word: str) -> None:
    text = "first\n" + line.format(word) + "\nlast"
    start = text.index(word)
    shown, carets = Span(Source("m.mlir", text), start, start + len(word)).excerpt().split("\n")
    seen = word.replace("\x1b", "\\x1b").replace("\t", " ")
    assert is_plain(shown)
    assert columns(carets.rstrip("^")) == columns(shown[: shown.index(seen)])
    assert carets.count("^") == columns(seen)


class Scripts(HTMLParser):
    """Counts the elements of a page, and keeps what is in scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found = list[str]()
        self.scripts = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        assert not any(MARK in f"{name}{value}" for name, value in attrs)

    def handle_data(self, data: str) -> None:
        if self.found[-1:] == ["script"]:
            self.scripts.append(data)


@pytest.mark.parametrize("kind", BREAKS)
def test_reports(kind: str, tmp_path: Path) -> None:
    payload = payloads("<script>alert(1)</script><!--")[kind]
    shlo_disc.register_custom_call(payload, same)
    shlo_disc.register_custom_call("plain", same)
    pages = list[Scripts]()
    for wrong in (payload, "plain"):
        text = program(lambda _, wrong=wrong: wrong)
        write_page(compile_text(text, wrong, Request(), Stopwatch()), tmp_path / "r")
        pages.append(Scripts())
        pages[-1].feed((tmp_path / "r").read_text(encoding="utf-8"))
    hostile, plain = pages
    assert hostile.found == plain.found
    assert len(hostile.scripts) == len(plain.scripts)


def test_names_that_are_no_text_are_written_to_reports(tmp_path: Path) -> None:
    text = """module @"model\\FF" {
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> } }"""
    write_page(compile_text(text, "model\udc80.mlir", Request(), Stopwatch()), tmp_path / "r")
    assert "<title>model\\udcff" in (tmp_path / "r").read_text(encoding="utf-8")
