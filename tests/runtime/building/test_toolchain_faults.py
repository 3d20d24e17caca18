"""Compilers that do wrong in any way end in a `ToolchainError` that says what, where and how to mend it; at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.processes import run, shown
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cuda import nvrtc
from tests.runtime.sample import SAMPLE

REAL = shutil.which("g++") or shutil.which("clang++") or ""
pytestmark = pytest.mark.skipif(not REAL, reason="neither g++ nor clang++ is installed")

TARGET = 'while [ "$1" != -o ]; do shift; done; target="$2"'
LATER = {  # what it does when it is asked for a file, and what the error says
    "hangs": ("sleep 1000", "did not end: no end after 1 s"),
    "hangs with what it starts": ("sleep 1000 & sleep 1000 & wait", "did not end"),
    "ignores the end": ("trap '' TERM INT HUP; while :; do sleep 1; done", "did not end"),
    "makes nothing": ("exit 0", "ended without an error, but .* cannot be read: No such file"),
    "makes an empty file": (f"{TARGET}; : > $target", "ended without an error, but .* is empty"),
    "makes text": (f"{TARGET}; echo hello > $target", r"begins with b'hell', expected an ELF file"),
    "damages the object": (f'{REAL} "$@"; {TARGET}; truncate -s 100 $target', "failed on generated code|expected|load"),
    "fails": ("exit 3", r"failed on generated code \(exit status 3\)"),
    "fails and says nothing a reader could": ("printf '\\377\\376\\033[31m' >&2; exit 1", "exit status 1"),
    "says very much": ("yes $(seq 500) | head -c 50000000 >&2; exit 1", "exit status 1"),
    "says it elsewhere": ("echo wrong here; exit 1", "wrong here"),
    "is killed": ("kill -9 $$", "killed by SIGKILL"),
    "crashes": ("kill -SEGV $$", "killed by SIGSEGV"),
}
FIRST = {  # what it does when it is asked who it is
    "nothing": ("", "prints no macro"),
    "garbage": ("printf '\\377\\376'", "prints no macro"),
    "very much": ("head -c 50000000 /dev/zero", "prints no macro"),
    "a wrong end": ("exit 7", "exit status 7"),
    "a crash": ("kill -SEGV $$", "killed by SIGSEGV"),
}


def fake(folder: Path, text: str, head: str = "#!/bin/sh\n") -> Path:
    path = folder / "c++"
    path.write_text(head + text + "\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("fault", LATER)
def test_faults_while_compiling(fault: str, tmp_path: Path) -> None:
    what, message = LATER[fault]
    compiler = fake(tmp_path, f'if [ "$1" = -dM ]; then exec {REAL} "$@"; fi\n{what}')
    options = CompileOptions(compiler=str(compiler), compiler_seconds=1.0, cache_dir=tmp_path / "cache")
    started = time.monotonic()
    with pytest.raises(ToolchainError, match=message) as caught:
        build(SAMPLE, options)
    assert time.monotonic() - started < 30
    text = str(caught.value)
    assert "\n  help: " in text
    assert "\x1b" not in text
    assert len(text) < 40_000
    assert str(compiler) in text or "load" in text
    assert not running(compiler)
    mended = fake(tmp_path, f'exec {REAL} "$@"')
    assert build(SAMPLE, CompileOptions(compiler=str(mended), cache_dir=tmp_path / "cache"))


def running(compiler: Path) -> list[str]:
    """The processes that a compiler left behind."""
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if str(compiler) in line]


@pytest.mark.parametrize("fault", FIRST)
def test_faults_while_asking(fault: str, tmp_path: Path) -> None:
    what, message = FIRST[fault]
    with pytest.raises(ToolchainError, match=f"does not answer like clang, gcc or zig: .*{message}") as caught:
        find_compiler(str(fake(tmp_path, what)))
    assert "\n  help: " in str(caught.value)


@pytest.mark.parametrize("head", ["", "#!/no/such/interpreter\n", "\x7fELF"])
def test_what_cannot_be_started(head: str, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="does not answer like clang, gcc or zig"):
        find_compiler(str(fake(tmp_path, "", head)))


def test_a_compiler_that_vanished(tmp_path: Path) -> None:
    path = fake(tmp_path, f'exec {REAL} "$@"')
    builder = Builder(find_compiler(str(path), 60), 0, Cache(tmp_path / "cache"))
    path.unlink()
    with pytest.raises(ToolchainError, match="cannot be started: No such file"):
        builder.program(SAMPLE)


@pytest.mark.parametrize("name", ["a\0b", "", "@file", "-o", "/", ".", "a\nb", "\ud800"])
def test_names_that_are_no_compilers(name: str) -> None:
    with pytest.raises(ToolchainError, match="no C"):
        find_compiler(name)


@pytest.mark.parametrize("name", ["-o", "@file", "a b", "a\nb", "%s", "'\"$(touch x)`touch x`;", "a,b", "é\udc80", "-"])
def test_folders_of_any_name(name: str, tmp_path: Path, compiler: str) -> None:
    assert build(SAMPLE, CompileOptions(compiler=compiler, cache_dir=tmp_path / name, optimize=0))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_interrupt_ends_what_was_started(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    path = fake(tmp_path, f"touch {marker}; sleep 1000 & wait")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        run([str(path)], seconds=60)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert marker.exists()
    assert not running(path)


def test_what_is_shown_is_short() -> None:
    assert shown(b"\xff\n" * 100).count("\n") == 40
    assert len(shown(b"x" * 10**7)) < 1000
    assert os.linesep not in shown(b"")


class Nvrtc:
    """NVRTC's binding, of which one function does wrong."""

    def __init__(self, wrong: str, found: object) -> None:
        self.wrong, self.found = wrong, found
        self.destroyed = 0

    def __getattr__(self, name: str) -> object:
        known = {
            "getVersion": (13, 0), "createProgram": 1, "compileProgram": None, "getProgramLog": "",
            "getCUBIN": b"\x7fELF",
        }  # fmt: skip

        def call(*_: object) -> object:
            if name != self.wrong:
                return known[name]
            if isinstance(self.found, Exception):
                raise self.found
            return self.found

        return call

    def destroyProgram(self, program: int) -> None:  # noqa: N802
        assert program == 1
        self.destroyed += 1


NOT_TEXT = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


@pytest.mark.parametrize(
    ("wrong", "found", "message"),
    [
        ("createProgram", RuntimeError("out of memory"), "failed on generated code: out of memory"),
        ("compileProgram", RuntimeError("no"), "failed on generated code: no"),
        ("getCUBIN", RuntimeError("no"), "failed on generated code: no"),
        ("getCUBIN", b"", "made no cubin"),
        ("getCUBIN", b"hello", "made no cubin"),
        ("getProgramLog", NOT_TEXT, "its log cannot be read"),
    ],
)
def test_faults_of_nvrtc(wrong: str, found: object, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Nvrtc(wrong, found)
    monkeypatch.setattr(nvrtc, "_library", lambda: library)
    with pytest.raises(ToolchainError, match=message) as caught:
        nvrtc.compile_kernels("text", "kernels.cu", 80, "int32_t")
    assert "kernels.cu" in str(caught.value)
    assert "\n  help: " in str(caught.value)
    assert library.destroyed == (wrong != "createProgram")
