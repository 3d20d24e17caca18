"""What `ops` says of a program is what its compilation and its run have shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from shlo_disc.cli.support import find_support
from shlo_disc.parse.parser import parse_module
from shlo_disc.target_names import target_names
from tests.corpus.judged import listed

LIST = Path(__file__).resolve().parents[1] / "corpus" / "unsupported.txt"


@pytest.mark.slow
def test_what_runs_is_what_the_corpus_has_shown(corpus: Path) -> None:
    refused = listed(LIST)
    models = {f"jax_models/{path.stem}" for path in (corpus / "jax_models").glob("*.mlir")}
    assert len(models) > 50
    for name in sorted(models | refused.keys()):
        path = corpus / f"{name}.mlir"
        module = parse_module(path.read_text(), str(path))
        for target in target_names():
            support = find_support(module, target)
            if name in refused:
                assert support.error is not None, name
                assert support.error.message == refused[name].replace("the CPU target", f"the {target.upper()} target")
                assert support.obstacles, name
            elif support.error is not None:  # libraries that the CPU has compute on a GPU only
                assert target == "cuda", str(support.error)
                assert "waits for a GPU" in support.error.message
