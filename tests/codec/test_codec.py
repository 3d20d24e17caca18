"""What `codec` writes comes back equal; what it has not written is refused, whatever it is."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, get_type_hints

import pytest
from hypothesis import given, settings

import shlo_disc
from shlo_disc import codec
from shlo_disc.artifact import Artifact, Branches, Callee, Loop, Partition
from shlo_disc.codec import DamagedError, decode, encode
from shlo_disc.host_ir import Constant, HostCall, HostValue
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.size_expr import SizeOp
from tests.runtime.artifact_types import classes, instances
from tests.runtime.sample import LOOP, SAMPLE

HOST_CALL = HostCall(
    0, "f", "a library", (0,), (), {"a": 1, "b": ("x", (Constant("int8", (2,), b"\0\1"), ()))}, "line 1"
)
NESTED = replace(
    SAMPLE,
    steps=(*LOOP.steps, HOST_CALL),
    partitions=(
        Partition(Loop(Callee(SAMPLE, (0,), "condition"), Callee(LOOP, (), "body"), ((0, 1),), "here"), (0,), ()),
        Partition(Branches((Callee(LOOP, (1,), "branch 0"),), ()), (), (1,)),
        Partition(LOOP, (2,), (2,)),
    ),
)


def compiled() -> Artifact:
    """What the compiler makes of a program with a product, a softmax and a loop."""
    text = """
    func.func public @main(%a: tensor<?x8xf32>, %b: tensor<8x16xf32>) -> tensor<?x16xf32> {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
      %c = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
      %1 = stablehlo.tanh %0 : tensor<?x16xf32>
      return %1 : tensor<?x16xf32>
    }
    """
    return compile_text(text, "m.mlir", Request(), Stopwatch())


def test_types_of_an_artifact(golden: Callable[[str], None]) -> None:
    """A new type, or a new field, is seen here: it will be read from files."""
    lines = list[str]()
    for kind in sorted(classes(Artifact), key=lambda kind: kind.__name__):
        hints = {x.name: x.type for x in fields(kind)} if kind is not SizeOp else get_type_hints(kind)
        lines += [f"{kind.__module__}.{kind.__name__}", *(f"  {name}: {hint}" for name, hint in hints.items())]
    golden("\n".join(lines))


FLAT = [kind for kind in classes(Artifact) if kind not in (Artifact, Partition, Callee, Loop, Branches, SizeOp)]


@pytest.mark.parametrize("kind", FLAT, ids=lambda kind: kind.__name__)
def test_every_type_comes_back_equal(kind: type) -> None:
    @settings(max_examples=25)
    @given(instances(kind))
    def check(value: Any) -> None:
        assert decode(kind, encode(kind, value)) == value

    check()


@pytest.mark.parametrize("artifact", [SAMPLE, LOOP, NESTED], ids=["sample", "loop", "nested"])
def test_artifacts_come_back_equal(artifact: Artifact) -> None:
    data = encode(Artifact, artifact)
    assert decode(Artifact, data) == artifact
    assert encode(Artifact, decode(Artifact, data)) == data


def test_a_compiled_program_comes_back_equal() -> None:
    artifact = compiled()
    assert decode(Artifact, encode(Artifact, artifact)) == artifact


@dataclass(frozen=True)
class Box:
    """One of each kind of type, as small as can be."""

    number: int
    text: str = ""
    maybe: int | None = None
    either: int | str = 0
    pair: tuple[int, str] = (0, "")
    word: Literal["a", "b"] = "a"
    blob: bytes = b""
    names: tuple[str, ...] = ()
    mapping: Mapping[str, HostValue] = None  # pyright: ignore[reportAssignmentType]
    path: Path | None = None
    inner: Box | Constant | None = None


def plain(value: Any) -> bytes:
    """What `encode` would write, of any JSON and without a check."""
    text = json.dumps(value).encode()
    return len(text).to_bytes(8, "little") + text


GOOD: list[Any] = [1, "t", None, 0, [0, ""], "a", 0, [], [], None, None]


def test_the_format_is_this() -> None:
    box = Box(1, "t", mapping={})
    assert decode(Box, plain(GOOD)) == box
    assert encode(Box, box)[8:] == json.dumps(GOOD, separators=(",", ":")).encode()
    full = Box(-5, "é\ud800", 7, "x", (1, "y"), "b", b"\0\xff", ("p", "q"), {"k": (1, ("z",))}, Path("/a b"), box)
    assert decode(Box, encode(Box, full)) == full


ODD: dict[int, list[Any]] = {
    0: [True, 1.0, "1", None, [1], 1 << 63, -(1 << 63) - 1, 10**400],
    1: [1, None],
    2: ["x", False],
    3: [None, 0.5, []],
    4: [[0], [0, "", 1], ["", 0], {"0": ""}],
    5: ["c", 0],
    6: [-1, 1, 1 << 62, "AA=="],
    7: ["ab", [1], ["a", None], [["a"]]],
    8: [
        {"a": 1},
        [["a"]],
        [["a", 1], ["a", 2]],
        [[1, 1]],
        [["a", None]],
        [["a", ["list", 1]]],
        [["a", [1]]],
        [["a", []]],
    ],
    9: [1],
    10: [[], ["Artifact"], GOOD, ["Constant", "f", [], 0, 0], ["Constant", "f", []], {"Constant": []}, [["Constant"]]],
}


@pytest.mark.parametrize(("place", "value"), [(place, value) for place, odd in ODD.items() for value in odd])
def test_what_the_hints_do_not_allow_is_damaged(place: int, value: Any) -> None:
    content = list(GOOD)
    content[place] = value
    with pytest.raises(DamagedError):
        decode(Box, plain(content))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0" * 7, b"\0" * 8, b"\xff" * 8, b"\xff" * 100, plain(GOOD)[:-1], plain(GOOD) + b"x", plain(GOOD[:-1]),
        plain([*GOOD, None]), plain(None), plain({}), plain("x"), plain([GOOD]), b"\2" + b"\0" * 7 + b"\xc3\xa9",
        plain(GOOD).replace(b"1", b"N", 1), b"\3" + b"\0" * 7 + b"NaN", b"\4" + b"\0" * 7 + "[".encode("utf-32")[:4],
    ],
)  # fmt: skip
def test_what_is_no_encoding_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(Box, data)


@dataclass(frozen=True)
class Pair:
    """Two values that share the bytes behind the text."""

    one: bytes
    two: bytes


@pytest.mark.parametrize("lengths", [[-1, 1], [1, -1], [0, 1], [1, 0], [-3, 5]])
def test_lengths_are_of_bytes_that_are_there(lengths: list[int]) -> None:
    assert decode(Pair, plain([1, 2]) + b"abc") == Pair(b"a", b"bc")
    with pytest.raises(DamagedError):
        decode(Pair, plain(lengths) + b"ab" * (sum(lengths) > 1))


@pytest.mark.parametrize("opened", ["[", '{"a":', '[[["tuple",'])
@pytest.mark.parametrize("depth", [2_000, 1_000_000])
def test_deep_nesting_is_damaged(opened: str, depth: int) -> None:
    text = (opened * depth).encode()
    with pytest.raises(DamagedError):
        decode(Artifact, len(text).to_bytes(8, "little") + text)


def test_values_nested_deeper_than_the_stack_are_damaged() -> None:
    tuples: Any = 1
    for _ in range(600):
        tuples = ["tuple", tuples]
    content = list(GOOD)
    content[8] = [["k", tuples]]
    with pytest.raises(DamagedError):
        decode(Box, plain(content))


UNSUITABLE: list[dict[str, Any]] = [
    {"number": True},
    {"number": 1 << 63},
    {"text": 1},
    {"word": "c"},
    {"names": ["a"]},
    {"mapping": None},
    {"mapping": {"a": 1.5}},
    {"mapping": {1: 1}},
    {"blob": bytearray(b"a")},
    {"path": "/a"},
    {"inner": Artifact},
]


@pytest.mark.parametrize("unsuitable", UNSUITABLE, ids=str)
def test_what_would_not_come_back_is_not_written(unsuitable: dict[str, Any]) -> None:
    values_of: dict[str, Any] = {"number": 1, "mapping": {}, **unsuitable}
    with pytest.raises(TypeError, match="cannot encode"):
        encode(Box, Box(**values_of))


# -- damage


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """A few bytes others, cut out, doubled, or moved."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, count = rng.randrange(len(changed)), rng.choice((1, 1, 8, 300))
        match rng.randrange(5):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.choice(b'[]{},:"\\0123456789-+.eEtrufalsn \n\x00\xff')
            case 2 if len(changed) > count + 16:
                del changed[at : at + count]
            case 3:
                changed[at:at] = changed[at : at + count]
            case _:
                to = rng.randrange(len(changed))
                changed[to : to + count] = changed[at : at + count]
    return bytes(changed)


def damaged_tree(content: Any, rng: random.Random) -> Any:
    """JSON with another value at one place."""
    if isinstance(content, list) and content and rng.random() < 0.93:
        copy = list(cast("list[Any]", content))
        at = rng.randrange(len(copy))
        if rng.random() < 0.9:
            copy[at] = damaged_tree(copy[at], rng)
        elif rng.random() < 0.5:
            del copy[at]
        else:
            copy.insert(at, copy[rng.randrange(len(copy))])
        return copy
    odd: list[Any] = [
        None,
        True,
        0,
        -1,
        1 << 63,
        -(1 << 70),
        0.5,
        "",
        "tuple",
        "Launch",
        "Artifact",
        [],
        [[]],
        ["tuple"],
        {},
    ]
    return rng.choice(odd)


@pytest.mark.parametrize("seed", range(6))
def test_damage_gives_a_value_or_an_error(seed: int) -> None:
    """Thousands of mutants: each is refused, or is a value of the right types; none takes long."""
    rng = random.Random(seed)
    data = encode(Artifact, NESTED if seed % 2 else SAMPLE)
    end = 8 + int.from_bytes(data[:8], "little")
    content, blobs = json.loads(data[8:end]), data[end:]
    accepted, started = 0, time.process_time()
    for number in range(600):
        mutant = damaged_bytes(data, rng) if number % 2 else plain(damaged_tree(content, rng)) + blobs
        try:
            found = decode(Artifact, mutant)
        except DamagedError:
            continue
        accepted += 1
        assert decode(Artifact, encode(Artifact, found)) == found  # `encode` checks every type
    assert 0 < accepted < 600
    assert time.process_time() - started < 60


def test_memory_is_in_proportion() -> None:
    """A length that is larger than the file takes no memory."""
    import tracemalloc  # noqa: PLC0415

    content = list(GOOD)
    content[6] = (1 << 62) - 1
    tracemalloc.start()
    with pytest.raises(DamagedError):
        decode(Box, plain(content))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


# -- nothing else reads files


def test_no_module_reads_what_can_run_code() -> None:
    root = Path(str(shlo_disc.__file__)).parent
    forbidden = re.compile(r"(?:import|from) +(?:c?pickle|marshal|shelve|dill|joblib|yaml)\b|allow_pickle *= *True")
    assert {str(x.relative_to(root)) for x in root.rglob("*.py") if forbidden.search(x.read_text())} == set()


def test_no_module_evaluates_text() -> None:
    """But for `records`, which compiles methods from the names of the fields of our classes, as `dataclass` does."""
    root = Path(str(shlo_disc.__file__)).parent
    called = re.compile(r"(?<![\w.])(?:eval|exec|__import__)\(")
    assert {str(x.relative_to(root)) for x in root.rglob("*.py") if called.search(x.read_text())} == {"records.py"}


def test_decoders_are_made_of_hints_alone() -> None:
    text = "".join(x.read_text() for x in Path(str(codec.__file__)).parent.glob("*.py"))
    assert "import_module" not in text
    assert text.count("getattr(") == 2  # a field of a value, and a type that a hint names
