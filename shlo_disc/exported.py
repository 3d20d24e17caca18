# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# JAX has no types here; nothing untyped leaves this module.
"""`jax.export.Exported` as input: its text, the names of its arguments, its pytrees, its platforms.

JAX is imported only when an export comes in, as an object or as bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shlo_disc.call_signature import Signature, flat_tree, leaf_names, some_generators
from shlo_disc.diagnostics import ParseError, ShloDiscError, Source, Span
from shlo_disc.parse.bytecode import read_bytecode


def is_exported(program: object) -> bool:
    """Whether this is a `jax.export.Exported`, determined without importing JAX."""
    return type(program).__name__ == "Exported" and hasattr(program, "mlir_module")


def looks_serialized(data: bytes) -> bool:
    """Whether bytes may be what `Exported.serialize` returns: they contain MLIR bytecode, but do not begin with it."""
    return data.find(b"ML\xefR") >= 4


def deserialize(data: bytes, file: str = "") -> Any:
    """The `jax.export.Exported` of its bytes. Raises `ShloDiscError` if they hold none, or JAX is missing.

    `file`: its name, for errors.
    """
    place = f"{file}: " if file else ""
    try:
        from jax import export  # noqa: PLC0415
    except ImportError as error:
        raise ShloDiscError(f"{place}a serialized export is read by JAX, which is not installed") from error
    try:
        return export.deserialize(bytearray(data))
    except ImportError as error:
        missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error  # JAX words it anew
        if (missing.name or "").partition(".")[0] != "flatbuffers":
            raise ShloDiscError(f"{place}a serialized export is read by JAX, which fails: {error}") from error
        raise ShloDiscError(
            f"{place}a serialized export is read with flatbuffers, which is not installed: pip install 'shlo-disc[jax]'"
        ) from error
    except Exception as error:  # flatbuffers may raise anything for damaged bytes
        message = f"{place}expected a serialized jax.export.Exported, found other bytes ({error})"
        raise ShloDiscError(message) from error


def read_exported(exported: Any, platform: str = "cpu", *, isolate: bool | None = None) -> tuple[str, str, Signature]:
    """The text, the name and the signature of an export; `platform` selects one of several platforms.

    `isolate`: whether its bytecode is read in a process of its own; None: only if the export was deserialized.
    """
    import jax  # noqa: PLC0415

    if exported.nr_devices != 1:
        raise ShloDiscError(f"found an export for {exported.nr_devices} devices, expected one for a single device")
    tree = exported.in_tree
    names = leaf_names(jax.tree_util.tree_unflatten(tree, [0] * tree.num_leaves), tree)
    kept = tuple(exported.module_kept_var_idx)
    platforms: Sequence[str] = exported.platforms
    keys = some_generators(tuple(map(_generator, exported.in_avals)))
    signature = Signature(
        in_tree=tree,
        out_tree=exported.out_tree,
        names=names,
        kept=kept,
        platform=platforms.index(platform) if platform in platforms else 0,
        is_flat=tree == flat_tree(len(names), tree) and len(kept) == len(names) and not keys,
        keys=keys,
        key_results=some_generators(tuple(map(_generator, exported.out_avals))),
    )
    name = str(exported.fun_name).strip("<>")
    return _text(exported, name, isolate=_is_deserialized(exported) if isolate is None else isolate), name, signature


def _text(exported: Any, name: str, *, isolate: bool) -> str:
    if isolate:
        return read_bytecode(exported.mlir_module_serialized, name, isolate=True)
    try:
        return exported.mlir_module()
    except Exception as error:  # jaxlib may raise anything for such bytes
        raise ParseError(f"expected an export that jaxlib can read: {error}", Span(Source(name, ""), 0, 0)) from error


def _is_deserialized(exported: Any) -> bool:
    """Whether an export comes from bytes: else its `_get_vjp` is a function of JAX's export module."""
    gradient = getattr(exported, "_get_vjp", None)
    return getattr(gradient, "__module__", None) != "jax._src.export._export"


def _generator(aval: Any) -> str:
    """The name of the generator that a typed random key belongs to; an empty text for another array."""
    import jax  # noqa: PLC0415

    if not jax.numpy.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return ""
    return aval.dtype._impl.name  # noqa: SLF001 - `jax.random.key_impl` takes keys, not their types
