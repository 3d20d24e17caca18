# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# JAX has no types here; nothing untyped leaves this module.
"""`jax.export.Exported` as input: its text, the names of its arguments, its pytrees, its platforms.

JAX is imported only when an export comes in, as an object or as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from shlo_disc.diagnostics import ArgumentTypeError, ParseError, ShloDiscError, Source, Span, one_line
from shlo_disc.ir.attributes import DenseAttr, FunctionType, StringAttr, TensorType
from shlo_disc.ir.core import Block, Function, Module, Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.bytecode import read_bytecode

_PATHS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Signature:
    """How a call's pytrees become the flat arguments of the program, and back."""

    in_tree: Any
    out_tree: Any
    names: tuple[str, ...]  # of all leaves
    kept: tuple[int, ...]  # the leaves that the program takes
    platform: int  # the position of the device among the platforms of the export
    is_flat: bool  # every positional argument is one leaf, and the program takes all of them
    keys: tuple[str, ...] = ()  # of each leaf, the generator of a typed random key or an empty text; () without keys
    key_results: tuple[str, ...] = ()  # the same of each result
    leading: int = 0  # the number of bound positional arguments before these

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the leaves that the program takes."""
        return tuple(self.names[k] for k in self.kept)

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The leaves that the program takes; `ArgumentTypeError` if the pytree is another one."""
        if self.is_flat and not kwargs and len(args) == len(self.names):
            return args  # a pytree among them is refused later, as it is no array
        import jax  # noqa: PLC0415

        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ArgumentTypeError(self._difference(args, kwargs))
        if self.keys:
            leaves = [
                _key_data(leaf, generator, name) if generator else leaf
                for leaf, generator, name in zip(leaves, self.keys, self.names, strict=True)
            ]
        return leaves if len(self.kept) == len(leaves) else [leaves[k] for k in self.kept]

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The results as the exported function returns them."""
        if self.key_results:
            import jax  # noqa: PLC0415

            leaves = [
                jax.random.wrap_key_data(leaf, impl=generator) if generator else leaf
                for leaf, generator in zip(leaves, self.key_results, strict=True)
            ]
        return self.out_tree.unflatten(leaves)

    @property
    def has_keys(self) -> bool:
        """Whether an argument or a result is a typed random key, whose data the program takes or returns."""
        return bool(self.keys or self.key_results)

    def example(self) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
        """The positional and the keyword arguments and the result, with the numbers of the leaves in their places."""
        args, kwargs = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        return args, kwargs, self.out_tree.unflatten(range(self.out_tree.num_leaves))

    def split(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[SignaturePart, SignaturePart]:
        """The signatures of the arguments that are given here, and of all others.

        Raises `ArgumentTypeError` if the exported function has fewer arguments, or none of such a name.
        """
        every, named, _ = self.example()
        if len(args) > len(every):
            raise ArgumentTypeError(f"found {len(args)} positional arguments to bind, expected at most {len(every)}")
        if unknown := [name for name in kwargs if name not in named]:
            raise ArgumentTypeError(_unknown_keyword(unknown[0], named, " to bind"))
        bound = every[: len(args)], {name: named[name] for name in kwargs}
        rest = every[len(args) :], {name: one for name, one in named.items() if name not in kwargs}
        return self._part(bound, 0), self._part(rest, len(args))

    def _part(self, numbers: tuple[tuple[Any, ...], dict[str, Any]], leading: int) -> SignaturePart:
        """The signature of some arguments, given as pytrees of the numbers of their leaves."""
        import jax  # noqa: PLC0415

        leaves, tree = jax.tree_util.tree_flatten(numbers)
        place = {leaf: k for k, leaf in enumerate(self.kept)}
        flat = jax.tree_util.tree_structure(((0,) * len(leaves), {}))
        keys = _some(tuple(self.keys[leaf] for leaf in leaves) if self.keys else ())
        signature = replace(
            self,
            in_tree=tree,
            names=tuple(self.names[leaf] for leaf in leaves),
            kept=tuple(k for k, leaf in enumerate(leaves) if leaf in place),
            is_flat=tree == flat and place.keys() >= set(leaves) and not keys,
            keys=keys,
            leading=leading,
        )
        return SignaturePart(signature, tuple(place[leaf] for leaf in leaves if leaf in place))

    def _difference(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The first keyword or container that differs; if there is none, which leaves are missing or extra.

        Both structures if even these are the same, as they are where only the static fields of a class differ.
        """
        import jax  # noqa: PLC0415

        every, named, _ = self.example()
        if unknown := [name for name in kwargs if name not in named]:
            return _unknown_keyword(unknown[0], named)
        pad = (None,) * self.leading
        if (container := _other_container((pad + args, kwargs), (pad + every, named), ())) is not None:
            return container
        found, _ = _paths((pad + args, kwargs))
        lines = ["the arguments have another structure than those of the exported function"]
        missing = [name for name in self.names if name not in set(found)]
        extra = [name for name in found if name not in set(self.names)]
        if missing:
            lines.append(f"  missing: {_list(missing)}")
        if extra:
            lines.append(f"  extra: {_list(extra)}")
        if not missing and not extra:
            tree = jax.tree_util.tree_structure((args, kwargs))
            lines += [f"  found {tree}", f"  expected {self.in_tree}"]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class SignaturePart:
    """The signature of some of a function's arguments, and the numbers of the program's arguments that it gives."""

    signature: Signature
    places: tuple[int, ...]


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
    names, _ = _paths(jax.tree_util.tree_unflatten(tree, [0] * tree.num_leaves))
    kept = tuple(exported.module_kept_var_idx)
    flat = jax.tree_util.tree_structure(((0,) * len(names), {}))
    platforms: Sequence[str] = exported.platforms
    keys = _some(tuple(map(_generator, exported.in_avals)))
    signature = Signature(
        in_tree=tree,
        out_tree=exported.out_tree,
        names=names,
        kept=kept,
        platform=platforms.index(platform) if platform in platforms else 0,
        is_flat=tree == flat and len(kept) == len(names) and not keys,
        keys=keys,
        key_results=_some(tuple(map(_generator, exported.out_avals))),
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


def bind_platform(module: Module, platform: int) -> Module:
    """Make the platform a constant, if @main takes it as an argument: the branches for others are never read."""
    main = module.functions.get("main")
    index = None if main is None else _platform_argument(main)
    if main is None or index is None:
        return module
    value = main.body.arguments[index]
    data = platform.to_bytes(4, "little")
    literal = DenseAttr(TensorType((), DType.I32), data, splat=True, spelling=str(platform))
    constant = Op("stablehlo.constant", (), {"value": literal}, (value,), (), value.span)
    bound = replace(
        main,
        type=FunctionType(_without(main.type.inputs, index), main.type.results),
        body=Block(_without(main.body.arguments, index), (constant, *main.body.ops)),
        argument_attributes=_without(main.argument_attributes, index),
    )
    return module.with_function(bound)


_AT_LEAST_ONE = "Expected value >= 1 for dimension variable"  # JAX's message


def allow_empty(module: Module) -> Module:
    """Remove JAX's demands that sizes be at least 1. Its constraints and all other demands stay."""
    main = module.functions.get("main")
    if main is None:
        return module
    ops = tuple([op for op in main.body.ops if not _demands_one(op)])
    return module.with_function(replace(main, body=replace(main.body, ops=ops)))


def _demands_one(op: Op) -> bool:
    if op.attributes.get("call_target_name") != StringAttr("shape_assertion"):
        return False
    message = op.attributes.get("error_message")
    return isinstance(message, StringAttr) and _AT_LEAST_ONE in message.value


def _platform_argument(main: Function) -> int | None:
    for number, attributes in enumerate(main.argument_attributes):
        if attributes.get("jax.global_constant") == StringAttr("_platform_index"):
            return number
    return None


def _without(items: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return items[:index] + items[index + 1 :]


def _paths(call: object) -> tuple[tuple[str, ...], Any]:
    """The names of all leaves of `(args, kwargs)`, as JAX's own messages have them, and the structure."""
    import jax  # noqa: PLC0415

    paths, tree = jax.tree_util.tree_flatten_with_path(call)
    return tuple(_name(path) for path, _ in paths), tree


def _name(path: tuple[Any, ...]) -> str:
    """`args[0]['w']`, as JAX's own messages name it."""
    import jax  # noqa: PLC0415

    head, *rest = path
    return ("args" if head.idx == 0 else "kwargs") + one_line(jax.tree_util.keystr(tuple(rest)))


def _generator(aval: Any) -> str:
    """The name of the generator that a typed random key belongs to; an empty text for another array."""
    import jax  # noqa: PLC0415

    if not jax.numpy.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return ""
    return aval.dtype._impl.name  # noqa: SLF001 - `jax.random.key_impl` takes keys, not their types


def _some(generators: tuple[str, ...]) -> tuple[str, ...]:
    """The generators of leaves, or none at all where no leaf has one."""
    return generators if any(generators) else ()


def _key_data(leaf: Any, generator: str, name: str) -> Any:
    """The integers of a typed random key; what is none is returned as it is: integers, or what is refused later."""
    import jax  # noqa: PLC0415

    if not (hasattr(leaf, "dtype") and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)):
        return leaf
    found = jax.random.key_impl(leaf)
    if found != generator:
        raise ArgumentTypeError(
            f"{name}: found a random key of {found}, expected one of {generator}\n"
            f"  help: make it with jax.random.key(seed, impl={generator!r})"
        )
    return jax.random.key_data(leaf)


def _unknown_keyword(name: str, known: Mapping[str, object], purpose: str = "") -> str:
    """The message about a keyword argument that the exported function does not have."""
    found = f"found the keyword argument {one_line(name)}{purpose}"
    if not known:
        return f"{found}, expected none: all arguments are positional"
    close = get_close_matches(name, known, 1)
    meant = f"\n  help: did you mean {close[0]}?" if close else ""
    return f"{found}, expected one of {_list(sorted(known))}{meant}"


def _other_container(found: Any, expected: Any, path: tuple[Any, ...]) -> str | None:
    """The message about the first place where one pytree has another container than the other.

    None if only keys, lengths or `None`s differ. The leaves of `expected` are numbers.
    """
    if found is None or expected is None:
        return None
    (here, is_node), (there, expects_node) = _children(found), _children(expected)
    if is_node != expects_node or (is_node and type(found) is not type(expected)):
        an_array = isinstance(found, list | tuple) and not expects_node
        mend = "\n  help: make an array of it, for example with numpy.asarray" if an_array else ""
        wanted = _described(expected, there) if expects_node else "an array"
        what = _described(found, here) if is_node else type(found).__name__
        return f"{_name(path)}: found {what}, expected {wanted}{mend}"
    both = [key for key in there if key in here] if is_node else []
    messages = (_other_container(here[key], there[key], (*path, key)) for key in both)
    return next((message for message in messages if message is not None), None)


def _children(node: Any) -> tuple[dict[Any, Any], bool]:
    """The children of a node of a pytree by their keys, and whether it is a node, not a leaf."""
    import jax  # noqa: PLC0415

    def is_inside(one: object) -> bool:
        return one is not node

    pairs, _ = jax.tree_util.tree_flatten_with_path(node, is_leaf=is_inside)
    is_node = not (len(pairs) == 1 and not pairs[0][0])
    return ({path[0]: child for path, child in pairs}, True) if is_node else ({}, False)


def _described(node: Any, children: Mapping[Any, Any]) -> str:
    """A container in words.

    >>> _described([1, 2], {0: 1, 1: 2})
    'a list of 2'
    """
    kind = type(node).__name__
    if isinstance(node, dict):
        return f"a {kind} of {_list([repr(key) for key in node])}" if node else f"an empty {kind}"
    return f"a {kind} of {len(children)}" if isinstance(node, list | tuple) else f"a {kind}"


def _list(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> _list([f"args[{k}]" for k in range(10)])
    'args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7] and 2 more'
    """
    shown = ", ".join(names[:_PATHS_SHOWN])
    more = len(names) - _PATHS_SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"
