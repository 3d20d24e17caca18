"""Random programs whose sizes come from their data."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_MOST = 24  # elements that a size out of nowhere may have
_DEEPEST = 2  # regions in regions
_CARRIED = "tensor<?xf32>, tensor<i32>"


class Writer:
    """Writes a program op by op: vectors of f32 of sizes that nobody knows, and i32 scalars, which decide sizes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.vectors: list[str] = ["%x", "%y"]
        self.scalars: list[str] = ["%k", "%m"]
        self._count = self._depth = 0

    def op(self, text: str) -> str:
        """Add an op; return its value."""
        self._count += 1
        self.lines.append(f"  %{self._count} = {text}")
        return f"%{self._count}"

    def constant(self, value: int) -> str:
        return self.op(f"stablehlo.constant dense<{value}> : tensor<i32>")

    def binary(self, name: str, a: str, b: str, kind: str = "tensor<i32>") -> str:
        return self.op(f"stablehlo.{name} {a}, {b} : {kind}")

    def vector(self) -> str:
        return self.random.choice(self.vectors)

    def scalar(self) -> str:
        return self.random.choice(self.scalars)

    def shaped(self, *scalars: str) -> str:
        """A shape operand."""
        parts = [self.op(f"stablehlo.reshape {x} : (tensor<i32>) -> tensor<1xi32>") for x in scalars]
        if len(parts) == 1:
            return parts[0]
        types = ", ".join(["tensor<1xi32>"] * len(parts))
        return self.op(f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({types}) -> tensor<{len(parts)}xi32>")

    def size_of(self, vector: str) -> str:
        return self.op(f"stablehlo.get_dimension_size {vector}, dim = 0 : (tensor<?xf32>) -> tensor<i32>")

    def within(self, scalar: str, most: str) -> str:
        """The scalar, held between 0 and another."""
        return self.op(
            f"stablehlo.clamp {self.constant(0)}, {scalar}, {most} "
            ": (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>"
        )

    def filled(self, value: float, like: str) -> str:
        one = self.op(f"stablehlo.constant dense<{value:e}> : tensor<f32>")
        shape = self.shaped(self.size_of(like))
        return self.op(
            f"stablehlo.dynamic_broadcast_in_dim {one}, {shape}, dims = [] "
            ": (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>"
        )

    # what a program is made of

    def count(self) -> None:
        """How many elements are large: a scalar out of data."""
        x = self.vector()
        bound = self.filled(self.random.choice([-1.0, 0.0, 0.5, 9.0]), x)
        mask = self.op(f"stablehlo.compare GT, {x}, {bound} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>")
        ones = self.op(f"stablehlo.convert {mask} : (tensor<?xi1>) -> tensor<?xi32>")
        self.scalars.append(
            self.op(
                f"stablehlo.reduce({ones} init: {self.constant(0)}) applies stablehlo.add across dimensions = [0] "
                ": (tensor<?xi32>, tensor<i32>) -> tensor<i32>"
            )
        )

    def arithmetic(self) -> None:
        name = self.random.choice(["add", "subtract", "multiply", "minimum", "maximum", "divide", "remainder"])
        other = self.scalar() if self.random.random() < 0.5 else self.constant(self.random.randint(1, 4))
        found = self.binary(name, self.scalar(), other)
        self.scalars.append(self.within(found, self.constant(_MOST)))

    def select(self) -> None:
        a, b = self.scalar(), self.scalar()
        holds = self.op(f"stablehlo.compare LT, {a}, {b} : (tensor<i32>, tensor<i32>) -> tensor<i1>")
        self.scalars.append(self.op(f"stablehlo.select {holds}, {self.scalar()}, {b} : tensor<i1>, tensor<i32>"))

    def iota(self) -> None:
        shape = self.shaped(self.within(self.scalar(), self.constant(_MOST)))
        self.vectors.append(self.op(f"stablehlo.dynamic_iota {shape}, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>"))

    def slice(self) -> None:
        x = self.vector()
        start = self.shaped(self.within(self.scalar(), self.size_of(x)))
        stop = self.within(self.scalar(), self.size_of(x))
        stop = self.binary("maximum", start, self.shaped(stop), "tensor<1xi32>")
        step = self.shaped(self.constant(self.random.choice([1, 1, 2, 3])))
        types = ", ".join(["tensor<1xi32>"] * 3)
        self.vectors.append(
            self.op(
                f"stablehlo.real_dynamic_slice {x}, {start}, {stop}, {step} : (tensor<?xf32>, {types}) -> tensor<?xf32>"
            )
        )

    def pad(self) -> None:
        low, high = (self.shaped(self.within(self.scalar(), self.constant(4))) for _ in range(2))
        between = self.shaped(self.constant(self.random.choice([0, 0, 0, 1])))
        value = self.op("stablehlo.constant dense<2.5> : tensor<f32>")
        types = ", ".join(["tensor<1xi32>"] * 3)
        self.vectors.append(
            self.op(
                f"stablehlo.dynamic_pad {self.vector()}, {value}, {low}, {high}, {between} "
                f": (tensor<?xf32>, tensor<f32>, {types}) -> tensor<?xf32>"
            )
        )

    def concatenate(self) -> None:
        a, b = self.vector(), self.vector()
        kinds = "(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
        self.vectors.append(self.op(f"stablehlo.concatenate {a}, {b}, dim = 0 : {kinds}"))

    def rows(self) -> None:
        """Repeat a vector as rows, and add them up, or lay them in a line."""
        x = self.vector()
        count = self.within(self.scalar(), self.constant(5))
        shape = self.shaped(count, self.size_of(x))
        grid = self.op(
            f"stablehlo.dynamic_broadcast_in_dim {x}, {shape}, dims = [1] "
            ": (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>"
        )
        if self.random.random() < 0.5:
            line = self.shaped(self.binary("multiply", count, self.size_of(x)))
            text = f"stablehlo.dynamic_reshape {grid}, {line} : (tensor<?x?xf32>, tensor<1xi32>) -> tensor<?xf32>"
        else:
            zero = self.op("stablehlo.constant dense<0.0> : tensor<f32>")
            text = (
                f"stablehlo.reduce({grid} init: {zero}) applies stablehlo.add across dimensions = [0] "
                ": (tensor<?x?xf32>, tensor<f32>) -> tensor<?xf32>"
            )
        self.vectors.append(self.op(text))

    def gather(self) -> None:
        x = self.vector()
        size = self.shaped(self.within(self.scalar(), self.size_of(x)))
        start = self.shaped(self.scalar())
        self.vectors.append(
            self.op(
                f'"stablehlo.dynamic_gather"({x}, {start}, {size}) <{{dimension_numbers = #stablehlo.gather<'
                "offset_dims = [0], start_index_map = [0], index_vector_dim = 0>}> "
                ": (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>"
            )
        )

    def elementwise(self) -> None:
        x = self.vector()
        name = self.random.choice(["negate", "tanh", "abs"])
        found = self.op(f"stablehlo.{name} {x} : tensor<?xf32>")
        self.vectors.append(self.binary("add", found, self.filled(1.5, x), "tensor<?xf32>"))

    # what runs a part of a program, and what that computes

    def branches(self) -> None:
        """A `case` of which every branch computes a vector and a scalar."""
        index = self.scalar()
        inner = [self.region(self.random.randint(1, 2)) for _ in range(self.random.choice([2, 3]))]
        regions = [
            "{\n" + "\n".join(lines) + f"\n  stablehlo.return {v}, {s} : {_CARRIED}\n}}" for lines, v, s in inner
        ]
        self.carried(f'"stablehlo.case"({index}) ({", ".join(regions)}) : (tensor<i32>) -> ({_CARRIED})')

    def loop(self) -> None:
        """A `while` of a few turns that carries a vector and a scalar."""
        start, bound, one = self.constant(0), self.within(self.scalar(), self.constant(3)), self.constant(1)
        x, s = self.vector(), self.scalar()
        self._count += 1
        turn, vector, scalar = (f"%{kind}{self._count}" for kind in "ijk")
        lines, v, t = self.region(self.random.randint(1, 3), [vector], [scalar, turn])
        held = f"%held{self._count}"
        text = "\n".join(
            [
                f"stablehlo.while({turn} = {start}, {vector} = {x}, {scalar} = {s}) : tensor<i32>, {_CARRIED}",
                "  cond {",
                f"    {held} = stablehlo.compare LT, {turn}, {bound} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
                f"    stablehlo.return {held} : tensor<i1>",
                "  } do {",
                *lines,
                f"    {turn}n = stablehlo.add {turn}, {one} : tensor<i32>",
                f"    stablehlo.return {turn}n, {v}, {t} : tensor<i32>, {_CARRIED}",
                "  }",
            ]
        )
        self.carried(text, first=1)

    def carried(self, text: str, first: int = 0) -> None:
        """Add an op whose results from number `first` on are a vector and a scalar."""
        self._count += 1
        self.lines.append(f"  %{self._count}:{first + 2} = {text}")
        self.vectors.append(f"%{self._count}#{first}")
        self.scalars.append(f"%{self._count}#{first + 1}")

    def region(
        self, steps: int, vectors: Sequence[str] = (), scalars: Sequence[str] = ()
    ) -> tuple[list[str], str, str]:
        """The lines of a region that sees what is around it, and has these arguments; a vector and a scalar of it."""
        around = self.lines, self.vectors, self.scalars
        self.lines = list[str]()
        self.vectors = [*self.vectors, *(x for x in vectors for _ in range(3))]  # of its own more often
        self.scalars = [*self.scalars, *(x for x in scalars for _ in range(3))]
        self._depth += 1
        kinds = [self.count, self.arithmetic, self.iota, self.slice, self.pad, self.concatenate, self.elementwise]
        nested = [self.branches, self.loop] if self._depth < _DEEPEST else []
        for _ in range(steps):
            self.random.choice([*kinds, *nested])()
        short = self.within(self.size_of(self.vectors[-1]), self.constant(_MOST))  # or it grows without end
        found = self.cut(self.vectors[-1], short), self.scalars[-1]
        self._depth -= 1
        lines = self.lines
        self.lines, self.vectors, self.scalars = around
        return lines, *found

    def cut(self, x: str, size: str) -> str:
        """The first elements of a vector."""
        zero, one = (self.shaped(self.constant(k)) for k in (0, 1))
        types = ", ".join(["tensor<1xi32>"] * 3)
        return self.op(
            f"stablehlo.real_dynamic_slice {x}, {zero}, {self.shaped(size)}, {one} "
            f": (tensor<?xf32>, {types}) -> tensor<?xf32>"
        )

    def text(self, steps: int, *, control: bool = False) -> str:
        """A whole program of so many of these; with loops and branches if there is `control`."""
        kinds = [self.count, self.arithmetic, self.select, self.iota, self.slice, self.pad, self.concatenate, self.rows,
                 self.gather, self.elementwise, self.count, self.slice]  # fmt: skip
        for number in range(steps):
            nested = [self.branches, self.loop] if control and number % 3 == 2 else []
            self.random.choice(nested or kinds)()
        given = self.random.sample(self.vectors, min(3, len(self.vectors)))
        last = self.scalars[-1]
        types = ["tensor<?xf32>"] * len(given) + ["tensor<i32>"]
        return "\n".join(
            [
                "func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %k: tensor<i32>, %m: tensor<i32>)"
                f" -> ({', '.join(types)}) {{",
                *self.lines,
                f"  return {', '.join([*given, last])} : {', '.join(types)}",
                "}",
            ]
        )
