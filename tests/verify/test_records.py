"""Every op has a record, and every label of a record a program that it refuses."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from shlo_disc.dialects.record import OpRecord
from shlo_disc.dialects.table import OPS
from tests.verify.programs import refused, unchecked

pytestmark = pytest.mark.quick


def _labels(rules: OpRecord) -> set[str]:
    operands = [slot.label or f"I{number}" for number, slot in enumerate(rules.operands, 1)]
    return {*operands, *[slot.label for slot in rules.attributes], *rules.constraints}


@pytest.mark.parametrize("name", OPS)
def test_every_label_of_a_record_refuses_something(name: str) -> None:
    op = name.removeprefix("stablehlo.")
    listed = {f"{op} {label}" for label in _labels(OPS[name])}
    assert listed - {str(program) for program in refused()} - unchecked().keys() == set()


@pytest.mark.parametrize("dialect", ["stablehlo", "chlo"])
def test_every_op_of_jaxlib_has_a_record(dialect: str) -> None:
    module = importlib.import_module(f"jaxlib.mlir.dialects._{dialect}_ops_gen")
    source = Path(str(module.__file__)).read_text()
    names = {part.split('"')[1] for part in source.split("OPERATION_NAME = ")[1:]}
    assert len(names) > 40
    assert names - OPS.keys() - {"stablehlo.return"} == set()  # its types are the region's, which its op's rules see
