"""The nodes of fusion: ops that are not free, and their consumers, looking through free ops."""

from __future__ import annotations

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.kernels.contraction import template_operands
from shlo_disc.kernels.groups import Context
from shlo_disc.kernels.op_graph import captured, is_control, users_of


class OpNodes:
    """The nodes of one body in program order, and the nodes that read each of them."""

    def __init__(self, body: Body, context: Context) -> None:
        self.outputs = set(body.results)
        self._users = users_of(body)
        self._demanded = {op: _demanded(op, context) for op in body.walk()}
        wanted = {t for demanded in self._demanded.values() for t in demanded}
        self._stored = {t for op in body.ops if is_free(op) for t in op.results if t in wanted or t in self.outputs}
        self.nodes = [op for op in body.ops if not is_free(op) or self._is_stored(op)]
        self.position = {op: k for k, op in enumerate(self.nodes)}
        self.consumers = {op: self._consumers(op) for op in self.nodes}

    def is_read(self, tensor: Tensor) -> bool:
        """Whether anything reads this result."""
        return tensor in self.outputs or bool(self._users.get(tensor))

    def _is_stored(self, op: Op[object]) -> bool:
        """Whether a view must be stored: it is a result, or a template reads it directly from memory."""
        return any(t in self._stored for t in op.results)

    def _consumers(self, op: Op[object]) -> tuple[Op[object], ...]:
        found, stack, seen = dict[Op[object], None](), list(op.results), set[Tensor]()
        while stack:
            tensor = stack.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            for user in self._users.get(tensor, ()):
                if tensor not in op.results and self._reads_memory(user, tensor):
                    continue
                if not is_free(user) or self._is_stored(user):
                    found[user] = None
                if is_free(user):
                    stack.extend(user.results)
        return tuple(found)

    def _reads_memory(self, user: Op[object], view: Tensor) -> bool:
        """Whether an op reads a view from its memory alone. Bodies of loops and branches read the base of a view.

        A scatter may copy a view from memory and compute its indices from the base of the same view.
        """
        in_memory = self._demanded[user].count(view)
        if view not in self._stored or not in_memory or in_memory < user.operands.count(view):
            return False
        return not any(view in captured(body) for body in user.bodies)


def _demanded(op: Op[object], context: Context) -> list[Tensor]:
    """The tensors that `op` reads directly from memory."""
    read = template_operands(op, context.structures, context.abilities)
    return [*read, *(t for body in op.bodies if is_control(op) for t in body.results)]
