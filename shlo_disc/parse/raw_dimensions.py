"""Dimension numbers of convolutions in their long spelling: `#stablehlo.conv<raw input_batch_dimension = 0, …>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.ir.attributes import ConvDimensionsAttr

# For each side: its name, and the fields that hold the position of a letter, with the letter.
_SIDES = (
    ("input", {"input_batch_dimension": "b", "input_feature_dimension": "f"}),
    ("kernel", {"kernel_input_feature_dimension": "i", "kernel_output_feature_dimension": "o"}),
    ("output", {"output_batch_dimension": "b", "output_feature_dimension": "f"}),
)
NUMBERS = frozenset(field for _, letters in _SIDES for field in letters)
LISTS = frozenset(f"{side}_spatial_dimensions" for side, _ in _SIDES)


def place_letters(fields: Mapping[str, Sequence[int]]) -> ConvDimensionsAttr | None:
    """Turn fields into the short spelling; a number left out is 0, as in MLIR.

    Returns None where the dimensions of a side are not 0, 1, 2 … each once: the short spelling cannot express that.

    >>> place_letters({"input_feature_dimension": [1], "kernel_output_feature_dimension": [1],
    ...                "output_feature_dimension": [1]})
    ConvDimensionsAttr(input=('b', 'f'), kernel=('i', 'o'), output=('b', 'f'))
    """
    sides: list[tuple[str | int, ...]] = []
    for side, letters in _SIDES:
        placed: list[tuple[int, str | int]] = [
            (fields.get(field, (0,))[0], letter) for field, letter in letters.items()
        ]
        placed += [(at, number) for number, at in enumerate(fields.get(f"{side}_spatial_dimensions", ()))]
        if sorted(at for at, _ in placed) != list(range(len(placed))):
            return None
        sides.append(tuple([what for _, what in sorted(placed, key=lambda pair: pair[0])]))
    return ConvDimensionsAttr(*sides)
