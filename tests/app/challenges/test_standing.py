"""What a time is compared with: NumPy, and what the processor or its memory could do."""

from __future__ import annotations

import msgspec
import pytest

from app.artifacts import Answer, Measurement
from app.challenges import Problems
from app.challenges.standing import stand
from app.lessons import Evidence

DEFINED = "float32[4]: b"
KERNEL = Measurement(
    name="f", kind="prefix", seconds=0.5, checked="ok", definition=DEFINED, step=0, gflops=20.0, traffic=1e9
)
PEAK = Measurement(name="peak", kind="peak", seconds=0.0, gflops=80.0)
MEMORY = Measurement(name="memory", kind="bandwidth", seconds=0.25, traffic=2e9)
COMPUTE_BOUND, MEMORY_BOUND, NEITHER = "matmul", "vector-addition", "softmax"


@pytest.mark.parametrize(
    ("problem", "measured", "told"),
    [
        (COMPUTE_BOUND, [PEAK, MEMORY], (0.25, "25 % of the processor's arithmetic")),
        (MEMORY_BOUND, [PEAK, MEMORY], (0.25, "25 % of the memory's bandwidth")),
        (COMPUTE_BOUND, [MEMORY], (None, "")),
        (MEMORY_BOUND, [PEAK], (None, "")),
        (MEMORY_BOUND, [msgspec.structs.replace(MEMORY, traffic=None)], (None, "")),
        (NEITHER, [PEAK, MEMORY], (None, "")),
    ],
)
def test_a_share_is_of_what_limits_the_problem(
    problem: str, measured: list[Measurement], told: tuple[float | None, str]
) -> None:
    asked = Problems().find(problem)
    assert asked is not None
    standing = stand(asked, Evidence(Answer(), [*measured, KERNEL], definition=DEFINED))
    share, words = told
    assert (standing.passed, standing.share) == (True, share)
    assert standing.words == " · ".join(filter(None, ["500 ms", words]))
