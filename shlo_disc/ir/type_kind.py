"""The kinds of types that ops distinguish."""

from __future__ import annotations

from enum import Flag, auto


class TypeKind(Flag):
    """Kinds of types. A slot of an op takes one or several of them."""

    BOOL = auto()
    SIGNED = auto()
    UNSIGNED = auto()
    FLOAT = auto()
    COMPLEX = auto()
    PER_TENSOR = auto()
    PER_AXIS = auto()
    INDEX = auto()  # `tensor<…xindex>`: shape operands of older programs
    TOKEN = auto()
    TUPLE = auto()
    BUFFER = auto()
    FUTURE = auto()
    UNRANKED = auto()  # `tensor<*xf32>`; combined with the kind of its elements
    SCALAR = auto()  # `index`, `i1`, `i64`: one integer, as other dialects compute sizes
    SCALAR_UNSIGNED = auto()  # `ui64`
    SCALAR_FLOAT = auto()  # `f32`
    SHAPE = auto()  # `!shape.shape`
    SIZE = auto()  # `!shape.size`
    WITNESS = auto()  # `!shape.witness`: that a constraint holds
    OTHER = auto()  # anything else: types of other dialects, tuples of such
    INTEGER = SIGNED | UNSIGNED
    QUANTIZED = PER_TENSOR | PER_AXIS
    PLAIN = BOOL | INTEGER | FLOAT | COMPLEX
    UNIFORM = PLAIN | PER_TENSOR  # elements mean the same at every place in the tensor
    TENSOR = PLAIN | QUANTIZED
    MEMBER = TENSOR | TOKEN | TUPLE | BUFFER | UNRANKED  # of a tuple
