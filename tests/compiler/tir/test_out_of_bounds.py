"""OOBChecker and find_anchor_block: what whole modules are asked about their accesses and blocks."""

from __future__ import annotations

import pytest

from compiler.classic.tir.out_of_bounds import OOBChecker
from compiler.ir.module import IRModule
from compiler.tir.analysis import find_anchor_block
from compiler.tir.schedule import ScheduleError
from compiler.tir.script import from_source


def _module(*lines: str) -> IRModule:
    header = "@T.prim_func\ndef main(A: T.Buffer((16,), 'float32'), B: T.Buffer((16, 16), 'float32'), n: T.int32):\n"
    return IRModule({"main": from_source(header + "".join(f"    {line}\n" for line in lines))})


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("for i in range(17):", "    A[i] = 0.0"), r"buffer A dimension 0. index i with bounds \[0, 16\]"),
        (("for i in range(16):", "    A[i + 1] = 0.0"), r"index i \+ 1 with bounds \[1, 16\]"),
        (("A[0] = B[3, -1]",), r"buffer B dimension 1. index -1 with bounds \[-1, -1\]"),
        (("for i, j in T.grid(4, 4):", "    A[i * 5 + j] = 0.0"), r"bounds \[0, 18\]"),
    ],
)
def test_accesses_that_leave_their_buffer(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        OOBChecker()(_module(*lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("for i, j in T.grid(4, 4):", "    A[i * 4 + j] = 0.0"),
        ("A[n] = 0.0",),
        ("for i in range(n):", "    A[i] = 0.0"),
        ("for i in range(32):", "    if i < 16:", "        A[i] = 0.0"),
    ],
)
def test_accesses_that_may_be_inside(lines: tuple[str, ...]) -> None:
    mod = _module(*lines)
    assert OOBChecker()(mod) is mod


def _sum(name: str, extent: int) -> tuple[str, ...]:
    return (
        f"for i, k in T.grid(16, {extent}):",
        f"    with T.block('{name}'):",
        "        v, r = T.axis.remap('SR', [i, k])",
        "        with T.init():",
        "            A[v] = 0.0",
        "        A[v] = A[v] + B[v, r]",
    )


def test_the_anchor_is_the_heaviest_reduction() -> None:
    copy = (
        "for i in range(16):",
        "    with T.block('copy'):",
        "        v = T.axis.spatial(16, i)",
        "        A[v] = 1.0",
    )
    assert find_anchor_block(_module(*copy)) is None
    for first, second in (("few", "many"), ("many", "few")):
        extents = {"few": 4, "many": 16}
        block = find_anchor_block(_module(*_sum(first, extents[first]), *copy, *_sum(second, extents[second])))
        assert block is not None
        assert block.name_hint == "many"
