"""The README's program runs as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from subprocess import run

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_programs_of_the_readme_run(tmp_path: Path) -> None:
    program = "\n".join(re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL))
    file = tmp_path / "readme.py"
    file.write_text(program)
    done = run([sys.executable, "-W", "error", file], capture_output=True, text=True, check=False, cwd=README.parent,
               env={"PYTHONPATH": str(README.parent), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "4 signatures served" in done.stdout
    assert "program jit_loss" in done.stdout
