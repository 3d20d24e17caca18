"""The first wrong value in memory."""

from __future__ import annotations

import numpy as np

from shlo_disc import CompileOptions, parse
from shlo_disc.artifact import Artifact
from shlo_disc.check.compiling import BuildConfig
from shlo_disc.check.locating import first_wrong
from shlo_disc.host_ir import Launch

_SORTED = """"stablehlo.sort"({}) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}) : (tensor<?x8xi32>) -> tensor<?x8xi32>"""


def test_values_that_are_overwritten_in_place_are_not_wrong() -> None:
    module = parse(f"""func.func @main(%x: tensor<?x8xi32>) -> tensor<?x8xi32> {{
  %0 = {_SORTED.format("%x")}
  %1 = stablehlo.multiply %0, %0 : tensor<?x8xi32>
  %2 = {_SORTED.format("%1")}
  return %2 : tensor<?x8xi32>
}}""")
    config = BuildConfig(CompileOptions(optimize=0, threads=1))
    artifact = config.executable(module, "vm").artifact
    assert any(_writes_in_place(artifact, step) for step in artifact.steps if isinstance(step, Launch))
    x = np.random.default_rng().integers(-99, 99, (5, 8)).astype(np.int32)
    assert first_wrong(module, [x], config) is None


def _writes_in_place(artifact: Artifact, step: Launch) -> bool:
    slots = set(step.buffers)
    memory = [artifact.buffers[slot].memory for slot in slots]
    return len(set(memory)) < len(memory)
