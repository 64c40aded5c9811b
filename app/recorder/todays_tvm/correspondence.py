"""Finds the primitives of a TensorIR schedule that do what those of a TE schedule do.

A TE schedule describes loops that lowering makes; a TensorIR schedule changes a program at once.  Hence the order:
caches and reduction factors first, then inlining, then the loops of each stage, consumers before what is computed in
their loops, and how loops run last.  Every primitive is applied to a schedule of Strata's own, which refuses what would
change a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from app.recorder.todays_tvm.calls import TAKEN, Call, short_reason
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, StringImm, Var
from compiler.ir.origin import NO_SPAN, Span
from compiler.te.definition.operation import ComputeOp, PlaceholderOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.te.program import NotExpressible
from compiler.te.scheduling.primitives import Primitive, primitives_of
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.stage_state import AttachType
from compiler.te.scheduling.storage import storage_scope
from compiler.te.script.names import Names
from compiler.tir.schedule.random_variables import BlockRV, LoopRV
from compiler.tir.schedule.schedule import Schedule as BlockSchedule
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

_PRAGMAS = ("auto_unroll_max_step", "unroll_explicit")
"""Pragmas that 0.27 obeys."""
_PLACES = ("compute_at", "compute_inline", "compute_root")
"""Primitives that say where a stage is computed; the last one counts."""


@dataclass(slots=True, eq=False)
class _Stage:
    """What is known of a stage while its schedule is carried over."""

    name: str
    block: BlockRV | None = None
    """None for a placeholder."""
    pending: list[Primitive] = field(default_factory=list)
    axes: list[IterVar] | None = None
    """The axes of its operation once they have loops."""
    moved_axes: list[IterVar] | None = None
    """The axes of a reduction factor in the order of its block, which is that of its loops once it is moved."""


class Correspondence:
    """Applies a TE schedule to the blocks of its definition.

    Parameters
    ----------
    schedule : Schedule
        It is left as it is.
    args : sequence of Tensor or Var
        The arguments of its function.

    Attributes
    ----------
    calls : list of Call
        The calls in the order in which they apply.
    names : dict
        The names of blocks and loops.

    Raises
    ------
    TVMError
        If the definition has no blocks, such as one with a scan.
    """

    def __init__(self, schedule: Schedule, args: Sequence[Tensor | Var]) -> None:
        self.function: PrimFunc = create_prim_func(args)
        self.result = BlockSchedule(self.function)
        self.calls: list[Call] = []
        self.names: dict[object, str] = {}
        self._taken = Names(TAKEN)
        self._schedule = schedule
        self._args = args
        self._loops: dict[IterVar, LoopRV] = {}
        self._late: list[tuple[_Stage, Primitive]] = []
        initial, _ = schedule.replay(0)
        operations = [stage.op for stage in initial.stages]
        self._stages = self._found_blocks(operations)
        self._caches_and_factors(operations)
        finals = [(stage, self._stages[stage.op]) for stage in schedule.stages if stage.op in self._stages]
        self._inline(finals)
        for stage, state in reversed(finals):
            if stage.attach_type is not AttachType.INLINE and state.block is not None:
                self._shape(stage, state)
        for state, primitive in self._late:
            self._one(primitive, partial(self._annotate, state, primitive))
        for stage, state in finals:
            self._keep_with_threads(stage, state)
            self._decompose(stage, state)

    @property
    def missing(self) -> list[Call]:
        """The primitives without a counterpart."""
        return [call for call in self.calls if call.missing]

    # noting calls

    @contextmanager
    def _noted(
        self, label: str = "", line: int | None = None, span: Span = NO_SPAN, primitive: str = ""
    ) -> Iterator[None]:
        """Note the instructions that are added inside as one call, also those before a failure."""
        trace = self.result.trace
        assert trace is not None
        before = len(trace.insts)
        missing = ""
        try:
            yield
        except TVMError as error:
            missing = short_reason(error)
        instructions = trace.insts[before:]
        for instruction in instructions:
            for made in instruction.outputs:
                self.names.setdefault(made, "_")
        if instructions or missing:
            self.calls.append(Call(instructions, label, line, span, missing, primitive))

    def _one(self, primitive: Primitive, apply: Callable[[], None]) -> None:
        stage = f"{primitive.stage}: " if primitive.stage else ""
        with self._noted(f"{stage}{primitive.label}", primitive.line, primitive.span, primitive.name):
            apply()

    def _name(self, thing: object, hint: str) -> None:
        self.names[thing] = self._taken.new(hint)

    # blocks

    def _found_blocks(self, operations: Sequence[Operation]) -> dict[Operation, _Stage]:
        """Look up the block of each operation, in the order of the function."""
        stages = {op: _Stage(op.name) for op in operations}
        computed = [op for op in operations if not isinstance(op, PlaceholderOp)]
        blocks = _blocks_of(self.function)
        if len(blocks) != len(computed) or not all(isinstance(op, ComputeOp) for op in computed):
            raise NotExpressible("its operations are not one block each")
        by_output = {block.writes[0].buffer.name: block for block in blocks}
        with self._noted():
            for op in computed:
                name = op.output(0).name.replace(".", "_")
                block = by_output.get(name)
                if block is None or len(by_output) != len(blocks):
                    raise NotExpressible("two of its tensors have the same name")
                found = self.result.get_block(block.name_hint)
                stages[op].block = found
                self._name(found, op.name)
        if self.missing:
            raise NotExpressible(self.missing[0].missing)
        return stages

    def _block(self, block: BlockRV) -> Block:
        found = self.result.get(block)
        assert isinstance(found, Block)
        return found

    def _buffer(self, tensor: Tensor) -> Buffer:
        state = self._stages[tensor.op]
        if state.block is not None:
            return self._block(state.block).writes[tensor.value_index].buffer
        place = next(i for i, a in enumerate(self._args) if isinstance(a, Tensor) and a.op is tensor.op)
        return self.function.buffer_map[self.function.params[place]]

    # caches and factors

    def _caches_and_factors(self, operations: Sequence[Operation]) -> None:
        for primitive in self._schedule.primitives:
            if primitive.index is None:
                if primitive.name == "rfactor":
                    self._before_factor(primitive)
                self._one(primitive, partial(self._of_schedule, primitive, operations))
            elif primitive.index < 0:
                self._one(primitive, lambda: _refuse("groups of stages have no counterpart"))
            else:
                self._stages[operations[primitive.index]].pending.append(primitive)
            operations = primitive.operations
            if unknown := [op for op in operations if op not in self._stages]:
                raise NotExpressible(f"{primitive.name} made {unknown[0].name!r}, whose block is not known")

    def _of_schedule(self, primitive: Primitive, before: Sequence[Operation]) -> None:
        given = _arguments(primitive, Schedule)
        made = [t for t in _listed(primitive.result) if isinstance(t, Tensor)]
        after = primitive.operations
        replaced = [op for op in before if op not in after]
        new = [op for op in after if op not in self._stages and all(op is not t.op for t in made)]
        tensor = given.get("tensor")
        written = self._stages[tensor.op] if isinstance(tensor, Tensor) else None
        for old, op in zip(replaced, new, strict=True):
            self._stages[op] = self._stages[old]
        if len({t.op for t in made}) != 1 or written is None:
            raise NotExpressible(f"{primitive.name} of several tensors has no counterpart")
        fresh = self._stages[made[0].op] = _Stage(made[0].op.name)
        if primitive.name == "cache_read":
            self._cache_read(given, fresh)
        elif primitive.name == "cache_write":
            self._cache_write(given, written, fresh)
        elif primitive.name == "rfactor":
            self._rfactor(given, written, fresh, made[0].op, after)
        else:
            raise NotExpressible(f"{primitive.name} has no counterpart")

    def _cache_read(self, given: dict[str, object], fresh: _Stage) -> None:
        tensor = given["tensor"]
        assert isinstance(tensor, Tensor)
        readers = [self._stages[_operation(reader)].block for reader in _listed(given["readers"])]
        blocks = [block for block in readers if block is not None]
        buffer = self._buffer(tensor)
        reads = [region.buffer for region in self._block(blocks[0]).reads]
        place = next(i for i, read in enumerate(reads) if read is buffer)
        fresh.block = self.result.cache_read(blocks[0], place, str(given["scope"]), blocks)
        self._name(fresh.block, fresh.name)

    def _cache_write(self, given: dict[str, object], written: _Stage, fresh: _Stage) -> None:
        if written.pending:
            raise NotExpressible("cache_write of a stage that is scheduled already has no counterpart")
        assert written.block is not None
        copy = self.result.cache_write(written.block, 0, str(given["scope"]))
        # The block goes on computing, now into the cache; the stage's own is the copy.
        fresh.block, written.block = written.block, copy
        self._name(copy, f"{written.name}_copy")

    def _before_factor(self, primitive: Primitive) -> None:
        """Change the loops of a reduction as far as its script does before it takes a factor."""
        tensor = _arguments(primitive, Schedule)["tensor"]
        state = self._stages[_operation(tensor)]
        self._bind_axes(state, [*_operation(tensor).axis, *_operation(tensor).reduce_axis])
        for pending in state.pending:
            self._one(pending, partial(self._change_loops, state, pending))
        state.pending = []

    def _rfactor(
        self, given: dict[str, object], written: _Stage, fresh: _Stage, made: Operation, after: Sequence[Operation]
    ) -> None:
        axis, place = given["axis"], given.get("factor_axis", 0)
        old = next(op for op in self._stages if self._stages[op] is written)  # the first: what the user defined
        assert isinstance(axis, IterVar)
        assert isinstance(place, int)
        assert isinstance(made, ComputeOp)
        assert isinstance(old, ComputeOp)
        assert written.block is not None
        factor = self._loop(axis)
        loops = self.result.get_loops(written.block)
        order = [self.result.get(loop) for loop in loops]
        at = next(i for i, loop in enumerate(order) if loop is self.result.get(factor))
        spatial = [next(i for i, loop in enumerate(order) if loop is self.result.get(self._loop(a))) for a in old.axes]
        fresh.block = self.result.rfactor(factor, place)
        self._name(fresh.block, fresh.name)
        partial = self.result.get_loops(fresh.block)
        inner = [loop for i, loop in enumerate(partial) if i != at and i not in spatial]
        outer = [partial[i] for i in spatial]
        outer.insert(place if place >= 0 else len(outer) + 1 + place, partial[at])
        if len(inner) != len(made.reduce_axis):
            raise NotExpressible("the loops of this factor have no counterpart")
        self._pair([*made.axes, *made.reduce_axis], [*outer, *inner])
        final = next(op for op in after if self._stages.get(op) is written)
        assert isinstance(final, ComputeOp)
        rest = self.result.get_loops(written.block)
        self._pair([*final.axes, *final.reduce_axis], rest)
        others = [axis for axis in made.axes if axis is not made.axes[place]]
        fresh.moved_axes = [made.axes[place], *others, *made.reduce_axis]
        fresh.axes, written.axes = [*made.axes, *made.reduce_axis], [*final.axes, *final.reduce_axis]
        if len(outer) + len(inner) > 1:
            self.result.reorder(*outer, *inner)

    # loops

    def _pair(self, axes: Sequence[IterVar], loops: Sequence[LoopRV]) -> None:
        for axis, loop in zip(axes, loops, strict=True):
            self._loops[axis] = loop
            self._name(loop, axis.var.name)

    def _bind_axes(self, state: _Stage, axes: Sequence[IterVar]) -> None:
        """Look up the loops of a block, the innermost of which are those of its axes."""
        if state.axes is not None or not axes:
            return
        assert state.block is not None
        state.axes = list(axes)
        with self._noted():
            loops = self.result.get_loops(state.block)
            self._pair(axes, loops[len(loops) - len(axes) :])

    def _loop(self, axis: object) -> LoopRV:
        loop = self._loops.get(axis) if isinstance(axis, IterVar) else None
        if loop is None:
            name = axis.var.name if isinstance(axis, IterVar) else str(axis)
            raise NotExpressible(f"its loop {name!r} has no counterpart")
        return loop

    def _inline(self, finals: Sequence[tuple[Stage, _Stage]]) -> None:
        for stage, state in finals:
            if stage.attach_type is AttachType.INLINE and state.block is not None:
                self._placed(state, partial(self.result.compute_inline, state.block))

    def _placed(self, state: _Stage, apply: Callable[[], None]) -> None:
        """Apply where a stage is computed, on behalf of the last primitive that says so."""
        said = [p for p in state.pending if p.name in _PLACES]
        if said:
            self._one(said[-1], apply)
        else:
            with self._noted(f"{state.name}: placed by its group"):
                apply()

    def _shape(self, stage: Stage, state: _Stage) -> None:
        """Move a block to where it is computed, and change its loops."""
        block, axes = state.block, [*stage.op.axis, *stage.op.reduce_axis]
        assert block is not None
        if stage.attach_type is AttachType.SCOPE:
            at = stage.attach_ivar
            self._placed(state, lambda: self.result.compute_at(block, self._loop(at), preserve_unit_loops=True))
            axes, state.axes = state.moved_axes or axes, None
        self._bind_axes(state, axes)
        for primitive in state.pending:
            if primitive.name in ("split", "fuse", "reorder", "tile"):
                self._one(primitive, partial(self._change_loops, state, primitive))
            elif primitive.name not in _PLACES:
                self._late.append((state, primitive))

    def _change_loops(self, state: _Stage, p: Primitive) -> None:
        given = _arguments(p, Stage)
        made = [axis for axis in _listed(p.result) if isinstance(axis, IterVar)]
        if p.name == "split":
            self._pair(made, self._split(given["parent"], given.get("factor"), given.get("nparts")))
        elif p.name == "tile":
            x = self._split(given["x_parent"], given.get("x_factor"), given.get("x_nparts"))
            y = self._split(given["y_parent"], given.get("y_factor"), given.get("y_nparts"))
            loops = [x[0], y[0], x[1], y[1]]
            self._pair(made, loops)
            self.result.reorder(*loops)
        elif p.name == "reorder":
            if len(p.args) > 1:
                self.result.reorder(*(self._loop(axis) for axis in p.args))
        elif p.name == "fuse":
            loops = [self._loop(axis) for axis in _flat(p.args)]
            if not loops:
                raise NotExpressible("fuse of no loops has no counterpart")
            self._pair(made, [self.result.fuse(*loops) if len(loops) > 1 else loops[0]])
        else:
            raise NotExpressible(f"{p.name} before rfactor has no counterpart")

    def _split(self, axis: object, factor: object, nparts: object) -> list[LoopRV]:
        factors = [None, _number(factor)] if factor is not None else [_number(nparts), None]
        return list(self.result.split(self._loop(axis), factors))

    def _annotate(self, state: _Stage, p: Primitive) -> None:
        """Say how a loop runs, or how a stage is stored."""
        given = _arguments(p, Stage)
        block = state.block
        assert block is not None
        match p.name:
            case "vectorize" | "parallel" | "unroll":
                loop = self._loop(given["var"])
                getattr(self.result, p.name)(loop)
            case "bind":
                thread = given["thread_ivar"]
                assert isinstance(thread, IterVar)
                self.result.bind(self._loop(given["ivar"]), thread.thread_tag)
            case "pragma" if given["pragma_type"] in _PRAGMAS:
                value = given.get("pragma_value")
                number = 1 if value is None else _number(value)
                self.result.annotate(self._loop(given["var"]), f"pragma_{given['pragma_type']}", number)
            case "set_scope":
                self.result.set_scope(block, 0, str(given["scope"]))
            case "storage_align":
                place = next((i for i, a in enumerate(state.axes or ()) if a is given["axis"]), None)
                if place is None:
                    raise NotExpressible("its axis is none of the tensor's")
                self.result.storage_align(block, 0, place, _number(given["factor"]), _number(given["offset"]))
            case "pragma":
                raise NotExpressible(f"the pragma {given['pragma_type']!r} has no counterpart")
            case _:
                raise NotExpressible(f"{p.name} has no counterpart")

    def _keep_with_threads(self, stage: Stage, state: _Stage) -> None:
        """Give a stage that threads compute for themselves the memory that lowering chooses for it."""
        scope = storage_scope(stage, list(_threads_around(stage)))
        block = state.block
        if block is None or stage.attach_type is not AttachType.SCOPE:
            return
        if self._block(block).writes[0].buffer.storage_scope != scope:
            with self._noted(f"{state.name}: memory of its threads", primitive="set_scope"):
                self.result.set_scope(block, 0, scope)

    def _decompose(self, stage: Stage, state: _Stage) -> None:
        """Set the initial value before the outermost loop of a reduction, as lowering does for tensor expressions."""
        sums = [axis for axis in stage.leaf_iter_vars if axis.iter_type == IterVar.CommReduce]
        bound = [a for a in sums if (attr := stage.iter_var_attrs.get(a)) and attr.bind_thread is not None]
        if state.block is None or not sums or bound or sums[0] not in self._loops:
            return
        trace = self.result.trace
        assert trace is not None
        before = len(trace.insts)
        try:
            made = self.result.decompose_reduction(state.block, self._loops[sums[0]])
        except TVMError:
            return  # the initial value is set in the first iteration instead
        self._name(made, f"{state.name}_init")
        self.calls.append(Call(trace.insts[before:], f"{state.name}: initial value"))


def _refuse(reason: str) -> None:
    raise NotExpressible(reason)


def _threads_around(stage: Stage) -> Iterator[IterVar]:
    """Yield the threads in whose loops a stage is computed."""
    while stage.attach_type is AttachType.SCOPE and stage.attach_stage is not None:
        at, stage = stage.attach_ivar, stage.attach_stage
        for axis in stage.leaf_iter_vars:
            attr = stage.iter_var_attrs.get(axis)
            if attr is not None and attr.bind_thread is not None:
                yield attr.bind_thread
            if axis is at:
                break


def _blocks_of(function: PrimFunc) -> list[Block]:
    schedule = BlockSchedule(function)
    children = schedule.get_child_blocks(schedule.get_block("root"))
    blocks = [schedule.get(child) for child in children]
    return [block for block in blocks if isinstance(block, Block)]


def _arguments(p: Primitive, owner: type) -> dict[str, object]:
    """Return the arguments of a call by name."""
    signature = inspect.signature(primitives_of(owner)[p.name])
    return dict(list(signature.bind(None, *p.args, **p.kwargs).arguments.items())[1:])


def _listed(value: object) -> list[object]:
    if isinstance(value, (list, tuple)):
        return list(value)
    return [] if value is None else [value]


def _flat(values: Sequence[object]) -> list[object]:
    return [item for value in values for item in _listed(value)]


def _operation(reader: object) -> Operation:
    return reader.op if isinstance(reader, (Tensor, Stage)) else reader  # type: ignore[return-value]


def _number(value: object) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, IntImm):
        return int(value.value)
    text = value.value if isinstance(value, StringImm) else value
    raise NotExpressible(f"the factor {text} is no number" if isinstance(value, PrimExpr) else f"{text} is no number")
