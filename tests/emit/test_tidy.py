"""Printed functions have all declarations that something reads, and all parentheses that change a value."""

from __future__ import annotations

import pytest

from shlo_disc.emit.tidy import tidy, without_parentheses

pytestmark = pytest.mark.quick


def body(*lines: str) -> list[str]:
    """What is left of a function's statements."""
    found = tidy(["void f() {", *(f"  {line}" for line in lines), "}"])
    assert found[0] == "void f() {"
    assert found[-1] == "}"
    return [line.removeprefix("  ") for line in found[1:-1]]


@pytest.mark.parametrize(
    "line",
    [
        "const int64_t n = dims[0];",
        "const float* __restrict__ const n = (const float*)buffers[0];",
        "float* const n = (float*)buffers[0];",
        "const idx n = (idx)n_;",
        "char* const n = arena + 64;  // %t1: f32[b, s]",
        "const int64_t n = floordiv(b + 15, 16) * max_(b, 1);",
    ],
)
def test_a_constant_stays_if_it_is_read(line: str) -> None:
    assert body(line) == []
    assert body(line, "g(n);") == [line, "g(n);"]
    assert body(line, "g(nn, n_, an);") == ["g(nn, n_, an);"]


@pytest.mark.parametrize(
    "line",
    [
        "const float n = team_reduce<8>(a);",
        "const int64_t m = f(1), n = launch(runtime);",
        "const auto n = [&](int k) { at = k; };",
        "const float n = launch(runtime);",
        "int64_t n = 0;",
        "const float* n = p;",
        "n = 3;",
    ],
)
def test_what_does_more_than_declare_stays(line: str) -> None:
    assert body(line) == [line]


def test_a_list_keeps_what_is_read() -> None:
    line = "const int64_t m = 1, n = f(2, 3), k = m + 1;"
    assert body(line) == ["const int64_t n = f(2, 3);"]
    assert body("const int64_t m = 1, n = 2, k = m + 1;", "g(k);") == ["const int64_t m = 1, k = m + 1;", "g(k);"]
    assert body("const int64_t m = 1, n = 2;") == []


def test_what_else_is_assigned_stays() -> None:
    line = "const int64_t n = symbols[0] = raw[0];"
    assert body(line) == ["symbols[0] = raw[0];"]
    assert body(line, "g(n);") == [line, "g(n);"]


def test_a_name_is_read_in_its_own_block() -> None:
    line = "  const int64_t n = dims[0];"
    assert body("if (a) {", line, "} else {", line, "  g(n);", "}") == ["if (a) {", "} else {", line, "  g(n);", "}"]
    assert body("{", line, "  if (a) {", "    g(n);", "  }", "}") == ["{", line, "  if (a) {", "    g(n);", "  }", "}"]
    assert body("void* const* const buffers = at->buffers;") == []


def test_what_only_an_unused_constant_reads_goes_too() -> None:
    lines = ("const int64_t n = dims[0];", "const int64_t m = n * 4;", "const int64_t k = m + 1;")
    assert body(*lines) == []
    assert body(*lines, "g(m);") == [*lines[:2], "g(m);"]


def test_functions_are_apart() -> None:
    lines = ["void f(int64_t x) {", "  const int64_t n = x;", "}", "void g(int64_t n) {", "  h(n);", "}"]
    assert tidy(lines) == [lines[0], *lines[2:]]


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("f((a + b));", "f(a + b);"),
        ("f((a), ((b)), c);", "f(a, b, c);"),
        ("p[(i * n + j)] = (x);", "p[i * n + j] = x;"),
        ("return (a + b);", "return a + b;"),
        ("f((p + k * n) + i);", "f(p + k * n + i);"),
        ("f((a - b) - c, a - (b * c));", "f(a - b - c, a - b * c);"),
        ("char* const b = arena + (floordiv(n + 15, 16) * 64);", "char* const b = arena + floordiv(n + 15, 16) * 64;"),
        ("float* const t = (float*)(own);", "float* const t = (float*)own;"),
        ("const T s[] = {(a + b), (c)};", "const T s[] = {a + b, c};"),
        ("f(  // (a) and (b), (c)", "f(  // (a) and (b), (c)"),
    ],
)
def test_parentheses_that_nothing_needs(line: str, becomes: str) -> None:
    assert without_parentheses(line) == becomes


@pytest.mark.parametrize(
    "line",
    [
        "f((a + b) * c);",
        "f(c * (a + b));",
        "f((float)a, (int64_t)-b);",
        "f((a, b));",
        "SHLO_SHARED(char, shared, (bytes<1, float>));",
        "f(g(), h(), [&](int a) { return a; });",
        "x = a == (b && c);",
        "x = a ? (b) : (c);",
        "if ((a) > b) {",
        "f(), (g)();",
        "(void)(a);",
        ") (a);",
    ],
)
def test_parentheses_that_something_needs(line: str) -> None:
    assert without_parentheses(line) == line


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("f(p + 0, q + 0 + i * 1);", "f(p, q + i);"),
        ("p[i * 1 + 0] = a * 1 * b;", "p[i] = a * b;"),
        ("x = a + 0 * b;", "x = a + 0 * b;"),
        ("x = a + 0.0f * 1.0f;", "x = a + 0.0f * 1.0f;"),
        ("x = a * 10 + 01;", "x = a * 10 + 01;"),
        ("x = a * 1 / b;", "x = a * 1 / b;"),
        ("x = split * (int64_t)1;", "x = split * (int64_t)1;"),
    ],
)
def test_zeros_and_ones_of_integers(line: str, becomes: str) -> None:
    assert body(line) == [becomes]
