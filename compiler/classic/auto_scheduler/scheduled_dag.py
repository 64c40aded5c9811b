"""``auto_scheduler.ComputeDAG``: operations with the schedules of their sketch."""

from __future__ import annotations

import re

from compiler.classic.auto_scheduler.layout_rewrite import LayoutRewriteOption, layouts_for, rewritten, spread
from compiler.classic.auto_scheduler.loop_state import State as LoopState
from compiler.classic.auto_scheduler.sketch import Sketch, State
from compiler.classic.auto_scheduler.transform_steps import StepState
from compiler.classic.auto_scheduler.workload import ComputeDAG
from compiler.driver.lower import lower
from compiler.ir.error import expected
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.ir.module import IRModule
from compiler.search import Machine
from compiler.search.features import features
from compiler.te.definition.operation import ComputeOp
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import LAYOUT_FREE
from compiler.te.scheduling.schedule import Schedule

_REMEMBERED = 256
_CACHE = re.compile(r"\W+")


class ScheduledDAG(ComputeDAG):
    """The operations that tensors are computed by, and how they are scheduled.

    They are given by inputs and outputs, by a schedule that has none of its primitives applied, or by a workload's key.

    ``default`` is the schedule that there is without a search, and that the state without decisions stands for: none of
    its primitives applied, unless another is given.
    """

    default: Schedule | None = None

    @lazy_attribute
    def sketch(self) -> Sketch:
        """The schedules that are searched."""
        return Sketch(self)

    def apply_steps_from_state(
        self, state: State | StepState | LoopState, layout_rewrite: int = LayoutRewriteOption.NO_REWRITE
    ) -> tuple[Schedule, list[Tensor]]:
        """Return the schedule of a state, with the parameters of the function.

        ``layout_rewrite``, of :class:`LayoutRewriteOption`, says how layout-free placeholders become packed.
        """
        state = _chosen(state)
        if layout_rewrite and self._is_layout_free:
            return self._rewritten(state, layout_rewrite)[1]
        if isinstance(state, StepState):
            return state.schedule(self)
        if self.default is not None and not state.decisions:
            return self.default, self.tensors
        return self.sketch.schedule(state)

    def rewrite_layout_from_state(self, state: State | StepState | LoopState) -> ScheduledDAG:
        """Return the operations with packed placeholders in place of the layout-free ones."""
        return self._rewritten(_chosen(state), LayoutRewriteOption.REWRITE_FOR_PRE_TRANSFORMED)[0]

    def _rewritten(self, state: State | StepState, option: int) -> tuple[ScheduledDAG, tuple[Schedule, list[Tensor]]]:
        """Return the operations with packed placeholders, or copies, and the schedule of a state for them."""
        schedule, tensors = self.apply_steps_from_state(state)
        is_searched = isinstance(state, StepState) or state.decisions
        layouts = layouts_for(schedule) if is_searched else {}
        if not layouts:
            return self, (schedule, tensors)
        is_packed_before = option == LayoutRewriteOption.REWRITE_FOR_PRE_TRANSFORMED
        new, packed = rewritten(self.ops, layouts, is_packed_before)
        dag = ScheduledDAG([new.get(tensor, tensor) for tensor in self.tensors])
        dag.ops = [new.get(out := op.output(0), out).op for op in self.ops]  # states do not know the copies
        schedule, tensors = dag.apply_steps_from_state(state)
        for tensor in () if is_packed_before else packed.values():
            spread(schedule[tensor])
        return dag, (schedule, tensors)

    def get_init_state(self) -> LoopState:
        """Return a state without any steps, which programs change."""
        return LoopState(StepState(()), self)

    def infer_bound_from_state(self, state: StepState | LoopState) -> LoopState:
        """Return a state of the same steps whose loops have the extents of where their stages are computed.

        Raises ArgumentError if some lengths are still to be found.
        """
        steps = _chosen(state)
        if not isinstance(steps, StepState):
            expected("ComputeDAG.infer_bound_from_state", "state", "a state of steps", state)
        made = LoopState(steps, self)
        made.infer_bounds()
        return made

    def lowered(self, state: State | StepState, layout_rewrite: int = LayoutRewriteOption.NO_REWRITE) -> IRModule:
        """Return the loops of a state, the same ones each time."""
        key = state, layout_rewrite if self._is_layout_free else LayoutRewriteOption.NO_REWRITE
        if key not in self._lowered:
            if len(self._lowered) > _REMEMBERED:
                self._lowered.clear()
            self._lowered[key] = lower(*self.apply_steps_from_state(*key))
        return self._lowered[key]

    def features(self, state: State | StepState, layout_rewrite: int = LayoutRewriteOption.NO_REWRITE) -> list[float]:
        """Return what a cost model sees of a state."""
        return features(self.lowered(state, layout_rewrite), Machine())

    @lazy_attribute
    def _is_layout_free(self) -> bool:
        return any(LAYOUT_FREE in op.attrs for op in self.ops if isinstance(op, ComputeOp))

    @lazy_attribute
    def _lowered(self) -> dict[tuple[State | StepState, int], IRModule]:
        return {}

    def print_python_code_from_state(self, state: State | StepState | LoopState) -> str:
        """Return the schedule of a state as Python code."""
        return primitives_as_code(self.apply_steps_from_state(state)[0])


def _chosen(state: State | StepState | LoopState) -> State | StepState:
    given = state.state_object if isinstance(state, LoopState) else state
    if not isinstance(given, (State, StepState)):
        expected("ComputeDAG", "state", "a state", given)
    return given


def primitives_as_code(schedule: Schedule) -> str:
    """Return the primitives of a schedule as lines of Python."""
    return "".join(_line(p.label, p.stage) + "\n" for p in schedule.primitives)


def _line(label: str, stage: str) -> str:
    call, _, results = label.partition(" -> ")
    owner = f"s[{_identifier(stage)}]" if stage else "s"
    made = ", ".join(_identifier(name) for name in results.split(", ")) if results else ""
    name, bracket, arguments = call.partition("(")
    written = re.sub(r"[A-Za-z_][\w.]*", lambda m: _identifier(m[0]), arguments)
    if name == "compute_at":
        written = re.sub(r"^\w+", lambda m: f"s[{m[0]}]", written)
    return f"{made} = {owner}.{name}{bracket}{written}" if made else f"{owner}.{name}{bracket}{written}"


def _identifier(name: str) -> str:
    return _CACHE.sub("_", name)
