# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""How many programs a stream of calls takes, and that each call gets what `jax.jit` makes of it at its own sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import RuntimeShapeError
from shlo_disc.jit.report import FunctionReport
from tests.conftest import SEED
from tests.pipeline.exports import FAST, check

Stream = Sequence[Any]  # of sizes: one array each, of the rank of the tuple; a list of such tuples for several arrays


def arrays(sizes: Any) -> list[Any]:
    """Fresh random arrays of these shapes."""
    shapes: list[Any] = sizes if isinstance(sizes, list) else [sizes]
    rng = np.random.default_rng([SEED, *[size for shape in shapes for size in shape]])
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def served(function: Callable[..., Any], stream: Stream, **options: Any) -> FunctionReport:
    """Call a function with arrays of these sizes, compare each result with that of `jax.jit`, and say what was done."""
    run = shlo_disc.jit(function, options=FAST, **options)
    for sizes in [*stream, *stream[::-1]]:  # what was learned later must not change what was right before
        args = arrays(sizes)
        found, wanted = run(*args), jax.jit(function)(*args)
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        pairs = [jax.tree.leaves(one) for one in (found, wanted)]
        assert [jax.typeof(x).weak_type for x in pairs[0]] == [jax.typeof(x).weak_type for x in pairs[1]]
        check([np.asarray(x) for x in pairs[0]], [np.asarray(x) for x in pairs[1]], f"{sizes}", 1.0, 1.0)
    report = run.report()
    different = {str(sizes) for sizes in stream}
    assert report.signatures == len(different)
    assert report.compilations == len(report.variants) == len(report.compiled)
    return report


def shapes_of(report: FunctionReport) -> list[str]:
    return [one.shapes for one in report.variants]


# --- how many ---------------------------------------------------------------------------------------------------------


@pytest.mark.quick
def test_one_program_for_equal_sizes_and_two_for_others() -> None:
    report = served(lambda x: jnp.tanh(x).sum(1), [(3, 4)] * 3)
    assert shapes_of(report) == ["[3, 4]"]
    assert report.variants[0].reason == "the sizes of the first call"
    report = served(lambda x: jnp.tanh(x).sum(1), [(3, 4), (5, 4), (17, 4), (1, 4), (0, 4), (64, 4)])
    assert shapes_of(report) == ["[3, 4]", "[x_0, 4]"]
    assert report.variants[1].reason == "sizes that were seen to change, or are declared"


def test_two_programs_where_all_axes_vary_in_the_first_two_calls() -> None:
    stream = [[(2, 3, 4), (4, 5)], [(3, 4, 5), (5, 7)], [(1, 9, 2), (2, 1)], [(0, 1, 3), (3, 0)], [(7, 7, 7), (7, 7)]]
    report = served(lambda x, y: jnp.einsum("abc,cd->abd", x, y), stream)
    assert shapes_of(report) == ["[2, 3, 4], [4, 5]", "[x_0, x_1, x_2], [x_2, y_1]"]


def test_at_most_one_program_more_than_axes() -> None:
    """Axes change one after the other, which is the worst case."""
    stream: list[Any] = [(2, 2, 2), (3, 2, 2), (3, 4, 2), (3, 4, 5), (1, 1, 1), (0, 4, 9), (8, 0, 8), (6, 6, 7)]
    report = served(lambda x: x * 2, stream)
    assert report.compilations == 4
    assert shapes_of(report)[-1] == "[x_0, x_1, x_2]"


def test_equal_sizes_separate_once_they_differ() -> None:
    stream = [[(3,), (3,)], [(5,), (5,)], [(5,), (7,)], [(8,), (8,)], [(2,), (1,)], [(0,), (4,)]]
    report = served(lambda x, y: x.sum() - y.sum(), stream)
    assert shapes_of(report) == ["[3], [3]", "[x_0], [x_0]", "[x_0], [y_0]"]


def test_sizes_0_and_1_take_no_program_of_their_own() -> None:
    def function(x: Any, w: Any) -> Any:
        y = jax.nn.softmax(x @ w, axis=1)
        return y, y.sum(0), jnp.concatenate([x, x]).mean(1), jnp.where(x > 0, x, 0).reshape(-1)

    report = served(function, [[(0, 4), (4, 3)], [(1, 4), (4, 3)], [(2, 4), (4, 3)], [(9, 4), (4, 3)]])
    assert shapes_of(report) == ["[0, 4], [4, 3]", "[x_0, 4], [4, 3]"]


def test_declared_sizes_take_one_program() -> None:
    stream = [[(2, 3, 4), (4, 5)], [(1, 9, 4), (4, 5)], [(0, 1, 4), (4, 5)], [(7, 7, 4), (4, 5)]]
    report = served(lambda x, w: x @ w, stream, shapes="*batch 4, 4 5")
    assert shapes_of(report) == ["[batch_0, batch_1, 4], [4, 5]"]


def test_undeclared_arrays_are_learned_beside_declared_ones() -> None:
    stream = [[(2, 3), (3,)], [(4, 3), (5,)], [(9, 3), (0,)]]
    report = served(lambda x, y: x.sum() + y.sum(), stream, shapes={"x": "b 3"})
    assert shapes_of(report) == ["[b, 3], [3]", "[b, 3], [y_0]"]


# --- the function reads sizes in Python -------------------------------------------------------------------------------


def test_linear_relations_that_the_function_needs_are_found() -> None:
    stream = [[(n,), (n + 1,)] for n in (3, 5, 8, 1, 0, 20)]
    report = served(lambda x, y: jnp.concatenate([x, jnp.ones(1)]) + y, stream)
    assert shapes_of(report) == ["[3], [4]", "[x_0], [x_0 + 1]"]
    report = served(lambda x, y: jnp.concatenate([x, x]) * y, [[(n,), (2 * n,)] for n in (3, 5, 8, 1, 20)])
    assert shapes_of(report) == ["[3], [6]", "[x_0], [2*x_0]"]


@pytest.mark.quick
def test_a_program_for_each_side_of_a_comparison() -> None:
    def function(x: Any) -> Any:
        return x if x.shape[0] > 8 else x * 2

    report = served(function, [(3,), (5,), (8,), (20,), (9,), (1,), (0,), (100,)])
    assert report.compilations == 3
    assert [one.reason.rpartition("; ")[2] for one in report.variants[1:]] == ["needs x_0 <= 8", "needs x_0 >= 8 + 1"]


def test_a_constraint_for_what_has_to_be_divisible() -> None:
    report = served(lambda x: x.reshape(-1, 8).sum(0), [(8, 4), (16, 4), (2, 4), (0, 4), (40, 4)])
    assert report.compilations == 2
    assert "needs mod(4*x_0, " in report.variants[1].reason
    run = shlo_disc.jit(lambda x: x.reshape(-1, 8), options=FAST)
    run(np.zeros((8, 4), np.float32))
    run(np.zeros((6, 4), np.float32))
    with pytest.raises(TypeError, match="cannot reshape array of shape"):
        run(np.zeros((3, 4), np.float32))


def test_a_size_that_decides_how_much_is_traced_is_pinned_with_a_reason() -> None:
    def function(x: Any, y: Any) -> Any:
        for _ in range(int(x.shape[0])):
            x = jnp.tanh(x)
        return x + y.sum()

    report = served(function, [[(8,), (3,)], [(7,), (5,)], [(8,), (6,)], [(8,), (9,)], [(7,), (1,)]])
    assert shapes_of(report) == ["[8], [3]", "[7], [y_0]", "[8], [y_0]"]
    for one in report.variants[1:]:
        assert one.reason.startswith("x_0 cannot be symbolic: InconclusiveDimensionOperation: ")
        assert "'x_0' used in a context that requires a constant" in one.reason


@pytest.mark.quick
@pytest.mark.parametrize("special", [1, 8, 0])
def test_a_function_with_another_path_at_one_size(special: int) -> None:
    """JAX traces `x.shape[0] == 1` at symbolic sizes as for all others: the trace is not valid where it is 1."""

    def function(x: Any) -> Any:
        return jnp.tanh(x) if x.shape[0] == special else x * 3

    report = served(function, [(3,), (5,), (special,), (9,), (2,)])
    assert shapes_of(report) == ["[3]", "[x_0]", f"[{special}]"]
    assert "another path" in report.variants[2].reason


TREES: dict[str, Callable[[Any], Any]] = {
    "names of sizes": lambda x: {f"n{x.shape[0]}": x},
    "names of numbers": lambda x: {f"n{int(x.shape[0])}": x * int(x.shape[0])},
    "a place by a comparison": lambda x: (x, None) if x.shape[0] > 4 else (None, x),
    "a place by a number": lambda x: (x, None) if int(x.shape[0]) % 3 == 0 else (None, x),
    "a list": lambda x: [x] * (1 if x.shape[0] > 4 else 2),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", TREES)
def test_results_whose_structure_depends_on_sizes(name: str) -> None:
    """Which structure a call returns must not be that of the last trace."""
    served(TREES[name], [(3,), (5,), (7,), (9,), (6,), (4,)])


def test_broadcasting_of_what_has_one_element() -> None:
    """NumPy's functions read sizes, too: `y` is one number for all rows, or one for each."""
    stream = [
        [(3, 2), (3, 1)],
        [(5, 2), (5, 1)],
        [(5, 2), (1, 1)],
        [(7, 2), (1, 1)],
        [(1, 2), (1, 1)],
        [(1, 2), (4, 1)],
    ]
    report = served(lambda x, y: x * y, stream)
    assert report.compilations <= 4


def test_sizes_of_other_traces_that_jax_keeps() -> None:
    """JAX's own jit functions, to which a size is static, are called by several functions, and by several traces."""
    for factor in (2, 3):

        def function(x: Any, factor: int = factor) -> Any:
            return jax.nn.one_hot(jnp.zeros(4, int), x.shape[0]).sum(0) * factor, jnp.linspace(0, 1, x.shape[0] + 2)

        assert served(function, [(3,), (5,), (9,), (1,)]).compilations == 2


@pytest.mark.parametrize("read", [lambda n: {3: 2.0, 5: 7.0}.get(n, 9.0), lambda n: len(f"{n}"), lambda n: len(str(n))])
def test_sizes_that_are_looked_up_or_written(read: Any) -> None:
    """A symbolic size has another hash and another text, which JAX does not refuse."""
    served(lambda x: x * read(x.shape[0]), [(3,), (5,), (4,), (7,), (12,), (3,), (1,)])


def caught(attempt: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function with another path for sizes at which an attempt fails."""

    def function(x: Any) -> Any:
        try:
            return attempt(x)
        except Exception:  # noqa: BLE001 - functions of users do so
            return x - 4

    return function


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: x.reshape(-1, 4).sum(1),
        lambda x: jnp.sin(x) if x.shape[0] > 6 else jnp.cos(x),
        lambda x: x * int(x.shape[0]),
        lambda x: x * float(x.shape[0]),
        lambda x: x + np.ones(x.shape[0], np.float32),
        lambda x: sum(x[k] for k in range(x.shape[0])),
        lambda x: x * (x.shape[0] // (x.shape[0] - 4) + 1),
        lambda x: jnp.split(x, 4)[1],
    ],
)
def test_functions_that_catch_that_there_is_no_answer(attempt: Any) -> None:
    """JAX refuses symbolic sizes there; at numbers, the function takes the other path."""
    served(caught(attempt), [(4,), (8,), (9,), (12,), (7,), (5,), (16,), (3,), (1,)])


def test_a_function_that_asks_whether_two_sizes_are_equal() -> None:
    def function(x: Any, y: Any) -> Any:
        return x.sum() * (2 if x.shape[0] == y.shape[0] else 3)

    stream = [[(3,), (4,)], [(5,), (7,)], [(7,), (7,)], [(8,), (2,)], [(1,), (1,)], [(1,), (2,)], [(0,), (0,)]]
    served(function, stream)
    report = served(function, [[(3,), (3,)], [(5,), (5,)], [(5,), (4,)], [(6,), (6,)], [(1,), (9,)]])
    assert report.compilations == 3


def test_sizes_that_are_read_in_many_ways() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        y = x + 1 if n % 2 == 0 else x
        y = y * 2 if n > 6 else y
        y = y - 7 if n in {3, 5} else y
        y = y + 4 if not n else y
        z = y * 5 if x.shape == (6,) else y
        z = z - 2 if len(x) != 11 else z
        return z, jnp.float32(n), n * 2, n // 2, max(n, 4), x.size - 1, z.sum() / n if n else z.sum()

    served(function, [(3,), (5,), (4,), (8,), (7,), (1,), (0,), (2,), (6,), (11,), (12,)])


def test_python_loops_over_a_size() -> None:
    report = served(lambda x: sum(x[k] * k for k in range(x.shape[0])) + len(x), [(3,), (5,), (4,), (3,)])
    assert report.compilations == 3
    assert "x_0 cannot be symbolic: TypeError" in report.variants[1].reason


def test_positions_and_counts_of_a_size_are_symbolic() -> None:
    def function(x: Any) -> Any:
        n = x.shape[0]
        return jnp.arange(n) / n, x * n, jnp.full((n + 2,), n), jnp.linspace(0, 1, 5) * n, jnp.eye(n)[:, :1]

    assert served(function, [(3,), (5,), (9,), (30,)]).compilations == 2


def test_errors_at_one_size_are_raised_there_and_teach_nothing() -> None:
    def function(x: Any) -> Any:
        if x.shape[0] == 4:
            raise KeyError("four")
        return x * 2

    run = shlo_disc.jit(function, options=FAST)
    for size in (3, 5, 4, 6, 4, 7):
        if size == 4:
            with pytest.raises(KeyError, match="four"):
                run(np.ones(size, np.float32))
        else:
            assert run(np.ones(size, np.float32)).shape == (size,)
    assert run.report().compilations == 2


def test_windows_without_elements() -> None:
    """The gradient of the weights of a convolution is one with windows as long as the lines."""

    def function(x: Any, received: Any) -> Any:
        numbers = lax.ConvDimensionNumbers((2, 0, 1), (2, 0, 1), (1, 2, 0))
        return lax.conv_general_dilated(x, received, (1,), ((1, 1),), dimension_numbers=numbers)

    run = shlo_disc.jit(function, shapes="2 n 3, 2 n 4", options=FAST)
    run(*arrays([(2, 5, 3), (2, 5, 4)]))
    np.testing.assert_array_equal(np.asarray(run(*arrays([(2, 0, 3), (2, 0, 4)]))), np.zeros((3, 3, 4), np.float32))


def test_factorizations_of_no_matrices() -> None:
    report = served(jnp.linalg.solve, [[(2, 3, 3), (2, 3, 1)], [(3, 3, 3), (3, 3, 1)], [(0, 3, 3), (0, 3, 1)]])
    assert report.compilations == 2


# --- constraints ------------------------------------------------------------------------------------------------------


def test_broken_shapes_and_constraints_are_refused() -> None:
    run = shlo_disc.jit(
        lambda x, y: x.sum() + y.sum(), shapes="b, s", constraints=["b % 8 == 0", "s <= 2*b"], options=FAST
    )
    ones = [np.ones(n, np.float32) for n in range(40)]
    assert run(ones[8], ones[3]) == 11
    assert run(ones[16], ones[32]) == 48
    with pytest.raises(RuntimeShapeError, match="found b = 7, expected b % 8 == 0"):
        run(ones[7], ones[3])
    with pytest.raises(RuntimeShapeError, match=r"found b = 8, s = 17, expected s <= 2\*b"):
        run(ones[8], ones[17])
    assert run.report().compilations == 1
    assert "needs b % 8 == 0, s <= 2*b" in run.report().variants[0].reason


def test_calls_that_do_not_fit_declared_shapes_say_which() -> None:
    run = shlo_disc.jit(lambda x, y: x.sum() + y.sum(), shapes="b 2*s, b", options=FAST)
    run(np.ones((2, 4), np.float32), np.ones(2, np.float32))
    with pytest.raises(RuntimeShapeError) as caught:
        run(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    assert str(caught.value).splitlines() == [
        "the sizes of a call of <lambda> do not fit the declared shapes",
        "  x: found [2, 3], declared [b, 2*s]",
        "  y: found [2], declared [b]",
    ]


# --- derivatives ------------------------------------------------------------------------------------------------------


@jax.custom_jvp
def moved(x: Any) -> Any:
    return x * 2


moved.defjvp(lambda p, t: (p[0] * 2, t[0] * (3 if p[0].shape[0] == 1 else 5)))


@jax.custom_vjp
def pulled(x: Any) -> Any:
    return x * 2


pulled.defvjp(lambda x: (x * 2, x), lambda kept, received: (received * (3 if kept.shape[0] == 1 else 5),))


@jax.custom_vjp
def sided(x: Any) -> Any:
    return x * 2


sided.defvjp(lambda x: (x * 2, x), lambda kept, received: (received * (3 if kept.shape[0] > 6 else 5),))


@pytest.mark.parametrize("rule", [moved, pulled, sided], ids=["jvp", "vjp", "comparison"])
def test_rules_of_derivatives_that_read_sizes(rule: Any) -> None:
    """JAX runs the rule when the derivative is made, so the function's own trace knows nothing of it."""
    run = shlo_disc.jit(lambda x: jnp.sin(rule(x)), options=FAST)
    for size in (3, 5, 1, 4, 9, 1):
        x = arrays((size,))[0]
        found = jax.grad(lambda x: run(x).sum())(x)
        wanted = jax.grad(lambda x: jnp.sin(rule(x)).sum())(x)
        check([np.asarray(found)], [np.asarray(wanted)], f"{size}", 1.0, 1.0)


def test_derivatives_that_jax_makes_at_fixed_sizes_only() -> None:
    """A product along a symbolic axis is no error, its gradient is one."""
    run = shlo_disc.jit(lambda x: (jnp.prod(x, 0), jnp.cumprod(x, 0)), options=FAST)
    for size in (3, 5, 1, 0):
        (x,) = arrays((size, 2))
        found = jax.grad(lambda x: sum(y.sum() for y in run(x)))(x)
        wanted = jax.grad(lambda x: jnp.prod(x, 0).sum() + jnp.cumprod(x, 0).sum())(x)
        check([np.asarray(found)], [np.asarray(wanted)], f"{size}", 1.0, 1.0)
