# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# JAX has no types here; nothing untyped leaves this module.
"""`jax.export.Exported` as input: its text, the names of its arguments, its pytrees.

The one place that touches JAX. Whoever holds an `Exported` has JAX, so it is imported only here, when one comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Signature:
    """How a call's pytrees become the flat arguments of the program, and back."""

    in_tree: Any
    out_tree: Any
    names: tuple[str, ...]  # of all leaves
    kept: tuple[int, ...]  # the leaves that the program takes

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves that the program takes; TypeError if the pytree is another one."""
        import jax  # noqa: PLC0415

        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                f"the arguments have another structure than the exported function's\n"
                f"  found:    {tree}\n  expected: {self.in_tree}"
            )
        return [leaves[k] for k in self.kept]

    def unflatten(self, leaves: Sequence[object]) -> Any:
        """The results as the exported function returns them."""
        import jax  # noqa: PLC0415

        return jax.tree_util.tree_unflatten(self.out_tree, list(leaves))


def is_exported(program: object) -> bool:
    """Whether this is a `jax.export.Exported`, told without importing JAX."""
    return type(program).__name__ == "Exported" and hasattr(program, "mlir_module")


def read_exported(exported: Any) -> tuple[str, str, Signature]:
    """The text, the name and the signature of an export."""
    import jax  # noqa: PLC0415

    tree = exported.in_tree
    numbered = jax.tree_util.tree_unflatten(tree, list(range(tree.num_leaves)))
    paths, _ = jax.tree_util.tree_flatten_with_path(numbered)
    names = tuple(_name(path) for path, _ in paths)
    kept = tuple(exported.module_kept_var_idx)
    signature = Signature(tree, exported.out_tree, names, kept)
    return exported.mlir_module(), exported.fun_name, signature


def _name(path: tuple[Any, ...]) -> str:
    """`args[0]['w']`, as JAX's own messages name it."""
    import jax  # noqa: PLC0415

    head, *rest = path
    return ("args" if head.idx == 0 else "kwargs") + jax.tree_util.keystr(tuple(rest))
