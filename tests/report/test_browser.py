"""The page in a real browser: what it shows, and that it loads nothing."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from benchmarks.compile_time import training_text
from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.host_ir import Choice
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.profiling.data import data_for
from shlo_disc.profiling.profile import MemberProfile, Profile, Seconds, StepProfile
from shlo_disc.profiling.steps import executed_steps
from shlo_disc.report.comparison import Side, write_comparison
from shlo_disc.report.page import page, write_page
from shlo_disc.report.steps import kernel_names, places
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import SizeExpr, SizeFn, SizeOp, evaluate
from tests.api.programs import compiled, dims, spec, zeros
from tests.pipeline.exports import In
from tests.pipeline.programs import LAYER, dense, generated, layers, softmax
from tests.report.browser import READY, Browser, Page, chromium, find_chromium, open_page

BROWSER = find_chromium()
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here (Debian: apt-get install chromium)")

USABLE = ("button", "link", "slider", "spinbutton", "searchbox", "combobox")
LARGEST_PAGE = 2 << 20  # bytes, for 12 layers with their backward pass


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[Browser]:
    assert BROWSER is not None, "the tests are skipped without one"
    with chromium(BROWSER, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def model() -> Artifact:
    return generated(layers(2), In("b, t, 16"), *LAYER * 2)


@pytest.fixture(scope="module")
def opened(browser: Browser, model: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(model, path)
    return open_page(browser, path)


def shown(browser: Browser, artifact: Artifact, folder: Path) -> Page:
    write_page(artifact, folder / "report.html")
    return open_page(browser, folder / "report.html")


def complaints(tab: Page) -> list[Any]:
    """Everything that a console would show."""
    return [*tab.seen("Runtime.exceptionThrown"), *tab.seen("Runtime.consoleAPICalled"), *tab.seen("Log.entryAdded")]


def test_every_group_is_drawn_and_a_click_shows_its_reasons_and_kernel(opened: Page, model: Artifact) -> None:
    groups = model.report.groups
    opened.go("#groups")
    assert opened.count(".node") == len(groups)
    number = next(k for k, group in enumerate(groups) if k < 4 and any(d.merged for d in group.decisions))
    opened.click(f'[data-group="{number}"] .box')
    panel = opened.text("#panel")
    group, (kernel,) = groups[number], kernel_names(places(model)[model.report.steps.index(number)].step)
    for wanted in (*(d.reason for d in group.decisions), *(op.text for op in group.ops), f"void {kernel}("):
        assert wanted in panel
    assert opened.run("location.hash") == f"#groups/{number}"
    assert opened.text(".node.selected .number") == str(number)


def test_every_view_shows_all_of_its_things(opened: Page, model: Artifact) -> None:
    opened.go("#memory")
    assert opened.count(".buffer") == sum(buffer.kind == "arena" for buffer in model.buffers)
    opened.go("#facts")
    assert opened.count(".facts > li") == min(len(model.report.all_facts()), len(model.report.facts) + 300)
    opened.go("#kernels")
    steps = (*(place.step for place in places(model)), *model.packings)
    kernels = {name for step in steps for name in kernel_names(step)}
    assert opened.count(".side a") == len(kernels)
    opened.go("#host")
    assert opened.count(".steps tbody tr") == len(places(model))
    assert complaints(opened) == []


def test_facts_open_to_what_they_follow_from(opened: Page, model: Artifact) -> None:
    facts = model.report.all_facts()
    numbers = [k for k, fact in enumerate(facts) if fact.because][:40]
    assert numbers
    opened.go("#facts")
    opened.run("document.querySelectorAll('.fold').forEach((one) => one.open = true)")
    for number in numbers:
        fact = facts[number]
        item = f':is(.page, .fold) > .facts > [data-fact="{number}"]'
        assert fact.text.replace("*", "·").replace("-", "\u2212") in opened.text(item)
        assert fact.reason in opened.text(item)
        opened.click(f"{item} summary")
        below = opened.run(f"[...document.querySelector('{item} .facts').children].map(li => Number(li.dataset.fact))")
        assert tuple(below) == fact.because


def test_sizes_move_the_memory_as_the_runtime_counts_it(opened: Page, model: Artifact) -> None:
    opened.go("#memory")
    for b, t in ((1, 1), (3, 7), (64, 129), (1000, 511)):
        opened.set_size("b", b)
        opened.set_size("t", t)
        found = opened.run("Number(document.getElementById('arena-bytes').dataset.value)")
        assert found == evaluate(model.arena_bytes, {"b": b, "t": t})
        live = opened.run("Number(document.getElementById('live-bytes').dataset.value)")
        assert 0 < live <= found


def test_memory_is_drawn_over_each_size(opened: Page, model: Artifact) -> None:
    opened.go("#memory")
    for name, sizes in (("b", {"b": 24, "t": 5}), ("t", {"b": 3, "t": 40})):
        for size, value in sizes.items():
            opened.set_size(size, value)
        picked = f"f.value = '{name}'; f.dispatchEvent(new Event('change'));"
        opened.run(f"((f) => {{ {picked} }})(document.getElementById('growth-size'))")
        now = opened.run("Number(document.querySelector('.now').dataset.bytes)")
        assert now == evaluate(model.arena_bytes, sizes)
        path = opened.run("document.querySelector('.growth .line').getAttribute('d')")
        points = [tuple(map(float, point.split())) for point in re.findall(r"[\d.]+ [\d.]+", path)]
        assert len(points) > 50
        assert points == sorted(points), "from left to right"
        assert points[0][1] > points[-1][1], "more bytes are further up"
    assert complaints(opened) == []


def test_facts_are_folded_by_what_they_are_about(opened: Page, model: Artifact) -> None:
    def search(text: str) -> None:
        typed = f"f.value = '{text}'; f.dispatchEvent(new Event('input'));"
        opened.run(f"((f) => {{ {typed} }})(document.getElementById('search'))")

    opened.go("#host")  # the facts are drawn anew afterwards: other tests open them
    opened.go("#facts")
    names = opened.run("[...document.querySelectorAll('.fold > summary > code')].map((one) => one.textContent)")
    assert len(names) > 1
    about = {shape.dims[axis] for _, shape, axis in model.report.dims()} | {one.subject for one in model.report.facts}
    assert set(names) <= {text.replace("*", "·").replace("-", "\u2212") for text in about}
    assert opened.count(".fold[open]") == 0
    search("argument")
    assert opened.count(".fold[open]") == opened.count(".fold")
    search("")


def test_the_memory_is_what_a_call_uses(browser: Browser, tmp_path: Path) -> None:
    b, s = dims("b, s")

    def function(x: Any, w: Any) -> Any:
        return jax.nn.softmax(x @ w @ w.T) @ w  # the softmax is written in place

    run = compiled(function, spec(b, s), spec(s, 8))
    run.report(tmp_path / "report.html")
    tab = open_page(browser, tmp_path / "report.html")
    tab.go("#memory")
    for rows, columns in ((5, 31), (17, 64)):
        tab.set_size("b", rows)
        tab.set_size("s", columns)
        found = tab.run("Number(document.getElementById('arena-bytes').dataset.value)")
        assert found == run.executable.arena_bytes([zeros(rows, columns), zeros(columns, 8)]) > 0
        assert found == run.peak_memory(b=rows, s=columns)
        assert 0 < tab.run("Number(document.getElementById('live-bytes').dataset.value)") <= found


def test_sizes_that_break_a_check_are_refused_with_its_message(browser: Browser, tmp_path: Path) -> None:
    b, s = dims("b, s", "mod(b, 8) == 0", "s <= 2*b")
    artifact = compiled(softmax, spec(b, s)).executable.artifact
    tab = shown(browser, artifact, tmp_path)
    tab.go("#memory")
    tab.set_size("b", 16)
    tab.set_size("s", 32)
    assert tab.text("#refusal") == ""
    tab.set_size("s", 33)
    assert "s <= 2*b" in tab.text("#refusal")
    assert "refused" in tab.text("#view")
    tab.click("#refusal button")  # the nearest size that is accepted
    assert tab.run("document.getElementById('size-s').value") == "32"
    assert tab.text("#refusal") == ""


def values_in_python(artifact: Artifact, raw: Mapping[str, int]) -> tuple[Mapping[str, int], list[SizeExpr]]:
    symbols = Symbols(artifact, tuple(raw[name] for name in artifact.symbols[: len(artifact.raw)]))
    sizes = {artifact.arena_bytes, *artifact.definitions}
    sizes |= {one for buffer in artifact.buffers for one in (buffer.size, buffer.offset, *buffer.shape)}
    sizes |= {x for group in artifact.report.groups for x in (group.bytes_read, group.bytes_written, group.flops)}
    sizes |= {one for check in artifact.checks for one in (check.lhs, check.rhs, *check.values)}
    return {name: symbols[name] for name in artifact.symbols}, sorted(sizes, key=str)


def random_size(rng: random.Random, depth: int) -> SizeExpr:
    """Everything that a size may be."""
    if depth == 0:
        return rng.choice(("b", "t", "zs_1", 0, 1, -1, 7, 64))
    fn: SizeFn = rng.choice(("+", "*", "//", "%", "min", "max"))
    count = 2 if fn in ("//", "%") else rng.randint(1, 3)
    return SizeOp(fn, tuple([random_size(rng, depth - 1) for _ in range(count)]))


def test_sizes_have_the_values_that_the_runtime_gives_them(opened: Page, model: Artifact) -> None:
    rng = random.Random(5)
    asked = list[tuple[SizeExpr, Mapping[str, int]]]()
    for _ in range(5):
        env, sizes = values_in_python(model, {"b": rng.randint(0, 300), "t": rng.randint(0, 300)})
        asked += [(size, env) for size in sizes]
    for _ in range(400):
        env = {name: rng.choice((-3, 0, 1, 2, 5, 31, 64)) for name in ("b", "t", "zs_1")}
        asked.append((random_size(rng, rng.randint(0, 3)), env))
    found = opened.run(f"{json.dumps(asked)}.map(([size, env]) => [evaluate(size, env), sizeText(size)])")
    for (size, env), (value, text) in zip(asked, found, strict=True):
        assert value == evaluate(size, env), (size, env)
        assert text.replace("\u00b7", "*").replace("\u2212", "-") == str(size)


@pytest.mark.parametrize("size", ["c", "constructor", ["evil", ["b"]], ["constructor", ["b"]], ["+", ["c"]]])
def test_what_is_no_size_is_refused(opened: Page, size: object) -> None:
    assert (
        opened.run(f"(() => {{ try {{ return evaluate({json.dumps(size)}, {{b: 1}}) }} catch {{ return 'no' }} }})()")
        == "no"
    )


def test_the_keyboard_walks_and_searches(opened: Page, model: Artifact) -> None:
    opened.go("#groups/0")
    opened.run("document.querySelector('.graph').focus()")
    opened.press("ArrowDown")
    below = int(opened.run("location.hash").removeprefix("#groups/"))
    assert set(model.report.groups[0].writes) & set(model.report.groups[below].reads)
    opened.press("ArrowUp")
    assert opened.run("location.hash") == "#groups/0"
    opened.press("/")
    for letter in "rsqrt":
        opened.press(letter)
    with_rsqrt = [k for k, group in enumerate(model.report.groups) if any("rsqrt" in op.text for op in group.ops)]
    assert opened.count(".node:not(.dim)") == len(with_rsqrt) < len(model.report.groups)
    opened.press("Escape")
    assert opened.count(".node.dim") == 0


def test_everything_that_can_be_used_has_a_name(opened: Page) -> None:
    for view in ("#groups/1", "#memory", "#facts", "#kernels", "#host"):
        opened.go(view)
        nodes = opened.send("Accessibility.getFullAXTree")["nodes"]
        usable = [
            n
            for n in nodes
            if n.get("role", {}).get("value") in ("button", "link", "slider", "spinbutton", "searchbox")
        ]
        assert usable
        assert [n["role"]["value"] for n in usable if not n.get("name", {}).get("value")] == []


def measured(artifact: Artifact) -> Profile:
    """A profile whose only step, a launch group, takes 10 us; its launches alone take 1 us, 2 us, and so on."""
    (one,) = executed_steps(artifact)
    groups = one.member_groups
    members = tuple(MemberProfile(f"kernel_{k}", group, (), (k + 1) * 1e-6) for k, group in enumerate(groups))
    step = StepProfile(
        part="", number=one.number, kind=one.kind, name=one.name, groups=one.groups, lines=(), runs=1,
        seconds=Seconds(1e-5, 2e-5), bytes_read=20_000, bytes_written=0, flops=50_000, precision="f32", threads=1,
        selections=(), members=members,
    )  # fmt: skip
    return Profile("main", "cpu", "a CPU", 1, 3, {"b": 5, "t": 7}, (step,), Seconds(1e-3, 1e-3), (), None)


def test_a_profile_shows_times_on_groups_and_steps(browser: Browser, model: Artifact, tmp_path: Path) -> None:
    profile = measured(model)
    write_page(model, tmp_path / "report.html", data_for(profile, model))
    tab = open_page(browser, tmp_path / "report.html")
    assert tab.run("document.querySelector('#size-b').value") == "5"
    row = tab.text("#times tbody tr:first-child")
    assert "10.0 us" in row
    assert "2.00" in row, "GB/s"
    assert "5.00" in row, "GFLOP/s"
    assert "1.00 ms a call at b = 5, t = 7" in tab.text("#summary")
    members = profile.steps[0].members
    total = sum(member.seconds for member in members)
    for member in (members[0], members[-1]):
        tab.go(f"#groups/{member.group}")
        part = 10 * member.seconds / total
        assert f"about {part:.3g}" in tab.text(".measured")
        assert "10.0 us measured at b = 5, t = 7 with group" in tab.text(".measured")
    width = "Number(document.querySelector(`[data-group='{}'] .share`).getAttribute('width'))"
    first, last = (tab.run(width.format(member.group)) for member in (members[0], members[-1]))
    assert last / first == pytest.approx(members[-1].seconds / members[0].seconds, rel=0.01), "bars are times"
    tab.go("#host")
    assert "10.0 us" in tab.text(f"#step-{profile.steps[0].number}")
    assert complaints(tab) == []


def test_two_programs_are_shown_beside_each_other(browser: Browser, model: Artifact, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_comparison([Side("one", model), Side("two", model)], path)
    ready = f"[...document.querySelectorAll('iframe')].every((one) => one.contentWindow.{READY})"
    tab = open_page(browser, path, ready)
    frames = "[...document.querySelectorAll('iframe')].map((one) => one.contentDocument)"
    nodes = tab.run(f"{frames}.map((one) => one.querySelectorAll('.node').length)")
    assert nodes == [len(model.report.groups)] * 2
    boxes = tab.run("[...document.querySelectorAll('iframe')].map((one) => one.getBoundingClientRect().x)")
    assert boxes[0] < boxes[1]
    assert complaints(tab) == []


def test_a_profile_of_another_program_is_refused(model: Artifact) -> None:
    profile = measured(model)
    (first,) = profile.steps
    with pytest.raises(ShloDiscError, match="found a profile of other steps than those of"):
        data_for(replace(profile, steps=(replace(first, name="another"),)), model)


def test_names_that_look_like_html_stay_text(browser: Browser, model: Artifact, tmp_path: Path) -> None:
    name = "</script><script>window.broken = true</script><!-- & \u2028"
    arguments = (replace(model.arguments[0], name=name), *model.arguments[1:])
    tab = shown(browser, replace(model, name=name, arguments=arguments), tmp_path)
    assert tab.run("typeof window.broken") == "undefined"
    assert tab.text("h1") == name
    tab.go("#facts")
    assert name in tab.text("#view")
    assert complaints(tab) == []


def test_nothing_is_loaded_and_no_other_script_runs(browser: Browser, model: Artifact, tmp_path: Path) -> None:
    tab = shown(browser, model, tmp_path)
    requested = [event["request"]["url"] for event in tab.seen("Network.requestWillBeSent")]
    assert requested == [(tmp_path / "report.html").as_uri()]
    tab.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))")
    assert tab.run("typeof window.ran") == "undefined"
    assert tab.run("fetch('https://example.com').then(() => 'loaded', () => 'refused')") == "refused"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_kernels_and_variants_of_each_target_are_there(browser: Browser, tmp_path: Path, device: str) -> None:
    artifact = generated(dense, In("b, t"), In("t, n"), In("n"), device=device)
    tab = shown(browser, artifact, tmp_path)
    tab.go("#groups/0")
    if device == "cuda":
        (choice,) = (place.step for place in places(artifact) if isinstance(place.step, Choice))
        for sizes in ({"b": 64, "t": 64, "n": 64}, {"b": 5, "t": 3, "n": 7}):
            for name, value in sizes.items():
                tab.set_size(name, value)
            legal = [all(_holds(g.lhs, g.relation, g.rhs, sizes) for g in v.guards) for v in choice.variants]
            rows = "[...document.querySelectorAll('.variants tbody tr')].map(row => row.children[1].textContent)"
            assert tab.run(rows) == ["✓ legal" if one else "✕ not legal" for one in legal]
    assert tab.text(".details .code").strip()
    assert complaints(tab) == []


def _holds(lhs: SizeExpr, relation: str, rhs: SizeExpr, sizes: Mapping[str, int]) -> bool:
    a, b = evaluate(lhs, sizes), evaluate(rhs, sizes)
    return {"==": a == b, "<=": a <= b, ">=": a >= b}[relation]


def test_twelve_layers_with_their_backward_pass_are_one_page(browser: Browser, tmp_path: Path) -> None:
    artifact = compile_text(training_text(12), "training.mlir", Request(), Stopwatch())
    assert len(page(artifact).encode()) < LARGEST_PAGE
    tab = shown(browser, artifact, tmp_path)
    assert tab.count(".node") == len(artifact.report.groups)
    assert complaints(tab) == []
