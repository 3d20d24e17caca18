"""Nested blocks of generated code, and the block in which each value is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

from shlo_disc.analysis.access import children
from shlo_disc.emit.spelling import Spelling
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.node import Node
from shlo_disc.kernels.dependence import ROW, Dependence

INDENT = "  "


@dataclass(slots=True, eq=False)
class Scope:
    """One block of statements. `arrayed`: its variables are arrays over the unrolled rows, indexed by `k`."""

    lines: list[str] = field(default_factory=list[str])
    names: dict[Node, str] = field(default_factory=dict[Node, str])
    arrayed: bool = False
    pending: list[str] = field(default_factory=list[str])  # statements that go into the next loop over rows
    carries: set[str] = field(default_factory=set[str])  # of folds, declared as variables of this block

    def block(self, text: Iterable[str]) -> None:
        """Append whole blocks of text after everything printed so far."""
        self.flush()
        self.lines.extend(text)

    def flush(self) -> None:
        """Wrap the pending statements into a loop over the unrolled rows."""
        if self.pending:
            self.lines.append("for (int k = 0; k < R; ++k) {")
            self.lines.extend(INDENT + line for line in self.pending)
            self.lines.append("}")
            self.pending.clear()


class ScopeStack:
    """The open blocks of one kernel: kernel, row, loops; and where each loop symbol and arg is bound."""

    def __init__(self, spelling: Spelling) -> None:
        self.spell = spelling
        self.scopes = [Scope()]
        self.home = dict[str, int]()  # which scope binds a loop symbol or an arg
        self.lane: str | None = None  # the symbol whose values are vector lanes
        self.partial = False  # lanes beyond `left` are absent
        self.mask = ""  # the mask of lanes that may load, if a guard differs from lane to lane
        self.deps = Dependence()
        self.uses = Counter[Node]()
        self.count = 0
        self.lane_args: set[str] = set()  # args that are vectors while there is a lane
        self.arrays = set[str]()  # args that are arrays over the unrolled rows wherever they are read
        self.aliases = dict[str, str]()  # args whose value has another name already
        self.row_scope = 0
        self.floor: int = 0  # inside a guard, loads are not hoisted further out than this scope
        self.sizes = dict[str, None]()  # program symbols in the order of first use

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    @contextmanager
    def inside(self, *symbols: str, arrayed: bool = False) -> Generator[Scope]:
        """Open a scope that binds these symbols; the caller places its lines afterwards."""
        self.scopes.append(Scope(arrayed=arrayed))
        shadowed = {s: self.home.get(s) for s in symbols}
        for symbol in symbols:
            self.home[symbol] = len(self.scopes) - 1
        try:
            yield self.scopes[-1]
        finally:
            self.scopes[-1].flush()
            for symbol, before in shadowed.items():
                if before is None:
                    del self.home[symbol]
                else:
                    self.home[symbol] = before
            self.scopes.pop()

    def bind(self, name: str, scope: int) -> None:
        """Record that an arg is defined in scope number `scope`."""
        self.home[name] = scope

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def count_uses(self, roots: Iterable[Node]) -> None:
        """Count the uses of each node, so that a node used once is printed inside its user's expression."""
        self.uses = Counter[Node]()
        stack, seen = list(roots), set[Node]()
        self.uses.update(stack)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            below = list(children(node))
            self.uses.update(below)
            stack.extend(below)

    def level(self, node: Node) -> int:
        """The number of the outermost scope in which everything that `node` depends on is defined."""
        names = self.deps.of(node)
        found = max((self.home_of(name) for name in names), default=self.floor)
        found = max(found, self.floor)
        lanes_are_rows = self.lane is not None and self.home.get(self.lane) == self.row_scope
        if self.lane in names and self.row_scope and not lanes_are_rows and self._knows_row(names):
            return max(found, len(self.scopes) - 1)
        return found

    def _knows_row(self, names: Iterable[str]) -> bool:
        return any(self.home_of(name) == self.row_scope for name in names)

    def home_of(self, name: str) -> int:
        return self.row_scope if name == ROW else self.home.get(name, 0)

    def is_vector(self, node: Node) -> bool:
        """Whether the value differs from lane to lane."""
        if self.lane is None:
            return False
        names = self.deps.of(node)
        return self.lane in names or not self.lane_args.isdisjoint(names)

    def arg(self, name: str) -> str:
        """The text of an arg: an array element if its scope is the unrolled row."""
        if (known := self.aliases.get(name)) is not None:
            return known
        scope = self.home.get(name, 0)
        arrayed = name in self.arrays or (scope < len(self.scopes) and self.scopes[scope].arrayed)
        return clean(name) + ("[k]" if arrayed else "")

    def level_of_dim(self, dim: Dim) -> int:
        """The outermost scope in which a dim can be computed."""
        found = max((self.home_of(name) for name in self.deps.of(dim)), default=0)
        return max(found, self.floor) if dim.data() else found


def clean(name: str) -> str:
    """The C name of a loop symbol."""
    return name.removeprefix("%")


def unbraced(lines: list[str]) -> list[str]:
    """Statements without the braces of the block at their end; as they are if there are other blocks among them.

    >>> unbraced(["f();", "{", "  g();", "}"])
    ['f();', 'g();']
    >>> unbraced(["{", "  f();", "}", "if (a) {", "  g();", "}"])[0]
    '{'
    """
    if lines.count("{") != 1:
        return lines
    start = lines.index("{")
    if lines.index("}", start) < len(lines) - 1:
        return lines
    return [*lines[:start], *(line.removeprefix(INDENT) for line in lines[start + 1 : -1])]
