"""Clean-up of printed functions: removes unused declarations, and redundant parentheses, zeros and ones.

Templates declare all that the formulas of any kernel may read: indices of the batch, pointers, sizes. Which of them a
kernel reads is known once its formulas are printed. A sum is printed in parentheses, as it may become a factor.
Offsets may be 0, and strides 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_NAME = re.compile(r"[A-Za-z_]\w*")
# One constant: `const int64_t n = ...;`, `const float* __restrict__ const p = ...;`.
_DECLARATION = re.compile(r"\s*(?:const \w+|(?:const )?\w+\*(?: __restrict__)? const) (\w+) = (.*);(?:  // .*)?")
_CALL = re.compile(r"([A-Za-z_]\w*|>)\(")  # of a function, or of one with template arguments
_PURE = frozenset({"floordiv", "mod", "min_", "max_"})  # functions of sizes
_BRACKET = re.compile(r"[()\[\]{},]")
_BEFORE = re.compile(r"(?:[(\[{]|, | = |return )$")  # what precedes a whole expression
_AFTER = frozenset(")]},;")
# `+ 0` and `* 1` of integers: numbers of other types are not written so
_NEUTRAL = re.compile(r" \+ 0(?=[,;)\]}]| [-+<>=!])| \* 1(?=[,;)\]}]| [-+*<>=!])")


def tidy(lines: Iterable[str]) -> list[str]:
    """The lines of functions, each of which ends at a line `}`, without redundant text.

    >>> tidy(["void f(const int64_t* dims) {", "  const int64_t n = dims[0];", "  g((a + 1), 2 * (a + 1));", "}"])
    ['void f(const int64_t* dims) {', '  g(a + 1, 2 * (a + 1));', '}']
    """
    found, function = list[str](), list[str]()
    for line in lines:
        function.append(_NEUTRAL.sub("", without_parentheses(line)))
        if line == "}":
            found += _without_unused(function)
            function.clear()
    return found + function


def without_parentheses(line: str) -> str:
    """The line without those parentheses around a whole argument, index or value of a declaration.

    >>> without_parentheses("const int64_t n = (a * b), m = max_((a + 1), 2) * (a + b);")
    'const int64_t n = a * b, m = max_(a + 1, 2) * (a + b);'
    """
    opened, dropped = list[tuple[int, bool]](), set[int]()
    code = line.partition("//")[0]
    for match in _BRACKET.finditer(code):
        place, sign = match.start(), match[0]
        if sign in "([{":
            opened.append((place, sign == "("))
        elif not opened:  # it was opened in a line before
            continue
        elif sign == ",":
            opened[-1] = opened[-1][0], False  # arguments, or a list
        else:
            start, is_group = opened.pop()
            if is_group and place > start + 1 and code[place + 1 : place + 2] in _AFTER:
                dropped |= {start, place} if _BEFORE.search(code, 0, start) else set()
    return "".join(c for k, c in enumerate(line) if k not in dropped) if dropped else line


def _without_unused(function: Sequence[str]) -> list[str]:
    """Drop unused constants, from the last line to the first, so that constants that only they read are dropped too."""
    names = [_NAME.findall(line) for line in function]
    uses = Counter(name for line in names for name in line)
    kept = list[str]()
    for line, read in zip(reversed(function), reversed(names), strict=True):
        declared = _constant(line)
        if declared is not None and uses[declared] == 1:
            uses.subtract(read)
        else:
            kept.append(line)
    return kept[::-1]


def _constant(line: str) -> str | None:
    """The name that a line declares, if that is all it does."""
    if (match := _DECLARATION.fullmatch(line)) is None:
        return None
    name, value = match.groups()
    does_more = " = " in value or not _PURE.issuperset(_CALL.findall(value)) or _is_list(value)
    return None if does_more else name


def _is_list(text: str) -> bool:
    """Whether a comma separates several declarations."""
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == "," and not depth:
            return True
    return False
