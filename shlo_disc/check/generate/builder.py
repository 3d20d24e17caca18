"""A program while it is generated: its text, the values so far, and how sizes are computed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from shlo_disc.check.generate.choices import Choices, chance, pick
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

Shape = tuple[Dim, ...]
_NAME = re.compile(r"%\w+(?:#\d+)?")
MOST_FIXED = 1 << 15  # product of fixed sizes of an operand: later steps make larger values
_RECENT = 5  # last values, which are preferred as operands, so that programs become deep
_ARITHMETIC = {"add": Dim.__add__, "multiply": Dim.__mul__, "divide": Dim.__floordiv__}


@record
class ProgramValue:
    """A value of the program. Its type has `?` for dynamic sizes."""

    name: str
    shape: Shape
    dtype: DType

    @property
    def type(self) -> str:
        return spell(self.shape, self.dtype)


@record
class _Recipe:
    """The op, by name, that computes a size from two others."""

    name: str
    a: Dim
    b: Dim


def spell(shape: Sequence[Dim], dtype: DType) -> str:
    """Spell a tensor type.

    >>> from shlo_disc.expr.dim import symbol
    >>> spell([symbol("a"), const(4)], DType.F32), spell([], DType.I1)
    ('tensor<?x4xf32>', 'tensor<i1>')
    """
    sizes = "".join(f"{'?' if dim.constant is None else dim.constant}x" for dim in shape)
    return f"tensor<{sizes}{dtype.value}>"


def is_fixed(shape: Shape) -> bool:
    """Whether all sizes are static."""
    return all(dim.constant is not None for dim in shape)


def fixed_elements(shape: Sequence[Dim]) -> int:
    """The product of all static sizes but 0."""
    return math.prod(dim.constant or 1 for dim in shape)


class ProgramBuilder:
    """Builds a program line by line."""

    def __init__(self, choices: Choices, *, beyond_xla: bool = False) -> None:
        """`beyond_xla`: ops that XLA does not run are allowed, too."""
        self.choices, self.beyond_xla = choices, beyond_xla
        self.values = list[ProgramValue]()
        self.arguments = list[ProgramValue]()
        self.functions = list[str]()
        self._lines = list[str]()
        self._names = 0
        self._recipes = dict[Dim, _Recipe]()

    def pick(self, fits: Callable[[ProgramValue], bool]) -> ProgramValue | None:
        """Decide on a value, mostly one of the last; None if none fits."""
        usable = [value for value in reversed(self.values) if fixed_elements(value.shape) <= MOST_FIXED]
        found = [value for value in usable if fits(value)]
        if not found:
            return None
        return pick(self.choices, found if chance(self.choices, 3) else found[:_RECENT])

    def argument(self, shape: Shape, dtype: DType) -> ProgramValue:
        """Add an argument of the program."""
        made = ProgramValue(f"%arg{len(self.arguments)}", shape, dtype)
        self.arguments.append(made)
        self.values.append(made)
        return made

    def forget(self) -> None:
        """Begin a program that uses none of the values so far."""
        self.values = []

    def fresh(self) -> str:
        """Make a name."""
        self._names += 1
        return f"%{self._names - 1}"

    def quiet(self, text: str, shape: Shape, dtype: DType) -> ProgramValue:
        """Add an op whose result later steps do not pick."""
        made = ProgramValue(self.fresh(), shape, dtype)
        self._lines.append(f"{made.name} = {text}")
        return made

    def op(self, text: str, shape: Shape, dtype: DType) -> ProgramValue:
        """Add an op whose result later steps may pick."""
        made = self.quiet(text, shape, dtype)
        self.values.append(made)
        return made

    def read(self) -> set[str]:
        """The names of the values that ops read."""
        return {name for line in self._lines for name in _NAME.findall(line.partition(" = ")[2] or line)}

    def line(self, text: str) -> None:
        """Add lines as they are."""
        self._lines.append(text)

    def splat(self, literal: str, dtype: DType, shape: Shape = ()) -> ProgramValue:
        """A splat constant; with dynamic sizes, by a broadcast."""
        if not is_fixed(shape):
            return self.broadcast(self.splat(literal, dtype), (), shape)
        return self.quiet(f"stablehlo.constant dense<{literal}> : {spell(shape, dtype)}", shape, dtype)

    def broadcast(self, x: ProgramValue, dims: Sequence[int], shape: Shape) -> ProgramValue:
        """Broadcast, statically if all sizes are fixed."""
        where = f"dims = [{', '.join(map(str, dims))}]"
        if is_fixed(shape):
            text = f"stablehlo.broadcast_in_dim {x.name}, {where} : ({x.type}) -> {spell(shape, x.dtype)}"
            return self.quiet(text, shape, x.dtype)
        sizes = self.sizes(shape)
        text = f"stablehlo.dynamic_broadcast_in_dim {x.name}, {sizes.name}, {where} : "
        return self.quiet(f"{text}({x.type}, {sizes.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)

    def computed(self, name: str, a: Dim, b: Dim) -> Dim:
        """A size that is computed from two others: `add`, `multiply` or `divide` (rounded down)."""
        made = _ARITHMETIC[name](a, b)
        if made.constant is None and made not in self._recipes and made not in self._open():
            self._recipes[made] = _Recipe(name, a, b)
        return made

    def _open(self) -> list[Dim]:
        return [dim for value in self.arguments for dim in value.shape if dim.constant is None]

    def size(self, dim: Dim) -> ProgramValue:
        """A size as a scalar: read from a value that has it, or computed."""
        if dim.constant is not None:
            return self.splat(str(dim.constant), DType.I32)
        holders = [value for value in self.values if dim in value.shape]
        recipe = self._recipes.get(dim)
        if holders and (recipe is None or chance(self.choices, 3)):
            value = holders[0] if not chance(self.choices, 3) else pick(self.choices, holders)
            axis = value.shape.index(dim)
            text = f"stablehlo.get_dimension_size {value.name}, dim = {axis} : ({value.type}) -> tensor<i32>"
            return self.quiet(text, (), DType.I32)
        assert recipe is not None, f"the size {dim} has no value and no recipe"
        a, b = self.size(recipe.a), self.size(recipe.b)
        return self.quiet(f"stablehlo.{recipe.name} {a.name}, {b.name} : tensor<i32>", (), DType.I32)

    def sizes(self, shape: Shape) -> ProgramValue:
        """A shape as a vector."""
        rank = (const(len(shape)),)
        if not shape:
            return self.quiet("stablehlo.constant dense<> : tensor<0xi32>", rank, DType.I32)
        if is_fixed(shape):
            numbers = ", ".join(str(dim.constant) for dim in shape)
            return self.quiet(f"stablehlo.constant dense<[{numbers}]> : {spell(rank, DType.I32)}", rank, DType.I32)
        parts = [self.size(dim) for dim in shape]
        text = "stablehlo.reshape {} : (tensor<i32>) -> tensor<1xi32>"
        ones = [self.quiet(text.format(x.name), (const(1),), DType.I32) for x in parts]
        names, types = ", ".join(x.name for x in ones), ", ".join(x.type for x in ones)
        text = f"stablehlo.concatenate {names}, dim = 0 : ({types}) -> {spell(rank, DType.I32)}"
        return self.quiet(text, rank, DType.I32)

    def reshape(self, x: ProgramValue, shape: Shape) -> ProgramValue:
        """Reshape, statically if both shapes are fixed."""
        if is_fixed((*x.shape, *shape)):
            return self.op(f"stablehlo.reshape {x.name} : ({x.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)
        sizes = self.sizes(shape)
        text = f"stablehlo.dynamic_reshape {x.name}, {sizes.name} : ({x.type}, {sizes.type}) -> {spell(shape, x.dtype)}"
        return self.op(text, shape, x.dtype)

    def text(self, results: Sequence[ProgramValue]) -> str:
        """The whole module."""
        types = ", ".join(x.type for x in results)
        arguments = ", ".join(f"{x.name}: {x.type}" for x in self.arguments)
        body = "\n".join(f"    {line}" for text in self._lines for line in text.splitlines())
        functions = "".join(self.functions)
        names = ", ".join(x.name for x in results)
        return (
            f"module {{\n{functions}  func.func @main({arguments}) -> ({types}) {{\n{body}\n"
            f"    return {names} : {types}\n  }}\n}}\n"
        )
