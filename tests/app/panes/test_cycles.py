"""Cycles of an iteration as they were measured, beside those of the model."""

from __future__ import annotations

import pytest

from app.panes.cycles import MeasuredCall, loop_flops, measured_loop

FMA = "    vfmadd231ps %zmm0, %zmm1, %zmm2"


def test_operations_are_counted_by_their_lanes() -> None:
    assert loop_flops([FMA]) == 32
    assert loop_flops(["    vfmadd231ps (%rsi){1to16}, %zmm1, %zmm2", "    vfnmadd213pd %ymm0, %ymm1, %ymm2"]) == 40
    assert loop_flops(["    vaddps      %ymm0, %ymm1, %ymm2", "    mulsd       %xmm1, %xmm0"]) == 9
    assert (
        loop_flops(["    addq        $8, %rax", "    vmovups     (%rsi), %zmm0", "    vaddsubps   %xmm0, %xmm1"]) == 0
    )


def test_an_iteration_takes_its_share_of_the_call() -> None:
    call = MeasuredCall(seconds=1e-3, frequency=4e9, flops=32 * 1_000_000.0)  # four cycles for each instruction
    loop = measured_loop(call, [FMA] * 3, 12.0)
    assert loop is not None
    assert loop.cycles == pytest.approx(12.0)
    assert "12 cycles an iteration at 4 GHz" in loop.words
    assert "as fast as its instructions allow" in loop.words
    slow = measured_loop(call, [FMA] * 3, 4.0)
    assert slow is not None
    assert "3× those of the model" in slow.words
    assert "waiting for memory" in slow.words
    quick = measured_loop(call, [FMA] * 3, 24.0)
    assert quick is not None
    assert "only roughly" in quick.words
    assert measured_loop(call, ["    addq $8, %rax"], 1.0) is None


@pytest.mark.parametrize(
    "said", [{}, {"seconds": "1"}, {"seconds": "x"}, {"seconds": "-1"}, {"seconds": "nan"}, {"seconds": "1e300"}]
)
def test_what_a_page_says_is_bounded(said: dict[str, str]) -> None:
    assert MeasuredCall.read(said) is None
    rest = {"frequency": "4e9", "flops": "100"}
    assert (MeasuredCall.read({**rest, **said}) is None) == (said != {"seconds": "1"})
