"""Parts of a host program in C++: sizes, checks, and where the buffers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.remarks import remark
from shlo_disc.emit.scopes import INDENT
from shlo_disc.emit.spelling import Spelling
from shlo_disc.expr.dim import Atom, Dim
from shlo_disc.expr.magnitude import ANY, LARGEST, Monomial
from shlo_disc.host.program import HostBuffer, HostCallRef, HostProgram, HostStep, LaunchStep
from shlo_disc.host.size_bounds import MOST
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While

# Not inlined: a call has hundreds of size formulas, and these functions, inlined into them, took half of the host
# program's compilation.
ARITHMETIC = """\
#define SHLO_SIZES static __attribute__((noinline, unused)) int64_t
SHLO_SIZES floordiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
SHLO_SIZES mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }
SHLO_SIZES min_(int64_t a, int64_t b) { return a < b ? a : b; }
SHLO_SIZES max_(int64_t a, int64_t b) { return a > b ? a : b; }
"""
HOST_CALLS = """\
// Runs host call `number` of the program: Python, with the GIL. `buffers`: what it reads, then what it fills, with
// all their shapes in `dims`, one after the other. 0 if it raised an error; then the program ends at once.
typedef int64_t (*ShloHostCall)(void* session, int64_t number, void* const* buffers, const int64_t* dims);
"""
HOST_CALL_PARAMS = ", ShloHostCall host_call, void* session"
_ANY, _END = -2, -1  # in the table of bounds: the largest of all sizes, and the end of a product
_LONG = 24  # characters of a quotient, minimum or maximum beyond which it gets a name
_PLAN = """\
extern "C" int64_t shlo_plan(const int64_t* raw, int64_t* symbols, int64_t* result_dims,
                             int64_t* arena_bytes) {"""


def print_dim(dim: Dim) -> str:
    """A size as C."""
    return Emitter(Spelling()).dim_scalar(dim)


class SizePrinter(Emitter):
    """Prints sizes of one function. Long parts, which many sizes may share, are computed once, under a name."""

    def __init__(self) -> None:
        super().__init__(Spelling())
        self._texts = dict[Dim, str]()
        self._names = dict[str, str]()
        self._new = list[str]()

    def text(self, dim: Dim) -> str:
        """A size as C, which may use names that `take` defines."""
        if dim not in self._texts:
            self._texts[dim] = self.dim_scalar(dim)
        return self._texts[dim]

    def take(self) -> list[str]:
        """The statements that define the names since the last call."""
        lines, self._new = self._new, []
        return lines

    def _atom(self, atom: Atom) -> str:
        text = super()._atom(atom)
        if len(text) <= _LONG:
            return text
        if text not in self._names:
            self._names[text] = f"size{len(self._names)}"
            self._new.append(f"{INDENT}const int64_t {self._names[text]} = {text};")
        return self._names[text]


def symbol_names(program: Program, host: HostProgram) -> list[str]:
    """The symbols that a call brings, then those computed from them."""
    return [
        *(symbol.name for symbol in program.given),
        *(s.name for s, _ in (*program.definitions, *host.definitions)),
    ]


def print_plan(program: Program, host: HostProgram) -> list[str]:
    """`shlo_plan`: bind the sizes, check them, and compute the others.

    It returns 0, the number of a check that fails, or -1 if the runtime has to evaluate the formulas itself: one may
    overflow (see `size_bounds`), or a condition of the layout fails.
    """
    lines, sizes = [_PLAN], SizePrinter()

    def add(line: str) -> None:
        lines.extend((*sizes.take(), f"{INDENT}{line}"))

    for line in print_bounds(host.bounds, [symbol.name for symbol in program.given]):
        add(line)
    for k, symbol in enumerate(program.given):
        add(f"const int64_t {size_name(symbol.name)} = symbols[{k}] = raw[{k}];")
    definitions = (*program.definitions, *host.definitions)
    for k, (symbol, dim) in enumerate(definitions, start=len(program.given)):
        add(f"const int64_t {size_name(symbol.name)} = symbols[{k}] = {sizes.text(dim)};")
    for number, check in enumerate(program.checks, start=1):
        condition = f"{sizes.text(check.lhs)} {check.relation.value} {sizes.text(check.rhs)}"
        add(f"if (!({condition})) return {number};  // {remark(check.span.where())}")
    for k, dim in enumerate(d for tensor in program.body.results for d in tensor.shape):
        add(f"result_dims[{k}] = {sizes.text(dim)};")
    add(f"*arena_bytes = {sizes.text(host.arena_bytes)};")
    for dim in host.conditions:
        add(f"if ({sizes.text(dim)} < 0) return -1;")
    return [*lines, f"{INDENT}return 0;", "}"]


def print_bounds(bounds: Sequence[tuple[Monomial, int]], given: Sequence[str]) -> list[str]:
    """Statements that return -1 beyond the bounds: a table of products for `shlo_fits` of `sizes.h`, and its call."""
    number = {name: k for k, name in enumerate(given)}
    table = list[int]()
    for monomial, weight in bounds:
        table += [min(weight, LARGEST), *(_ANY if name == ANY else number[name] for name in monomial), _END]
    return [
        f"static const int64_t products[] = {{{', '.join(map(str, table)) or '0'}}};",
        f"if (!shlo_fits(products, {len(bounds)}, {MOST}, raw, {len(given)})) return -1;",
    ]


def print_names(program: Program, host: HostProgram) -> list[str]:
    """The beginning of `shlo_run`: a constant per size, and a pointer per buffer, with a remark on what it holds."""
    lines = list[str]()
    for k, name in enumerate(symbol_names(program, host)):
        lines.append(f"{INDENT}const int64_t {size_name(name)} = symbols[{k}];")
    arguments = len(program.parameters)
    return lines + [INDENT + _declare(slot, buffer, arguments) for slot, buffer in enumerate(host.buffers)]


def _declare(slot: int, buffer: HostBuffer, arguments: int) -> str:
    source = {
        "argument": f"(char*)arguments[{buffer.number}]",
        "result": f"(char*)results[{buffer.number}]",
        "constant": f"(char*)constants[{buffer.number}]",
        "arena": f"arena + {print_dim(buffer.offset)}",
        "packed": f"(char*)arguments[{arguments + buffer.number}]",
        "null": "nullptr",
    }[buffer.kind]
    if (given := buffer.packed) is not None:
        source = f"b{given} != nullptr ? b{given} : {print_dim(buffer.size)} > 0 ? {source} : nullptr"
    return f"char* const b{slot} = {source};  // {remark(buffer.made)}"


def has_host_calls(steps: Sequence[HostStep]) -> bool:
    """Whether the program calls Python functions."""
    for step in steps:
        match step:
            case LaunchStep(kernel, _):
                inside = isinstance(kernel, HostCallRef)
            case While(condition, _, body):
                inside = has_host_calls((*condition, *body))
            case Case(_, _, branches):
                inside = any(map(has_host_calls, branches))
            case Copy() | LaunchGroup():
                inside = False
            case _:
                assert_never(step)
        if inside:
            return True
    return False
