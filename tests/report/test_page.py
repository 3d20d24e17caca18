"""What the page is made of: the data of a program, its steps and lifetimes, its colours."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import jax.numpy as jnp
import pytest
from jax import lax

from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Case, Copy, Launch, LaunchGroup, Step, While
from shlo_disc.report.page import SCRIPTS, kernel_texts, page, page_data
from shlo_disc.report.steps import kernel_names, lifetimes, places
from tests.pipeline.exports import In
from tests.pipeline.programs import LAYER, chain, generated, layers

pytestmark = pytest.mark.quick


def loop(x: Any) -> Any:
    """A loop, a branch in it, and values that live across both."""

    def step(_: Any, value: Any) -> Any:
        return lax.cond(value.sum() > 0, lambda v: jnp.sort(v) * 2, lambda v: v + x.sum(), value)

    return lax.fori_loop(0, 3, step, jnp.tanh(x)) + x


def tanh_rows(x: Any) -> Any:
    return jnp.tanh(x).sum(-1)


PROGRAMS: Mapping[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "layers": (layers(2), (In("b, t, 16"), *LAYER * 2)),
    "chain": (chain, (In("b, s"), In("s"), In("s"))),
    "loop": (loop, (In("n"),)),
}


def made(name: str, device: str = "cpu") -> Artifact:
    function, inputs = PROGRAMS[name]
    return generated(function, *inputs, device=device)


@pytest.fixture(scope="module", params=[(name, device) for name in PROGRAMS for device in ("cpu", "cuda")], ids=str)
def artifact(request: pytest.FixtureRequest) -> Artifact:
    param: object = request.param
    return made(*cast("tuple[str, str]", param))


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        match step:
            case While(condition, _, body):
                yield from all_steps((*condition, *body))
            case Case(_, _, branches):
                for branch in branches:
                    yield from all_steps(branch)
            case LaunchGroup():
                yield from step.launches
            case _:
                pass


def test_every_group_step_buffer_and_kernel_is_there(artifact: Artifact) -> None:
    data = json.loads(json.dumps(page_data(artifact)))
    assert [place.step for place in places(artifact)] == list(all_steps(artifact.steps))
    assert len(data["steps"]) == len(artifact.report.steps) == len(list(all_steps(artifact.steps)))
    assert len(data["buffers"]) == len(artifact.buffers)
    assert set(range(len(data["groups"]))) == {number for number in artifact.report.steps if number is not None}
    launched = {name for place in places(artifact) for name in kernel_names(place.step)}
    launched |= {packing.kernel for packing in artifact.packings}
    texts = kernel_texts(artifact)
    parts = {
        name for text in texts.values() for name in re.findall(r'^extern "C" void (\w+)\(.*;$', text, re.MULTILINE)
    }
    assert launched | parts == set(texts)
    for name, text in texts.items():
        assert len(re.findall(rf"\bvoid\b[^\n]* {name}\(", text)) == 1
        assert text.endswith("}")


def test_groups_read_and_write_the_buffers_of_their_launches() -> None:
    for name in PROGRAMS:
        artifact = made(name)
        for place, number in zip(places(artifact), artifact.report.steps, strict=True):
            if isinstance(place.step, Launch):
                assert number is not None
                group = artifact.report.groups[number]
                buffers, own = set(place.step.buffers), {*group.reads, *group.writes}
                assert own <= buffers
                others = [artifact.buffers[slot] for slot in buffers - own]
                assert all(one.kind in ("packed", "null") or one.label.startswith("%workspace") for one in others)
                assert len(group.writes) == len(group.roots)


def test_groups_of_loops_and_branches_know_what_runs_them() -> None:
    groups = made("loop").report.groups
    for group in groups:
        assert (group.parent is None) == (group.body == 0)
        if group.parent is not None:
            assert groups[group.parent].kind in ("while", "case")
            assert groups[group.parent].body < group.body


def test_buffers_are_needed_when_their_steps_run(artifact: Artifact) -> None:
    steps, needed = places(artifact), lifetimes(artifact)
    for number, place in enumerate(steps):
        if isinstance(place.step, Launch | Copy):
            for slot in _touched(place.step):
                if artifact.buffers[slot].kind == "arena":
                    first, last = needed[slot]
                    assert first <= number <= last


def test_what_a_loop_takes_from_outside_lives_as_long_as_the_loop() -> None:
    artifact = made("loop")
    steps = places(artifact)
    start, end = next((k, place.end - 1) for k, place in enumerate(steps) if isinstance(place.step, While))
    inside = {slot for place in steps[start : end + 1] if isinstance(place.step, Launch) for slot in place.step.buffers}
    before = {slot for place in steps[:start] for slot in _touched(place.step)}
    needed = lifetimes(artifact)
    assert inside & before
    for slot in inside & before:
        assert needed[slot][1] >= end


def _touched(step: Step) -> tuple[int, ...]:
    match step:
        case Launch(buffers=buffers):
            return buffers
        case Copy(source, target):
            return source, target
        case _:
            return ()


def test_operations_have_the_users_names_and_lines() -> None:
    artifact = generated(tanh_rows, In("b, s"))
    ops = [op for group in artifact.report.groups for op in group.ops]
    tanh = next(op for op in ops if op.name == "tanh")
    assert re.fullmatch(r"%0: f32\[b, s\] = tanh\(argument 0\)", tanh.text)
    assert tanh.origin.startswith(__file__)
    assert tanh.line > 1


def test_likely_sizes_of_the_overview_are_those_that_a_caller_gives() -> None:
    sizes = made("chain").report.sizes
    assert sizes.names == ("b", "s")
    assert sizes.raw == ("b", "s", "s", "s")
    assert sizes.points


def test_the_page_holds_one_script_and_loads_nothing(artifact: Artifact) -> None:
    text = page(artifact)
    assert text.count("<script") == 2  # the data and the program
    own = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    assert set(re.findall(r"https?://[^\"']*", own)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"unsafe|<link|<img|@import|url\(", own)
    assert re.search(r"default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'", text)


def test_scripts_are_checked_as_typescript_and_strict() -> None:
    text = page(made("chain"))
    assert text.count("// @ts-check") == text.count('"use strict"') == len(SCRIPTS)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(scheme: int) -> None:
    style = page(made("chain"))
    colours = dict(
        re.findall(r"--([\w-]+): (#[0-9a-f]{6})", style.split("prefers-color-scheme: dark")[scheme].split("\n}")[0])
    )
    texts = [name for name in colours if name.startswith("code-")] + ["ink", "soft", "faint", "accent", "bad", "good"]
    for text in texts:
        for ground in ("paper", "raised", "sunk"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
