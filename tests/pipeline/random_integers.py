"""Random programs of integers, with a model of what they compute in Python's exact integers.

Every value is a scalar or has the size of the argument `%x`. The model wraps each result at its type's width, so it
shares nothing with index arithmetic, which does not wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Numbers = list[int]

TYPES = ("i2", "i4", "i8", "i16", "i32", "i64", "ui2", "ui4", "ui8", "ui16", "ui32", "ui64")
TABLE = 300  # elements of the table that indices read


def bits_of(kind: str) -> int:
    return int(kind.lstrip("ui"))


def limits(kind: str) -> tuple[int, int]:
    bits = bits_of(kind)
    return (0, (1 << bits) - 1) if kind[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrapped(value: int, kind: str) -> int:
    low, high = limits(kind)
    return (value - low) % (high - low + 1) + low


def _divided(a: int, b: int, kind: str) -> int:
    if b == 0:
        return wrapped(-1, kind)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int, _kind: str) -> int:
    return a if b == 0 else a - b * _divided(a, b, "i64")


def _shifted_left(a: int, b: int, kind: str) -> int:
    return a << b if 0 <= b < bits_of(kind) else 0


def _shifted_right(a: int, b: int, kind: str) -> int:
    signed = wrapped(a, f"i{bits_of(kind)}")
    return signed >> b if 0 <= b < bits_of(kind) else -1 if signed < 0 else 0


def _shifted_right_logically(a: int, b: int, kind: str) -> int:
    return a % (1 << bits_of(kind)) >> b if 0 <= b < bits_of(kind) else 0


BINARY: dict[str, Callable[[int, int, str], int]] = {
    "add": lambda a, b, _: a + b,
    "subtract": lambda a, b, _: a - b,
    "multiply": lambda a, b, _: a * b,
    "divide": _divided,
    "remainder": _remainder,
    "maximum": lambda a, b, _: max(a, b),
    "minimum": lambda a, b, _: min(a, b),
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "shift_left": _shifted_left,
    "shift_right_arithmetic": _shifted_right,
    "shift_right_logical": _shifted_right_logically,
}
UNARY: dict[str, Callable[[int, str], int]] = {
    "negate": lambda a, _: -a,
    "not": lambda a, _: ~a,
    "sign": lambda a, _: (a > 0) - (a < 0),
    "abs": lambda a, _: abs(a),
    "popcnt": lambda a, kind: (a % (1 << bits_of(kind))).bit_count(),
    "count_leading_zeros": lambda a, kind: bits_of(kind) - (a % (1 << bits_of(kind))).bit_length(),
}
ARITHMETIC = ("add", "add", "subtract", "multiply", "multiply")
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Value:
    """A value of the program: `elements` are those of a model of it, one if it is a scalar."""

    name: str
    kind: str
    is_scalar: bool
    elements: Callable[[int], Numbers]  # of the size of %x

    @property
    def type(self) -> str:
        return f"tensor<{'' if self.is_scalar else '?x'}{self.kind}>"


class Integers:
    """Writes a program op by op, and what it computes. `static`: the size of `%x`, if the text states it."""

    def __init__(self, random: Random, static: int | None = None) -> None:
        self.random, self.static = random, static
        self.lines: list[str] = []
        self.pool: list[Value] = []
        self.results: list[tuple[str, str, Callable[[int, Array], Array]]] = []
        self._count = 0
        self._known = dict[tuple[str, int], Numbers]()
        self._shape = self._line("stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>")
        self._sizes = self._line(f"stablehlo.reshape {self._shape} : (tensor<i32>) -> tensor<1xi32>")

    def _line(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %{self._count} = {text}")
        return f"%{self._count}"

    def _made(self, text: str, kind: str, elements: Callable[[int], Numbers], *, scalar: bool) -> Value:
        name = self._line(text)

        def remembered(size: int) -> Numbers:
            if (known := self._known.get((name, size))) is None:
                known = self._known[name, size] = [wrapped(x, kind) for x in elements(size)]
            return known

        value = Value(name, kind, scalar, remembered)
        self.pool.append(value)
        return value

    # what values are made of

    def iota(self, kind: str) -> Value:
        text = f"stablehlo.dynamic_iota {self._sizes}, dim = 0 : (tensor<1xi32>) -> tensor<?x{kind}>"
        return self._made(text, kind, lambda n: list(range(n)), scalar=False)

    def size(self, kind: str) -> Value:
        if kind == "i32":
            text = "stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>"
        else:
            text = f"stablehlo.convert {self._shape} : (tensor<i32>) -> tensor<{kind}>"
        return self._made(text, kind, lambda n: [n], scalar=True)

    def constant(self, kind: str, number: int) -> Value:
        text = f"stablehlo.constant dense<{number}> : tensor<{kind}>"
        return self._made(text, kind, lambda _: [number], scalar=True)

    def some_constant(self, kind: str) -> Value:
        low, high = limits(kind)
        near = [x for x in (-2, -1, 0, 1, 2, 3, 5, 7, 100, 100_000_000, 1 << 31, 1 << 40) if low <= x <= high]
        return self.constant(kind, self.random.choice([low, low + 1, high - 1, high, *near, *near]))

    def broadcast(self, x: Value) -> Value:
        text = (
            f"stablehlo.dynamic_broadcast_in_dim {x.name}, {self._sizes}, dims = [] "
            f": ({x.type}, tensor<1xi32>) -> tensor<?x{x.kind}>"
        )
        return self._made(text, x.kind, lambda n: x.elements(n) * n, scalar=False)

    def converted(self, x: Value, kind: str) -> Value:
        if x.kind == kind:
            return x
        shape = "" if x.is_scalar else "?x"
        text = f"stablehlo.convert {x.name} : ({x.type}) -> tensor<{shape}{kind}>"
        return self._made(text, kind, x.elements, scalar=x.is_scalar)

    def through_float(self, x: Value, kind: str) -> Value:
        """Convert to f64 and on: the second conversion holds numbers at the limits of the type."""
        shape = "" if x.is_scalar else "?x"
        middle = self._line(f"stablehlo.convert {x.name} : ({x.type}) -> tensor<{shape}f64>")
        low, high = limits(kind)
        text = f"stablehlo.convert {middle} : (tensor<{shape}f64>) -> tensor<{shape}{kind}>"
        return self._made(
            text, kind, lambda n: [min(max(int(float(a)), low), high) for a in x.elements(n)], scalar=x.is_scalar
        )

    def unary(self, name: str, x: Value) -> Value:
        function = UNARY[name]
        text = f"stablehlo.{name} {x.name} : {x.type}"
        return self._made(text, x.kind, lambda n: [function(a, x.kind) for a in x.elements(n)], scalar=x.is_scalar)

    def binary(self, name: str, a: Value, b: Value) -> Value:
        a, b = self._alike(a, b)
        function = BINARY[name]

        def elements(n: int) -> Numbers:
            return [function(x, y, a.kind) for x, y in zip(a.elements(n), b.elements(n), strict=True)]

        return self._made(f"stablehlo.{name} {a.name}, {b.name} : {a.type}", a.kind, elements, scalar=a.is_scalar)

    def clamp(self, low: Value, x: Value, high: Value) -> Value:
        low, x = self._alike(low, x)
        high, x = self._alike(high, x)
        low, x = self._alike(low, x)

        def elements(n: int) -> Numbers:
            rows = zip(low.elements(n), x.elements(n), high.elements(n), strict=True)
            return [min(max(a, b), c) for a, b, c in rows]

        text = f"stablehlo.clamp {low.name}, {x.name}, {high.name} : {x.type}"
        return self._made(text, x.kind, elements, scalar=x.is_scalar)

    def _alike(self, a: Value, b: Value) -> tuple[Value, Value]:
        if a.is_scalar and not b.is_scalar:
            a = self.broadcast(a)
        if b.is_scalar and not a.is_scalar:
            b = self.broadcast(b)
        return a, self.converted(b, a.kind)

    def compare(self, direction: str, a: Value, b: Value) -> tuple[str, Callable[[int], list[bool]], Value]:
        """The truth value, its model, and something of its shape."""
        a, b = self._alike(a, b)
        signed = "UNSIGNED" if a.kind[0] == "u" else "SIGNED"
        truth = f"tensor<{'' if a.is_scalar else '?x'}i1>"
        name = self._line(
            f"stablehlo.compare {direction}, {a.name}, {b.name}, {signed} : ({a.type}, {b.type}) -> {truth}"
        )
        function = COMPARISONS[direction]
        return name, lambda n: [function(*pair) for pair in zip(a.elements(n), b.elements(n), strict=True)], a

    def select(self, direction: str, a: Value, b: Value, then: Value, other: Value) -> Value:
        name, holds, like = self.compare(direction, a, b)
        then, other = self._alike(then, other)
        if then.is_scalar and not like.is_scalar:
            then, other = self.broadcast(then), self.broadcast(other)
        truth = f"tensor<{'' if like.is_scalar else '?x'}i1>"

        def elements(n: int) -> Numbers:
            tests, rows = holds(n), zip(then.elements(n), other.elements(n), strict=True)
            return [x if tests[0 if like.is_scalar else k] else y for k, (x, y) in enumerate(rows)]

        text = f"stablehlo.select {name}, {then.name}, {other.name} : {truth}, {then.type}"
        return self._made(text, then.kind, elements, scalar=then.is_scalar)

    # one random step

    def value(self, kind: str | None = None) -> Value:
        found = [x for x in self.pool if kind is None or x.kind == kind]
        return self.random.choice(found[-8:] if self.random.random() < 0.7 else found)

    def step(self) -> Value:
        draw, random = self.random.random(), self.random
        x = self.value()
        if draw < 0.12:
            return random.choice([self.iota, self.size, self.some_constant])(random.choice(TYPES))
        if draw < 0.35:
            return self.converted(x, random.choice(TYPES))
        if draw < 0.4:
            return self.through_float(x, random.choice(TYPES))
        if draw < 0.5:
            names = [name for name in UNARY if x.kind[0] == "i" or name not in {"negate", "abs", "sign"}]
            return self.unary(random.choice(names), x)
        other = self.value(x.kind) if random.random() < 0.6 else self.some_constant(x.kind)
        if draw < 0.75:
            return self.binary(random.choice(ARITHMETIC), x, other)
        if draw < 0.9:
            return self.binary(random.choice(tuple(BINARY)), x, other)
        if draw < 0.95:
            return self.clamp(self.some_constant(x.kind), x, other)
        return self.select(random.choice(tuple(COMPARISONS)), x, other, self.value(), self.value())

    # what values are used for

    def returned(self, x: Value) -> None:
        """The value itself."""
        self.results.append((x.name, x.type, lambda n, _: np.array(x.elements(n), object)))

    def gathered(self, x: Value) -> None:
        """`table[x]`, held within the table."""
        x = self.broadcast(x) if x.is_scalar else x
        name = self._line(
            f'"stablehlo.gather"(%table, {x.name}) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], '
            f"start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}} "
            f": (tensor<{TABLE}xf32>, {x.type}) -> tensor<?xf32>"
        )
        self.results.append(
            (
                name,
                "tensor<?xf32>",
                lambda n, table: np.array([table[_held(at, 1)] for at in x.elements(n)], np.float32),
            )
        )

    def sliced(self, x: Value) -> None:
        """Five elements of the table from a computed place on."""
        name = self._line(
            f"stablehlo.dynamic_slice %table, {x.name}, sizes = [5] : (tensor<{TABLE}xf32>, {x.type}) -> tensor<5xf32>"
        )
        self.results.append((name, "tensor<5xf32>", lambda n, table: _window(table, x.elements(n)[0])))

    def updated(self, x: Value) -> None:
        """The table with five ones from a computed place on."""
        ones = self._line("stablehlo.constant dense<1.0> : tensor<5xf32>")
        name = self._line(
            f"stablehlo.dynamic_update_slice %table, {ones}, {x.name} "
            f": (tensor<{TABLE}xf32>, tensor<5xf32>, {x.type}) -> tensor<{TABLE}xf32>"
        )

        def model(n: int, table: Array) -> Array:
            found, at = table.copy(), _held(x.elements(n)[0], 5)
            found[at : at + 5] = 1
            return found

        self.results.append((name, f"tensor<{TABLE}xf32>", model))

    def scattered(self, x: Value) -> None:
        """Count how often each place of the table is an element: what is out of bounds counts nothing."""
        x = self.broadcast(x) if x.is_scalar else x
        one = self._line("stablehlo.constant dense<1.0> : tensor<f32>")
        ones = self._line(
            f"stablehlo.dynamic_broadcast_in_dim {one}, {self._sizes}, dims = [] "
            ": (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>"
        )
        name = self._line(
            f'"stablehlo.scatter"(%table, {x.name}, {ones}) ({{ ^bb0(%a: tensor<f32>, %b: tensor<f32>): '
            f"%sum = stablehlo.add %a, %b : tensor<f32> stablehlo.return %sum : tensor<f32> }}) "
            f"{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
            f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} "
            f": (tensor<{TABLE}xf32>, {x.type}, tensor<?xf32>) -> tensor<{TABLE}xf32>"
        )

        def model(n: int, table: Array) -> Array:
            found = table.copy()
            for at in x.elements(n):
                if 0 <= at < TABLE:
                    found[at] += 1
            return found

        self.results.append((name, f"tensor<{TABLE}xf32>", model))

    def decided(self, a: Value, b: Value) -> None:
        """A comparison."""
        name, holds, like = self.compare(self.random.choice(tuple(COMPARISONS)), a, b)
        truth = f"tensor<{'' if like.is_scalar else '?x'}i1>"
        self.results.append((name, truth, lambda n, _: np.array(holds(n), bool)))

    def use(self) -> None:
        x = self.value()
        uses: list[Callable[[Value], None]] = [self.returned, self.gathered, self.scattered]
        if x.is_scalar:
            uses += [self.sliced, self.updated]
        if self.random.random() < 0.25:
            self.decided(x, self.value(x.kind))
        else:
            self.random.choice(uses)(x)

    def text(self) -> str:
        results = ", ".join(kind for _, kind, _ in self.results)
        names, body = ", ".join(name for name, _, _ in self.results), "\n".join(self.lines)
        found = (
            f"func.func @main(%x: tensor<?xf32>, %table: tensor<{TABLE}xf32>) -> ({results}) {{\n{body}\n"
            f"  return {names} : {results}\n}}"
        )
        return found if self.static is None else found.replace("tensor<?x", f"tensor<{self.static}x")

    def model(self, size: int, table: Array) -> list[Array]:
        return [function(size, table).reshape(-1) for _, _, function in self.results]


def _held(at: int, window: int) -> int:
    return max(0, min(at, TABLE - window))


def _window(table: Array, at: int) -> Array:
    return table[_held(at, 5) : _held(at, 5) + 5]


def program(seed: int, steps: int = 24, uses: int = 10, static: int | None = None) -> Integers:
    """A random program: numbers at the ends of types, sizes and iotas, arithmetic and conversions between them."""
    random = Random(seed)
    writer = Integers(random, static)
    for kind in random.sample(TYPES, 3):
        writer.iota(kind)
        writer.size(kind)
        writer.some_constant(kind)
    writer.iota("i32")
    for _ in range(steps):
        writer.step()
    for _ in range(uses):
        writer.use()
    return writer


def differs(found: Sequence[Any], wanted: Sequence[Array]) -> int | None:
    """The number of the first result that is wrong."""
    for k, (one, right) in enumerate(zip(found, wanted, strict=True)):
        got = np.asarray(one).reshape(-1)
        plain = [int(x) for x in got] if right.dtype == object else got.tolist()
        if plain != right.tolist():
            return k
    return None
