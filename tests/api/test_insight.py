"""What a compiled program and a module tell about themselves."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from tests.api.programs import compiled, counted, dims, exported, spec


def test_statistics_count_calls_and_sizes() -> None:
    b, s = dims("b, s")
    run = compiled(lambda x: jnp.tanh(x).sum(-1), spec(b, s))
    for shape in ((2, 3), (2, 3), (4, 3), (1, 1)):
        run(counted(*shape))
    with pytest.raises(shlo_disc.RuntimeShapeError):
        run(counted(0, 3))
    stats = run.stats
    assert (stats.compilations, stats.calls, stats.signatures) == (1, 4, 3)
    assert all(seconds >= 0 for seconds in stats.seconds.values())


def test_statistics_name_every_stage(tmp_path: Path) -> None:
    (b,) = dims("b")
    program = exported(lambda x: x + 1, spec(b))
    options = shlo_disc.CompileOptions(cache_dir=tmp_path)
    stages = ["read", "parse", "verify", "legalize", "passes", "fuse", "generate", "describe", "build", "load"]
    assert list(shlo_disc.compile(program, options=options).stats.seconds) == stages
    assert list(shlo_disc.compile(program, options=options).stats.seconds) == ["read", "build", "load"]


def test_sources_explanation_and_name() -> None:
    b, s = dims("b, s")

    def centred(p: dict[str, jnp.ndarray], x: jnp.ndarray) -> jnp.ndarray:
        return x - x.mean(-1, keepdims=True) + p["shift"]

    run = compiled(centred, {"shift": spec(s)}, spec(b, s))
    assert 'extern "C" void' in run.kernels_source
    assert "given 0" in run.host_source
    assert run.host_source.rstrip().endswith("end")
    explanation = run.explain()
    for heading in ("program jit_centred", "sizes\n", "facts\n", "group 0: ", "  ops: "):
        assert heading in explanation
    assert repr(run) == (
        "<Compiled jit_centred(args[0]['shift']: float32[s], args[1]: float32[b, zs2]) -> (float32[b, s])>"
    )


def test_many_arguments_are_not_all_named() -> None:
    many = compiled(lambda xs: [x + 1 for x in xs], [spec(2)] * 20)
    assert repr(many).endswith(f"and 14 more) -> ({', '.join(['float32[2]'] * 6)}, and 14 more)>")


def test_a_module_prints_as_its_text_and_compiles() -> None:
    text = (
        "module @negated {\n"
        "  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "    %0 = stablehlo.negate %x : tensor<?xf32>\n"
        "    return %0 : tensor<?xf32>\n"
        "  }\n"
        "}\n"
    )
    module = shlo_disc.parse(text)
    assert isinstance(module, shlo_disc.Module)
    assert str(module) == text
    (found,) = shlo_disc.compile(module)(counted(3))
    np.testing.assert_array_equal(found, [0, -1, -2])


def test_notebooks_show_programs_and_modules() -> None:
    """As HTML, in which names of a user's are text."""
    text = """func.func @"a<script>"(%x: tensor<?xf32> {jax.arg_info = "x<b>"}) -> tensor<?xf32> {
      %0 = stablehlo.add %x, %x : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    module = shlo_disc.parse(text)
    shown = module._repr_html_()  # pyright: ignore[reportPrivateUsage]  what Jupyter calls
    assert "stablehlo.add" in shown
    assert shown.count("<") == shown.count(">") == 2, "no tags but pre"
    lines = "".join(f"%t{k} = stablehlo.tanh %x : tensor<?xf32>\n" for k in range(100))
    many = shlo_disc.parse(text.replace("%0 = ", f"{lines}%0 = "))
    assert "more lines</pre>" in many._repr_html_()  # pyright: ignore[reportPrivateUsage]
    page = shlo_disc.compile(module)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    tags = set(re.findall(r"<([^/ >]+)", page))
    assert tags == {"b", "table", "tr", "td", "code", "details", "summary", "pre"}
    assert all(f"<summary>{topic}</summary>" in page for topic in ("facts", "fusion", "memory", "schedules"))
