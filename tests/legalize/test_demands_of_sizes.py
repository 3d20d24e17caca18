"""What the specification demands of sizes is demanded of dynamic ones too: by a check in every call, at the latest.

Each program that a constraint refuses is compiled with unknown sizes, and called with those that are refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

import shlo_disc
from shlo_disc.diagnostics import InternalError, RuntimeShapeError, ShloDiscError
from shlo_disc.ir.core import Block, Function, Module, TensorType, Value
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.parse.parser import parse_module
from tests.verify.programs import Refused, refused

pytestmark = pytest.mark.slow

# What remains when the sizes of the arguments are not known, and is no matter of sizes.
_ACCEPTED = {
    "composite C3": "the decomposition has another number of results",
    "optimization_barrier C1": "its text has one type for operands and results",
}


def static(program: Refused) -> tuple[Module, list[tuple[int, ...]]] | None:
    """The program, and the shapes of its arguments, if these are all static tensors."""
    module = parse_module(program.text)
    main = module.functions.get("main")
    shapes = [v.type.shape for v in main.body.arguments if isinstance(v.type, TensorType)] if main else []
    known = [tuple([n for n in shape if n is not None]) for shape in shapes]
    if main is None or len(shapes) < len(main.body.arguments) or known != shapes or not any(known):
        return None
    return module, known


def dynamic(module: Module, arguments: Collection[int]) -> Module:
    """The same program with arguments of unknown sizes, which returns all that it computes."""
    main = module.functions["main"]
    changed = dict[Value, Value]()
    for number, value in enumerate(main.body.arguments):
        type_ = value.type
        if number in arguments and isinstance(type_, TensorType):
            type_ = replace(type_, shape=(None,) * len(type_.shape))
        changed[value] = replace(value, type=type_)
    inner = [replace(op, operands=tuple([changed.get(x, x) for x in op.operands])) for op in main.body.ops]
    results = [x for op in inner[:-1] for x in op.results if isinstance(x.type, TensorType)]
    body = Block(tuple(changed.values()), (*inner[:-1], replace(inner[-1], operands=tuple(results))))
    types = [tuple([x.type for x in values]) for values in (body.arguments, results)]
    return module.with_function(
        Function(
            main.name,
            replace(main.type, inputs=types[0], results=types[1]),
            body,
            main.visibility,
            main.argument_attributes,
            tuple([{} for _ in results]),
            main.attributes,
            main.span,
        )
    )


def ways(shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """Which arguments have unknown sizes: all, and each alone."""
    yield tuple(range(len(shapes)))
    if len(shapes) > 1:
        yield from ((number,) for number, shape in enumerate(shapes) if shape)


def by_op() -> dict[str, list[tuple[Refused, Module, list[tuple[int, ...]]]]]:
    found = defaultdict[str, list[tuple[Refused, Module, list[tuple[int, ...]]]]](list)
    for program in refused():
        if "!quant" not in program.text and (one := static(program)) is not None:
            found[program.op].append((program, *one))
    return found


PROGRAMS = by_op()


@pytest.mark.parametrize("op", PROGRAMS)
def test_sizes_that_the_specification_refuses_are_refused_in_a_call(op: str) -> None:
    for program, module, shapes in PROGRAMS[op]:
        main = module.functions["main"]
        types = [value.type for value in main.body.arguments]
        arrays = [
            np.zeros(shape, numpy_dtype(type_.dtype))
            for shape, type_ in zip(shapes, types, strict=True)
            if isinstance(type_, TensorType)
        ]
        for arguments in ways(shapes):
            text = str(dynamic(module, arguments))
            try:
                shlo_disc.compile(text)(*arrays)
            except InternalError:
                raise
            except ShloDiscError:
                continue
            assert str(program) in _ACCEPTED, f"{program} is not refused at {shapes}:\n{text}"


def test_batches_of_indices_are_those_of_the_data() -> None:
    """Else rows behind the end of the data would be read."""
    text = """func.func @main(%x: tensor<?x1xf32>, %at: tensor<?x1xi32>) -> tensor<?x1xf32> {
  %0 = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1],
    operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
    indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<?x1xf32>, tensor<?x1xi32>) -> tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}"""
    compiled = shlo_disc.compile(text)
    x = np.arange(3, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(np.asarray(compiled(x, np.zeros((3, 1), np.int32))[0]), x)
    for count in (2, 4):
        with pytest.raises(RuntimeShapeError, match="as many batches of indices as of data"):
            compiled(x, np.zeros((count, 1), np.int32))
