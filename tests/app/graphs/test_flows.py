"""Drawings of control flow: every block and jump is there, nothing overlaps, jumps back run beside the blocks."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from app.artifacts import Line, Listing
from app.errors import NotFound
from app.graphs import flows
from app.graphs.flows import DrawnFlow, draw_flow
from app.graphs.layout import NODE_HEIGHT


def listing(lines: list[str], language: str = "gas") -> Listing:
    return Listing(key="k", level="asm", name="f", language=language, lines=[Line(text, [7]) for text in lines])


def random_function(draw: Random) -> list[str]:
    count = draw.randint(1, 14)
    lines = ["f:", "    testq %rax, %rbx"]
    for number in range(count):
        lines.append(f".LBB0_{number}:")
        lines += ["    addq $1, %rax"] * draw.randint(1, 4)
        target = draw.randrange(count)
        lines += draw.choice([[f"    jne .LBB0_{target}"], [f"    jmp .LBB0_{target}"], ["    retq"], []])
    return lines


def assert_sound(flow: DrawnFlow) -> None:
    boxes = [block.position for block in flow.blocks]
    for one, other in combinations(boxes, 2):
        assert one.layer != other.layer or abs(one.x - other.x) >= (one.width + other.width) / 2
    drawn = [(item.jump.target, item.jump.kind) for item in flow.jumps]
    assert sorted(drawn) == sorted((j.target, j.kind) for block in flow.graph.blocks for j in block.jumps)
    assert all(flow.left <= box.x - box.width / 2 for box in boxes)
    assert all(box.x + box.width / 2 <= flow.left + flow.width for box in boxes)
    assert all(box.y + NODE_HEIGHT / 2 <= flow.height for box in boxes)


def test_random_functions_are_drawn_soundly() -> None:
    draw = Random(5)
    for _ in range(100):
        flow = draw_flow(listing(random_function(draw)))
        assert flow is not None
        assert_sound(flow)


NESTED = """\
f:
    xorl %eax, %eax
.LBB0_1:
    xorl %ecx, %ecx
.LBB0_2:
    vfmadd231ps %ymm0, %ymm1, %ymm2
    cmpq %rdx, %rcx
    jl .LBB0_2
    cmpq %rdx, %rax
    jl .LBB0_1
    retq
""".splitlines()


def test_a_block_says_what_it_is() -> None:
    flow = draw_flow(listing(NESTED))
    assert flow is not None
    assert flow.facts == ["5 blocks", "2 loops, 2 deep", "hot loop 3 instructions"]
    assert flow.blocks[2].description == (
        "Block .LBB0_2, 3 instructions, in 2 loops, hot loop, back to .LBB0_2 if true, to .LBB0_2+ if false"
    )
    assert flow.blocks[4].description == "Block .LBB0_2++, 1 instruction, in no loop, leaves the function"
    assert flow.blocks[2].origins == [7]


def test_the_function_can_be_chosen() -> None:
    lines = [*NESTED, "g:", "    retq"]
    flow = draw_flow(listing(lines), "g")
    assert flow is not None
    assert (flow.graph.function, flow.functions) == ("g", ["f", "g"])
    by_default = draw_flow(listing(lines), "gone")
    assert by_default is not None
    assert by_default.graph.function == "f"


def test_what_is_too_long_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MAX_BLOCKS", 4)
    with pytest.raises(NotFound, match="f has 5 blocks; at most 4 are drawn"):
        draw_flow(listing(NESTED))
    monkeypatch.setattr(flows, "MAX_LINES", 10)
    with pytest.raises(NotFound, match="at most 10 lines, this listing has 11"):
        draw_flow(listing(NESTED))


def test_a_text_without_jumps_has_none() -> None:
    assert draw_flow(listing(["for i in range(4):"], "python")) is None
