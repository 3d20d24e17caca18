"""Convolutions with windows as long as the lines of the input, which the tests of the prelude compute."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.device.conv_cases import PADS, SAME, Case

LONG = {
    "gradient": Case((9, 12), (7, 10), 3, 70, batch=20, input="C*N", weights="I*O"),
    "gradient, padded": Case((9, 10), (9, 10), 2, 64, batch=67, pad=SAME, input="C*N", weights="I*O"),
    "gradient, channels first": Case((9, 10), (9, 10), 2, 71, batch=33, pad=SAME, input="CN*", weights="IO*"),
    "gradient, steps": Case(
        (12, 20), (6, 10), 3, 20, batch=16, pad=((1, 0), (2, 1)), gap=(2, 2), input="C*N", weights="I*O"
    ),
    "gradient, steps, channels first": Case(
        (12, 21), (6, 10), 3, 49, batch=16, pad=((1, 0), (2, 1)), gap=(2, 2), input="CN*", weights="IO*"
    ),
    "gradient, few channels": Case((30, 33), (24, 27), 2, 32, batch=3, input="C*N", weights="I*O"),
    "gradient, line": Case((300,), (300,), 2, 130, batch=8, pad=((2, 2),), input="C*N", weights="I*O"),
    "gradient, volume": Case(
        (4, 5, 6), (4, 4, 6), 3, 33, batch=12, pad=((1, 1), (1, 1), (1, 1)), input="C*N", weights="I*O"
    ),
    "gradient, many places": Case((40, 44), (4, 24), 1, 5, batch=3, pad=SAME, input="C*N", weights="I*O"),
    "gradient, groups": Case((9, 10), (9, 10), 2, 48, batch=48, batch_groups=3, pad=SAME, input="C*N", weights="I*O"),
    "gradient, groups, channels first": Case(
        (9, 10), (9, 10), 2, 30, batch=21, batch_groups=3, pad=SAME, input="CN*", weights="IO*"
    ),
    "gradient, much padding": Case((3, 2), (3, 9), 2, 17, batch=5, pad=((1, 1), (7, 6)), input="C*N", weights="I*O"),
    "gradient, negative padding": Case((9, 40), (3, 20), 2, 24, batch=9, pad=((-1, 2), (-2, -1)), input="CN*"),
    "gradient, reversed": Case((9, 12), (7, 10), 3, 20, batch=7, reverse=(True, True), input="CN*", weights="IO*"),
    "gradient, no channels": Case((9, 12), (7, 10), 0, 20, batch=7, input="CN*", weights="IO*"),
    "gradient of depthwise weights": Case(
        (14, 14), (14, 14), 2, 70, batch=70, batch_groups=70, pad=SAME, input="CN*", weights="IO*"
    ),
    "gradient of depthwise weights, 5 places": Case(
        (28, 33), (28, 33), 2, 3, batch=3, batch_groups=3, pad=((2, 2), (2, 2)), input="CN*", weights="IO*"
    ),
    "gradient of depthwise weights, steps": Case(
        (20, 37), (10, 18), 2, 5, batch=5, batch_groups=5, pad=((1, 0), (1, 0)), gap=(2, 2), input="CN*", weights="IO*"
    ),
    "gradient of depthwise weights, gaps of 3": Case(
        (20, 57), (10, 18), 2, 5, batch=5, batch_groups=5, pad=((1, 0), (1, 0)), gap=(2, 3), input="CN*", weights="IO*"
    ),
    "gradient of depthwise weights, last": Case(
        (30, 30), (28, 28), 2, 70, batch=70, batch_groups=70, pad=SAME, input="C*N", weights="I*O"
    ),
    "gradient of depthwise weights, last, steps": Case(
        (9, 18), (4, 8), 3, 16, batch=16, batch_groups=16, pad=SAME, gap=(2, 2), input="C*N", weights="I*O"
    ),
    "gradient of depthwise weights, last, images": Case(
        (9, 40), (3, 20), 70, 70, groups=70, batch=5, pad=((-1, 2), (-2, -1)), input="N*C", weights="*IO"
    ),
    "gradient of depthwise weights, images": Case(
        (9, 22),
        (8, 19),
        3,
        4,
        batch=20,
        batch_groups=4,
        pad=((1, 1), (2, 1)),
        stride=(1, 2),
        input="CN*",
        weights="IO*",
    ),
    "gradient of depthwise weights, reversed": Case(
        (9, 22), (8, 19), 3, 4, batch=4, batch_groups=4, reverse=(True, False), pad=SAME, input="NC*", weights="OI*"
    ),
    "gradient of depthwise weights, volume": Case(
        (4, 5, 20), (3, 4, 18), 2, 9, batch=9, batch_groups=9, pad=((1, 1), (0, 1), (2, 1)), input="CN*", weights="OI*"
    ),
    "gradient of depthwise weights, line": Case(
        (700,), (689,), 2, 5, batch=5, batch_groups=5, input="CN*", weights="IO*"
    ),
    "gradient of depthwise weights, much padding": Case(
        (2, 3), (2, 9), 24, 24, groups=24, pad=((1, 1), (8, 6)), input="NC*", weights="OI*"
    ),
    "gradient of depthwise weights, no channels": Case(
        (9, 22), (8, 19), 0, 4, batch=4, batch_groups=4, input="NC*", weights="OI*"
    ),
}


@st.composite
def dense_windows(draw: st.DrawFn) -> Case:
    """Convolutions with windows about as long as the lines of the input, of several images: gradients of weights."""
    groups, length, steps = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(4, 140)), draw(st.integers(1, 3))
    gap, pad, lines = draw(st.integers(1, 3)), draw(st.integers(0, 2)), draw(st.integers(1, 4))
    places = draw(st.integers(1, 4))
    wide = gap * (length - 1) + 1 + steps * (places - 1)
    return Case(
        (lines, max(wide - 2 * pad, 2)),
        (max(lines - draw(st.integers(0, 2)), 0), length),
        draw(st.integers(0, 3)),
        groups * draw(st.sampled_from((3, 5, 16, 17, 33, 48, 64, 67))),
        batch=groups * draw(st.sampled_from((3, 4, 7, 16, 23, 50))),
        stride=(1, steps),
        pad=((draw(PADS), draw(PADS)), (pad, pad)),
        gap=(draw(st.integers(1, 2)), gap),
        reverse=(draw(st.booleans()), draw(st.booleans())),
        batch_groups=groups,
        input=draw(st.sampled_from(("NC*", "CN*", "C*N"))),
        weights=draw(st.sampled_from(("*IO", "OI*", "I*O", "IO*"))),
        dtype=draw(st.sampled_from(("f4", "f8"))),
    )
