# JAX's functions are partly untyped.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""A package is called from Rust as the page says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.c_package.packages import compile_c, compiled_function
from tests.c_package.test_libraries import output
from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
@pytest.mark.parametrize("kind", ["dylib", "static"])
def test_the_page_has_a_call_from_rust(kind: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "c.md").read_text()
    (tmp_path / "main.rs").write_text(page.partition("```rust\n")[2].partition("```")[0])
    run = compiled_function(lambda x, w: x @ w, "f32[b, 64], f32[64, 10]")
    run.build(tmp_path, name="model", target="native")
    library = ("-L.", "-l", f"{kind}=model")
    compile_c("rustc", "--edition=2021", "-Dwarnings", "main.rs", *library, "-o", "main", folder=tmp_path)
    assert output("./main", folder=tmp_path, LD_LIBRARY_PATH=".") == "[5, 10] 64\n"
