"""Shrinks a scheduled computation: the same schedule over smaller tensors.

What is made small keeps its structure: splits that divide their loops still do, those that leave a tail leave one, and
:func:`shrink_schedule` compares the loop nests before it returns one.
"""

from app.recorder.measuring.shrinking.blocks import MALFORMED, shrink_blocks
from app.recorder.measuring.shrinking.definitions import NotShrinkable
from app.recorder.measuring.shrinking.schedules import SmallSchedule, shrink_schedule

__all__ = ["MALFORMED", "NotShrinkable", "SmallSchedule", "shrink_blocks", "shrink_schedule"]
