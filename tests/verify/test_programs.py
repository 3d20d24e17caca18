"""Each constraint refuses a program, by its label; jaxlib, where it checks the constraint too, agrees."""

from __future__ import annotations

import pytest

from shlo_disc.diagnostics import VerifyError
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify_ops
from tests.verify.jaxlib_verifier import complaint
from tests.verify.programs import Refused, accepted, labels, refused, unchecked


@pytest.mark.parametrize("program", refused(), ids=str)
def test_refused(program: Refused) -> None:
    module = parse_module(program.text)
    with pytest.raises(VerifyError) as caught:
        verify_ops(module)
    assert caught.value.message.endswith(f"({program.label} of {program.op})"), str(caught.value)


_KNOWN_TO_JAXLIB = [p for p in refused() if "!quant" not in p.text and p.jaxlib != "unknown to jaxlib"]


@pytest.mark.parametrize("program", _KNOWN_TO_JAXLIB, ids=str)
def test_jaxlib_agrees(program: Refused) -> None:
    found = complaint(program.text)
    assert (found is None) == (program.jaxlib == "jaxlib accepts"), found


@pytest.mark.parametrize(("name", "text"), accepted())
def test_accepted(name: str, text: str) -> None:
    del name
    verify_ops(parse_module(text))
    if "!quant" not in text:
        assert complaint(text) is None


def test_every_constraint_of_the_specification_refuses_something() -> None:
    shown = {str(program) for program in refused()}
    listed = {f"{op} {label}" for op, numbered in labels().items() for label in numbered}
    assert listed - shown - unchecked().keys() == set()
    assert unchecked().keys() - listed == set()
    assert shown & unchecked().keys() == set()
