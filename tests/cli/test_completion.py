"""Scripts that make shells complete the command line."""

from __future__ import annotations

import builtins
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import shtab

from shlo_disc.cli.arguments import SHELLS
from shlo_disc.cli.main import main


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script_with_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in ("shlo-disc", "compile", "targets", "completion"))
    assert set(SHELLS) <= set(shtab.SUPPORTED_SHELLS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ca"], {"cache"}),
        (["comp"], {"compile", "completion"}),
        (["run", "--si"], {"--sizes"}),
        (["compile", "--ra"], {"--ragged"}),
        (["prof"], {"profile"}),
        (["profile", "--tr"], {"--trace"}),
        (["profile", "--html", "./mod"], {"./model.mlir"}),
        (["cache", "v"], {"verify"}),
        (["run", "./mod"], {"./model.mlir"}),
    ],
)
def test_bash_completes(words: list[str], found: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    (tmp_path / "model.mlir").touch()
    script = tmp_path / "completion.sh"
    script.write_text(
        capsys.readouterr().out
        + f"COMP_WORDS=(shlo-disc {' '.join(words)}); COMP_CWORD={len(words)}\n"
        + "$(complete -p shlo-disc | sed 's/.*-F \\([^ ]*\\).*/\\1/')\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    told = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(told.stdout.split()) == found


def test_without_the_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "shtab":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'shlo-disc[completion]'" in capsys.readouterr().err
