"""Ops of other dialects that compute sizes, in the spelling in which MLIR prints them."""

from __future__ import annotations

from shlo_disc.dialects.other.integers import BINARY, INDEX_BINARY, PREDICATES

ARGUMENTS = {
    "x": "tensor<?x4xf32>",
    "i": "index",
    "j": "index",
    "n": "i64",
    "m": "i32",
    "c": "i1",
    "f": "f32",
    "t": "tensor<2xindex>",
    "u": "tensor<2xi64>",
    "p": "tensor<2xi1>",
    "d": "tensor<?xindex>",
    "k": "tensor<index>",
    "s": "!shape.shape",
    "z": "!shape.size",
    "w": "!shape.witness",
}
_SHAPES = "tensor<2xindex>, tensor<2xindex>"

PRETTY = (
    *[f"%0 = arith.{name} %i, %j : index" for name in BINARY],
    "%0 = arith.addi %n, %n overflow<nsw> : i64",
    "%0 = arith.muli %u, %u overflow<nsw, nuw> : tensor<2xi64>",
    "%0 = arith.subi %t, %t {a.b = 1 : i64} : tensor<2xindex>",
    *[f"%0 = arith.cmpi {name}, %i, %j : index" for name in PREDICATES],
    "%0 = arith.cmpi slt, %u, %u : tensor<2xi64>",
    "%0 = arith.select %c, %i, %j : index",
    "%0 = arith.select %c, %t, %t : tensor<2xindex>",
    "%0 = arith.select %p, %u, %u : tensor<2xi1>, tensor<2xi64>",
    "%0 = arith.extsi %m : i32 to i64",
    "%0 = arith.extui %p : tensor<2xi1> to tensor<2xi64>",
    "%0 = arith.trunci %n : i64 to i32",
    "%0 = arith.trunci %n overflow<nuw> : i64 to i1",
    "%0 = arith.index_cast %i : index to i64",
    "%0 = arith.index_cast %t : tensor<2xindex> to tensor<2xi64>",
    "%0 = arith.index_castui %m : i32 to index",
    "%c0 = arith.constant 0 : index",
    "%c-3_i64 = arith.constant -3 : i64",
    "%true = arith.constant true",
    "%cst = arith.constant 1.000000e+00 : f32",
    "%cst = arith.constant dense<[1, -2]> : tensor<2xindex>",
    "%c7 = arith.constant {a.b} 7 : index",
    "%0 = tensor.dim %x, %i : tensor<?x4xf32>",
    "%0 = tensor.from_elements %i, %j : tensor<2xindex>",
    "%0 = tensor.from_elements %f : tensor<f32>",
    "%0 = tensor.from_elements : tensor<0xi64>",
    "%0 = tensor.extract %x[%i, %j] : tensor<?x4xf32>",
    "%0 = tensor.extract %k[] : tensor<index>",
    "%0 = tensor.cast %t : tensor<2xindex> to tensor<?xindex>",
    "%0 = builtin.unrealized_conversion_cast %t : tensor<2xindex> to tensor<2xi32>",
    "%0 = builtin.unrealized_conversion_cast %i : index to i64",
    "%0 = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>",
    "%0 = shape.shape_of %x : tensor<?x4xf32> -> !shape.shape",
    f"%0 = shape.broadcast %t, %t : {_SHAPES} -> tensor<2xindex>",
    '%0 = shape.broadcast %s, %t, %d {error = "no"} : !shape.shape, tensor<2xindex>, tensor<?xindex> -> !shape.shape',
    f"%0 = shape.is_broadcastable %t, %t : {_SHAPES}",
    "%0 = shape.shape_eq %t, %s : tensor<2xindex>, !shape.shape",
    f"%0 = shape.cstr_broadcastable %t, %t : {_SHAPES}",
    f"%0 = shape.cstr_eq %t, %t : {_SHAPES}",
    '%0 = shape.cstr_require %c, "so it is"',
    "%0 = shape.const_witness true",
    "%0 = shape.assuming_all %w, %w",
    "shape.assuming %w {\n    }",
    "%0 = shape.assuming %w -> (index) {\n      shape.assuming_yield %i : index\n    }",
    "%0:2 = shape.assuming %w -> (tensor<?x4xf32>, index) {\n"
    "      shape.assuming_yield %x, %i : tensor<?x4xf32>, index\n    }",
    "%0 = shape.concat %t, %t : tensor<2xindex>, tensor<2xindex> -> tensor<4xindex>",
    '%0:2 = "shape.split_at"(%s, %i) : (!shape.shape, index) -> (!shape.shape, !shape.shape)',
    "%0 = shape.to_extent_tensor %s : !shape.shape -> tensor<2xindex>",
    "%0 = shape.from_extent_tensor %d : tensor<?xindex>",
    "%0 = shape.from_extents %i, %z : index, !shape.size",
    "%0 = shape.const_shape [1, 2] : tensor<2xindex>",
    "%0 = shape.const_shape [] : !shape.shape",
    "%c3 = shape.const_size 3",
    "%0 = shape.dim %x, %i : tensor<?x4xf32>, index -> index",
    "%0 = shape.get_extent %s, %z : !shape.shape, !shape.size -> !shape.size",
    "%0 = shape.rank %t : tensor<2xindex> -> index",
    "%0 = shape.num_elements %s : !shape.shape -> !shape.size",
    *[f"%0 = shape.{name} %i, %j : index, index -> index" for name in ("add", "mul", "div")],
    *[f"%0 = shape.{name} %z, %z : !shape.size, !shape.size -> !shape.size" for name in ("max", "min")],
    "%0 = shape.size_to_index %z : !shape.size",
    "%0 = shape.index_to_size %i",
)
UNKNOWN_TO_JAXLIB = (
    *[f"%0 = index.{name} %i, %j" for name in INDEX_BINARY],
    "%0 = index.constant 7",
    "%0 = index.casts %i : index to i64",
    "%0 = index.castu %m : i32 to index",
)


def program(op: str) -> str:
    """Give a module whose `@main` consists of `op`."""
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in ARGUMENTS.items())
    return f"module @m {{\n  func.func @main({arguments}) {{\n    {op}\n    return\n  }}\n}}\n"
