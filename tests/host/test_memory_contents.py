"""What a write may overwrite: homes are apart by proof or by condition, one by one."""

from __future__ import annotations

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import ZERO, Dim, Sym, const, minimum, of
from shlo_disc.expr.facts import Facts
from shlo_disc.host.memory_contents import Clock, Layout, MemoryContents
from shlo_disc.host.program import HostBuffer, HostProgram
from shlo_disc.host_ir import Buffer
from shlo_disc.ir.dtypes import DType

N = Sym("n")
FACTS = Facts.empty().assume_at_least(of(N), 1, "a size", NOWHERE)


def buffer(number: int, offset: Dim, size: Dim) -> HostBuffer:
    tensor = Tensor(f"t{number}", (size,), DType.UI8, NOWHERE)
    return Buffer("arena", 0, offset, size, repr(tensor), "uint8", tensor.shape, 0, 9, number, made=tensor)


def layout(*places: tuple[Dim, Dim]) -> Layout:
    buffers = tuple([buffer(number, *place) for number, place in enumerate(places)])
    points = [{N: 5}, {N: 500}]
    return Layout(HostProgram(buffers, (), (), ZERO, ()), FACTS, points, list)


def test_a_buffer_that_may_be_empty_keeps_no_others_apart() -> None:
    """From 100 on the second buffer lies behind the first one, the third behind it; below, the third is in front."""
    some = minimum(of(N) // 100, 1)
    found = layout((ZERO, const(64)), (64 * some, 64 * some), (128 * some, const(64)))
    contents = MemoryContents(found, {}, Clock(dict.fromkeys(range(3), 9)))
    values = [Tensor(f"v{number}", (), DType.F32, NOWHERE) for number in range(3)]
    assert found.make_apart(0, 1), "at 5 the second one is empty"
    assert contents.write(0, values[:1], "the first step") == set()
    assert contents.write(1, values[1:2], "the second step") == set()
    assert contents.write(2, values[2:], "the third step") == {0}
    assert contents.lost[0].pair == (0, 2)
    assert not found.make_apart(0, 2), "at 5 both are there"
    assert contents.of(1) == {values[1]}
