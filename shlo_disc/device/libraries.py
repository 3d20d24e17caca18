"""Libraries that kernels of the CPU are linked with: a template of the headers each, for one kind of elements.

A name is the subject and the kind, `gemm_f32`. Its file is compiled once per machine, and kept in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.device import headers

_LAPACK = "lapack"


def library_names() -> tuple[str, ...]:
    """All names, sorted."""
    return tuple(sorted((_LAPACK, *_SOURCES)))


def library_text(name: str) -> str:
    """The C++ of a library."""
    return headers.text("linear_algebra/lapack.cc") if name == _LAPACK else _SOURCES[name]


def interface(library: str) -> str:
    """The header by which kernels call a library."""
    return _INTERFACES[library.split("_", maxsplit=1)[0]]


_INTERFACES = {
    "attention": "attention/attention.h",
    "conv": "conv/conv.h",
    "gemm": "gemm/gemm.h",
    "lapack": "linear_algebra/lapack.h",
}  # by the first part of a library's name


def _source(title: str, included: tuple[str, ...], *lines: str) -> str:
    return "\n".join((f"// {title}.", *(f'#include "{header}"' for header in included), "", *lines, ""))


def _of_kind(kind: str, macro: str) -> tuple[str, str]:
    """The kind of elements as a name, as arguments of macros have no commas, and the macro that is given it."""
    return f"typedef {kind} Kind;", macro


# -- matrix products: name -> (the header of the kind, the kind), see gemm/kinds.h

_KINDS, _NARROW, _PAIRS = "gemm/kinds.h", "gemm/narrow.h", "gemm/pairs.h"

_PRODUCTS: Mapping[str, tuple[str, str]] = {
    "f32": (_KINDS, "Real<float, float>"),
    "f64": (_KINDS, "Real<double, double>"),
    "c64": (_KINDS, "Complexes<float>"),
    "c128": (_KINDS, "Complexes<double>"),
    "f16": (_NARROW, "Halves"),
    "bf16": (_NARROW, "BrainPairs"),  # products are exact
    "bf16_rounded": (_NARROW, "BrainProducts"),  # the program leaves it to the target how exact products are
    "i8": (_NARROW, "Bytes<int8_t>"),
    "u8": (_NARROW, "Bytes<uint8_t>"),
    "i16": (_PAIRS, "Pairs<int16_t>"),
    "i32": (_KINDS, "Real<uint32_t, uint32_t>"),  # unsigned, so that sums wrap
    "i64": (_KINDS, "Real<uint64_t, uint64_t>"),
}

_SMALL_PRODUCTS: Mapping[str, tuple[str, str]] = {
    **{name: _PRODUCTS[name] for name in ("f32", "f64", "c64", "c128", "i16", "i32", "i64")},
    "f16": (_KINDS, "Real<f16, float>"),
    "bf16": (_KINDS, "Real<bf16, float>"),
    "i8": (_PAIRS, "Pairs<int8_t>"),
    "u8": (_PAIRS, "Pairs<uint8_t>"),
}

# -- convolutions: name -> (the type of sums, how elements are read, see conv/indirect.h)

_CONVOLUTIONS: Mapping[str, tuple[str, str]] = {
    "f32": ("float", "Whole<float>"),
    "f64": ("double", "Whole<double>"),
    "i32": ("uint32_t", "Whole<uint32_t>"),  # unsigned, so that sums wrap
    "i64": ("uint64_t", "Whole<uint64_t>"),
    "i16": ("uint32_t", "LowHalves"),  # of i32 that fit into i16
}
_BYTES: Mapping[str, tuple[str, str]] = {"i8": ("uint32_t", "Fours<int8_t>"), "u8": ("uint32_t", "Fours<uint8_t>")}

# -- attention of types of two bytes: name -> (type, how the operands of the first and of the second product are read)

_ATTENTION_OF_ROWS: Mapping[str, tuple[str, str, str]] = {
    "f16": ("f16", "Plain", "Plain"),
    "bf16": ("bf16", "BrainWords", "BrainWords"),  # products are exact
    "bf16_rounded": ("bf16", "BrainDots", "BrainDots"),  # the program leaves it to the target how exact they are
    "bf16_half_rounded": ("bf16", "BrainWords", "BrainDots"),  # the second one only
}
_FLOATS: Mapping[str, str] = {"f32": "float", "f64": "double"}


def _products() -> dict[str, str]:
    whole = {
        f"gemm_{name}": _source(
            f"Matrix products of {name}", (header, "gemm/product.h"), *_of_kind(kind, f"SHLO_GEMM({name}, Kind)")
        )
        for name, (header, kind) in _PRODUCTS.items()
    }
    small = {
        f"gemm_small_{name}": _source(
            f"Batches of small matrix products of {name}",
            (header, "gemm/small.h"),
            *_of_kind(kind, f"SHLO_GEMM_SMALL({name}, Kind::Single)"),
        )
        for name, (header, kind) in _SMALL_PRODUCTS.items()
    }
    return whole | small


def _convolutions() -> dict[str, str]:
    found = dict[str, str]()
    for kinds, header in ((_CONVOLUTIONS, "conv/indirect.h"), (_BYTES, "conv/bytes.h")):
        for name, (sums, how) in kinds.items():
            line = f"SHLO_CONVOLUTION({name}, {sums}, {how}, false)"
            found[f"conv_{name}"] = _source(f"Convolutions of {name}", (header,), line)
    for name, (sums, how) in _CONVOLUTIONS.items():
        line = f"SHLO_CONVOLUTION(groups_{name}, {sums}, {how}, true)"
        found[f"conv_groups_{name}"] = _source(f"Convolutions in groups of {name}", ("conv/indirect.h",), line)
    for name, kind in _FLOATS.items():
        line = f"SHLO_LONG_CONVOLUTION({name}, {kind})"
        found[f"conv_long_{name}"] = _source(f"Convolutions with long windows of {name}", ("conv/long.h",), line)
    for name in ("bf16", "f16"):
        line = f"SHLO_CONVOLUTION_WEIGHTS({name}, {name})"
        found[f"conv_weights_{name}"] = _source(f"Weights of {name}, packed as f32", ("conv/weights.h",), line)
    return found


def _attention() -> dict[str, str]:
    found = dict[str, str]()
    for name, kind in _FLOATS.items():
        line = f"SHLO_ATTENTION({name}, {kind})"
        found[f"attention_{name}"] = _source(f"Attention of {name}", ("attention/online.h",), line)
    for name, kinds in _ATTENTION_OF_ROWS.items():
        line = f"SHLO_ATTENTION_OF_ROWS({name}, {', '.join(kinds)})"
        found[f"attention_rows_{name}"] = _source(f"Attention of {name}", ("attention/rows.h",), line)
    for name, of in {**_FLOATS, "f16": "f16", "bf16": "bf16"}.items():
        sums = name if name in _FLOATS else "f32"
        line = f"SHLO_ATTENTION_BACKWARD({name}, {of}, {sums}, {_FLOATS[sums]})"
        title = f"Gradients of attention of {name}"
        found[f"attention_backward_{name}"] = _source(title, ("attention/gradients.h",), line)
    return found


_SOURCES = {**_products(), **_convolutions(), **_attention()}
