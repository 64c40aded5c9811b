"""How a program says that operators are computed, and with which numbers; what is installed above this layer asks it.

Where nobody says anything, the row of an operator alone counts, and its schedule takes its usual numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compiler.ir.attrs import Attrs
from compiler.ir.extension import extension_point
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.operator import RelayOp
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.topi.schedules.choice import Configuration

if TYPE_CHECKING:
    from compiler.te.scheduling.schedule import Schedule

ScheduleMaker = Callable[[Attrs, "list[Tensor]", Target], "Schedule"]
"""Makes the schedule of a group from the outputs of the group, and the attributes of the operator it goes by."""
Implementation = Callable[[Attrs, Sequence[Tensor], Type, Target], tuple[ScheduleMaker, "list[Tensor]"]]
"""From the inputs of a call to what it computes, with the schedule of groups around it."""

_POINT = extension_point("implementations of operators")
_LOADED: dict[str, Callable[..., Any]] = {}
"""What answers, once it is loaded: builds ask for every call."""


def _answer(question: str, *about: object) -> Any:
    """Return what the layer above answers; None if there is none."""
    if question not in _LOADED:
        load: Any = _POINT.find(question) if _POINT.has(question) else None
        if load is None:
            return None
        _LOADED[question] = load()
    return _LOADED[question](*about)


def implementation_of(op: RelayOp) -> Implementation | None:
    """Return how a program computes an operator; None if it leaves that to the row."""
    implementation: Implementation | None = _answer("implementation_of", op)
    return implementation


def is_tuned() -> bool:
    """Return whether something chooses numbers of schedules, so that kernels depend on more than what they compute."""
    return bool(_answer("is_tuned"))


def configuration_of(call: Call, target: Target) -> Configuration | None:
    """Return the numbers that are chosen for the schedule of a call; None if nobody does."""
    configuration: Configuration | None = _answer("configuration_of", call, target)
    return configuration
