"""No text of a user's becomes code: hostile texts at every place of a program, on both targets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc import custom_calls
from shlo_disc.artifact import Artifact
from shlo_disc.bytecode.listing import host_text
from shlo_disc.call_signature import Signature
from shlo_disc.expr.symbol_names import is_symbol_name
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.pipeline import Request, Stopwatch, compile_for, compile_text
from shlo_disc.report.text import explain
from shlo_disc.runtime.cpu.backend import CpuBackend
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.size_expr import symbols_of
from tests.emulator.device import EmulatedDevice
from tests.pipeline.hostile_texts import MARK, POSITIONS, payloads, program

pytestmark = pytest.mark.slow

DEVICES: tuple[str, ...] = ("cpu", "cuda")
PAYLOADS = payloads("{ syntax error }")
_COMMENT = re.compile(r"//[^\n\r]*")
_TEXTUAL = {"file", "function", "argument of the export", "number of a value"}  # not in the module's own text


def doubled(x: Any, **_: object) -> Any:
    return x * 2


@pytest.fixture(autouse=True)
def own_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register for every target that a test names."""
    monkeypatch.setattr(custom_calls, "_hooks", {})
    for target in ("plain", *PAYLOADS.values()):
        for device in DEVICES:
            shlo_disc.register_custom_call(target, doubled, device=device)


def request_of(device: str, names: tuple[str, ...]) -> Request:
    signature = Signature(None, None, names, tuple(range(len(names))), 0, is_flat=False)
    return Request(device, CompileOptions(), signature, Hints())


def generated(position: str, payload: str, device: str) -> Artifact:
    """A program in which one text is hostile."""

    def wrong(place: str) -> str:
        return payload if place == position else "plain"

    names = (f"args[0]['{wrong('argument of the export')}']", "args[1]")
    return compile_text(program(wrong), wrong("file"), request_of(device, names), Stopwatch())


def check_source(artifact: Artifact) -> None:
    """Hold generated source against what it may hold: a text of the user's in comments alone, and on one line."""
    for file in (artifact.host, *artifact.kernels):
        assert file.text.isascii()
        assert set(file.text) <= set(map(chr, range(32, 127))) | {"\n"}
        assert not re.search(r"//[^\n]*(\\|\?\?/)\s*\n", file.text), "a comment goes on on the next line"
        assert MARK not in _COMMENT.sub("", file.text)
    assert all(line.isprintable() for line in host_text(artifact).splitlines()), "a listing is for terminals"
    for name in (*artifact.symbols, *symbols_of(*artifact.definitions, artifact.arena_bytes, *artifact.raw_sizes)):
        assert MARK not in name or is_symbol_name(name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("position", POSITIONS)
def test_hostile_texts_are_no_code(position: str, device: str) -> None:
    for payload in PAYLOADS.values():
        artifact = generated(position, payload, device)
        check_source(artifact)
        assert not re.search(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", explain(artifact))


CREATES = '{ extern int creat(const char*, unsigned) asm("creat"); creat("created", 0600); }'


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", PAYLOADS)
def test_hostile_programs_compile_and_run(
    kind: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hostile texts at all places at once, a program computes what it says, and nothing else."""
    monkeypatch.chdir(tmp_path)
    payload = payloads(CREATES)[kind]
    for target in DEVICES:
        shlo_disc.register_custom_call(payload, doubled, device=target)
    text = program(lambda _: payload)
    options = CompileOptions(optimize=0, threads=1, cache_dir=tmp_path / "cache")
    path = tmp_path / payload.replace("/", "_").replace("\0", "_")
    path.write_text(text)
    run = compile_for(CudaBackend(EmulatedDevice()) if device == "cuda" else CpuBackend(), path, options)
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((3, 5), np.float32), rng.standard_normal(5, np.float32)
    found, most = map(np.asarray, run(a, b))
    wanted = 2 * (a + b)
    np.testing.assert_allclose(most, np.broadcast_to(wanted.max(1, keepdims=True), (3, 5)), rtol=1e-6)
    np.testing.assert_allclose(found, wanted - np.tanh(most), rtol=1e-5, atol=1e-6)
    with pytest.raises(shlo_disc.RuntimeShapeError):
        run(a, b[:4])
    assert not Path("created").exists()
    check_source(run.executable.artifact)


PAIRS = {
    "functions of formulas": ("max", "floordiv"),
    "an underscore more": ("s", "s_"),
    "marks": ("e\N{COMBINING DOT BELOW}", "e\N{COMBINING CEDILLA}"),
    "letters": ("\N{GREEK SMALL LETTER BETA}", "\N{GREEK SMALL LETTER GAMMA}"),
    "alike": ("\N{LATIN SMALL LIGATURE FI}", "fi"),
    "hidden": ("__debug__", "__builtins__"),
    "code": ("__import__('os').abort()", "0) or (1"),
    "long": ("a" * 100_000, "b" * 100_000),
}


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pair", PAIRS)
def test_sizes_may_have_any_name(pair: str, device: str, driver: Any, tmp_path: Path) -> None:
    names: dict[str, str] = dict(zip(("size", "size as an argument"), PAIRS[pair], strict=True))
    options = CompileOptions(optimize=0, threads=1, driver=driver, cache_dir=tmp_path)
    hints = Hints(likely=((PAIRS[pair][0], (3,)),))
    text = program(lambda position: names.get(position, "plain"))
    run = compile_for(CudaBackend(EmulatedDevice()) if device == "cuda" else CpuBackend(), text, options, hints=hints)
    check_source(run.executable.artifact)
    a, b = np.ones((3, 5), np.float32), np.ones(5, np.float32)
    np.testing.assert_array_equal(np.asarray(run(a, b)[1]), np.full((3, 5), 4, np.float32))
    with pytest.raises(shlo_disc.RuntimeShapeError):
        run(a, b[:4])
    assert run.explain()
