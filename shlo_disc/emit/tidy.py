"""Clean-up of printed functions: removes unused constants, and redundant parentheses, zeros and ones.

Templates declare all that the formulas of any kernel may read: indices of the batch, pointers, sizes. Which of them a
kernel reads is known only when its formulas are printed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

_NAME = re.compile(r"[A-Za-z_]\w*")
# Constants: `const int64_t m = ..., n = ...;`, `const float* __restrict__ const p = ...;`.
_CONSTANTS = re.compile(
    r"(?P<kind>\s*(?:const \w+|(?:const )?\w+\*(?: const\*)?(?: __restrict__)? const) )"
    r"(?P<list>(?P<name>\w+) = .*);(?:  //.*)?"
)
_ASSIGNED_TOO = re.compile(r"\w+ = (\w+\[\w+\] = .*)")  # `n = symbols[0] = raw[0]`
_CALL = re.compile(r"([A-Za-z_]\w*|>)(?:<\w+>)?\(")  # of a function, which may have a template argument, or several
_PURE = re.compile(r"floordiv|mod|min_|max_|to_\w+|load(?:_n|_at)?|team_row")  # functions that only return a value
_BRACE = re.compile(r"[{}]")
_BRACKET = re.compile(r"[()\[\]{},]")
_BEFORE = re.compile(r"(?:[(\[{]|, | = |return )$")  # what precedes a whole expression
_AFTER = frozenset(")]},;")
_OPERATOR = re.compile(r"[()\[\]{}]| ([^\w\s]+) ")  # of two operands, with spaces around it
_UNKNOWN = re.compile(r"[<>=&|^?:!]")  # parts of other operators, or of template arguments
_PRODUCT = frozenset("*/%")
_SUM = _PRODUCT | frozenset("+-")
_CAST_OF_NAME = re.compile(r"(\((?:const )?\w+\*\))\((\w+)\)")
# `+ 0` and `* 1` of integers: numbers of other types are not written so
_NEUTRAL = re.compile(r" \+ 0(?=[,;)\]}]| [-+<>=!])| \* 1(?=[,;)\]}]| [-+*<>=!])")


def tidy(lines: Iterable[str]) -> list[str]:
    """The lines of functions, each of which ends at a line `}`, without redundant text.

    >>> tidy(["void f(const int64_t* dims) {", "  const int64_t n = dims[0];", "  g((a + 1), 2 * (a + 1));", "}"])
    ['void f(const int64_t* dims) {', '  g(a + 1, 2 * (a + 1));', '}']
    """
    found, function = list[str](), list[str]()
    for line in lines:
        line = without_parentheses(line)  # noqa: PLW2901 - the line as it is printed
        function.append(_NEUTRAL.sub("", line) if " + 0" in line or " * 1" in line else line)
        if line == "}":
            found += _without_unused(function)
            function.clear()
    return found + function


def _code(line: str) -> str:
    """The line without its comment."""
    return line.partition("//")[0]


# -- parentheses


def without_parentheses(line: str) -> str:
    """The line without those parentheses that do not change how it is parsed.

    >>> without_parentheses("const int64_t n = (a * b), m = max_((a + 1), 2) * (a + b) + (c * d);")
    'const int64_t n = a * b, m = max_(a + 1, 2) * (a + b) + c * d;'
    """
    if "(" not in line:
        return line
    opened, dropped = list[tuple[int, bool]](), set[int]()
    code = _code(line)
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
            if is_group and place > start + 1 and _is_redundant(code, start, place):
                dropped |= {start, place}
    text = "".join(c for k, c in enumerate(line) if k not in dropped) if dropped else line
    return _CAST_OF_NAME.sub(r"\1\2", text) if "*)(" in text else text


def _is_redundant(code: str, start: int, end: int) -> bool:
    """Whether the expression between two parentheses is parsed in the same way without them."""
    is_first, is_last = _BEFORE.search(code, 0, start) is not None, code[end + 1 : end + 2] in _AFTER
    if is_first and is_last:
        return True
    text, is_added_to = code[start + 1 : end], code.startswith((" + ", " - "), end + 1)
    if _UNKNOWN.search(text):
        return False
    if is_first:  # `(a + b) - c`
        return is_added_to and _SUM.issuperset(_operators(text))
    is_added = code.endswith((" + ", " - "), 0, start)  # `a + (b * c)`
    return is_added and (is_last or is_added_to) and _PRODUCT.issuperset(_operators(text))


def _operators(text: str) -> Iterator[str]:
    """The operators of two operands that are outside of all brackets."""
    depth = 0
    for match in _OPERATOR.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[1] and not depth:
            yield match[1]


# -- unused constants


def _without_unused(function: Sequence[str]) -> list[str]:
    """Drop unused constants, from the last line to the first, so that constants that only they read are dropped too."""
    ends, kept = _ends(function), list[str]()
    reads = dict[str, int]()  # the first kept line below that has a name
    for number in range(len(function) - 1, -1, -1):
        line, end = function[number], ends[number]
        names = _NAME.findall(_code(line))
        if (match := _CONSTANTS.fullmatch(line)) is not None:
            part = _read_part(match, {name for name in names if reads.get(name, end) < end})
            if part is None:
                continue
            if part != line:
                line, names = part, _NAME.findall(_code(part))
        reads.update(dict.fromkeys(names, number))
        kept.append(line)
    return kept[::-1]


def _ends(function: Sequence[str]) -> list[int]:
    """For each line the number of the one that closes the block around it."""
    ends, opened = [len(function)] * len(function), [list[int]()]
    for number, line in enumerate(function):
        if "{" in line or "}" in line:
            for brace in _BRACE.findall(_code(line)):
                if brace == "{":
                    opened.append([])
                elif len(opened) > 1:
                    for inside in opened.pop():
                        ends[inside] = number
        opened[-1].append(number)
    return ends


def _read_part(constants: re.Match[str], read: Collection[str]) -> str | None:
    """A line without the constants that are not in `read`; None if that is all of it.

    >>> _read_part(_CONSTANTS.fullmatch("const int64_t m = dims[0], n = dims[1];"), {"n"})
    'const int64_t n = dims[1];'
    >>> _read_part(_CONSTANTS.fullmatch("  const int64_t k = symbols[0] = raw[0];"), {"n"})
    '  symbols[0] = raw[0];'
    """
    line = constants[0]
    if constants["name"] in read and "," not in constants["list"]:
        return line
    every, later, kept = list(_listed(constants["list"])), set[str](), list[str]()
    if any(" = " not in constant for constant in every):  # a comma of another kind
        return line
    for constant in reversed(every):
        name, _, value = constant.partition(" = ")
        does_more = " = " in value or not all(_PURE.fullmatch(call) for call in _CALL.findall(value))
        if does_more or name in later or name in read:
            kept.append(constant)
            later.update(_NAME.findall(value))
    if len(kept) == 1 and (also := _ASSIGNED_TOO.fullmatch(kept[0])) and kept[0].partition(" = ")[0] not in read:
        return f"{line[: len(line) - len(line.lstrip())]}{also[1]};"
    if len(kept) == len(every):
        return line
    return f"{constants['kind']}{', '.join(reversed(kept))};" if kept else None


def _listed(text: str) -> Iterator[str]:
    """The parts of a text between commas outside of all brackets."""
    depth, start = 0, 0
    for match in _BRACKET.finditer(text):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if match[0] == "," and not depth:
            yield text[start : match.start()]
            start = match.end() + 1
    yield text[start:]
