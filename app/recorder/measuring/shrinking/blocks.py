"""Shrinks TensorIR schedules: replays the trace with smaller factors on a smaller program."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from app.recorder.measuring.shrinking.definitions import NotShrinkable, defined_operations, extents_of, redefine
from app.recorder.measuring.shrinking.dimensions import Dimension, Dimensions
from app.recorder.measuring.shrinking.schedules import numbers_of, sizes_of
from app.recorder.measuring.shrinking.sizes import small_sizes
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.te.definition.tensor import Operation
from compiler.te.lowering.block_definitions import NotDefinitions, definitions_of_blocks
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator, StmtVisitor

STEPS = frozenset(
    {
        "GetBlock", "GetLoops", "GetChildBlocks", "GetConsumers", "GetProducers", "Split", "Fuse", "Reorder",
        "Parallel", "Vectorize", "Unroll", "Bind", "CacheRead", "CacheWrite", "ComputeAt",
        "ReverseComputeAt", "ComputeInline", "ReverseComputeInline", "DecomposeReduction",
    }
)  # fmt: skip
"""Kinds of steps that mean the same in any size."""
MALFORMED = (ValueError, TypeError, LookupError, AttributeError)
"""What a trace raises whose steps have other parts than they should: anybody may have written it."""


def shrink_blocks(func: PrimFunc, trace: str, ratio: int) -> IRModule:
    """Apply the steps of a trace, with smaller factors, to the same blocks of smaller buffers.

    A loop is at most ``ratio`` times, 2 or more, as long as its parts.
    """
    try:
        steps = _steps(trace)
        small, changed = _Shrinking(func, ratio).apply(steps)
        schedule = Schedule(small)
        Trace.apply_json_to_schedule([changed, []], schedule)
        return schedule.mod
    except NotShrinkable:
        raise
    except NotDefinitions as error:
        raise NotShrinkable(f"the blocks are not definitions of tensors: {error}") from error
    except (TVMError, *MALFORMED) as error:
        raise NotShrinkable(f"the primitives cannot be applied to a smaller program: {error}") from error


Step = list[Any]
"""Kind, inputs, attributes and outputs."""


def _steps(trace: str) -> list[Step]:
    if not trace:
        raise NotShrinkable("how the schedule was made was not recorded")
    try:
        steps, choices = json.loads(trace)
        known = all(len(step) == 4 and step[0] in STEPS for step in steps)
    except (ValueError, TypeError, RecursionError):
        raise NotShrinkable("the record of the schedule cannot be read") from None
    if choices or not known:
        other = sorted({str(step[0]) for step in steps} - STEPS)
        raise NotShrinkable(f"{', '.join(other) or 'sampling'} depends on the size of the program")
    return list(steps)


@dataclass
class _Shrinking:
    """Smaller sizes for one program."""

    func: PrimFunc
    ratio: int
    dimensions: Dimensions = field(default_factory=Dimensions)

    def apply(self, steps: Sequence[Step]) -> tuple[PrimFunc, list[Step]]:
        """Return the smaller program, and the steps with its factors."""
        blocks = _Blocks()
        blocks.visit(self.func.body)
        tensors = definitions_of_blocks(self.func)
        made = {r.block.name_hint: tensors[r.block.writes[0].buffer].op for r in blocks.realizations}
        operations = defined_operations(made.values())
        self.dimensions.read(operations)
        extents = {member: extent for op in operations for member, extent in extents_of(op).items()}
        splits = self._splits(steps, made)
        numbers = numbers_of(self.dimensions, extents, [(dim, f) for dim, factors in splits.values() for f in factors])
        tables = {
            owner: {value: value for value in values}
            if self.dimensions.is_fixed(owner)
            else small_sizes(values, self.ratio)
            for owner, values in numbers.items()
        }
        small = redefine(operations, self.dimensions, sizes_of(self.dimensions, extents, tables))
        outputs = [tensors[self.func.buffer_map[param]] for param in self.func.params]
        func = create_prim_func([small[t.op].output(t.value_index) for t in outputs])
        names = {op.name: realize for realize in blocks.realizations for op in [made[realize.block.name_hint]]}
        changed = [self._changed(index, step, splits, tables, made) for index, step in enumerate(steps)]
        return _named_as(func, names), changed

    def _splits(self, steps: Sequence[Step], made: Mapping[str, Operation]) -> dict[int, tuple[Dimension, list[int]]]:
        """Return, by the number of the step, the axis that each split is of and the lengths of its inner loops."""
        blocks: dict[str, Operation] = {}
        axes: dict[str, Dimension] = {}
        splits: dict[int, tuple[Dimension, list[int]]] = {}
        for index, (kind, inputs, attrs, outputs) in enumerate(steps):
            if kind == "GetBlock" and attrs[0] in made:
                blocks[outputs[0]] = made[attrs[0]]
            elif kind == "GetLoops" and inputs[0] in blocks:
                own = blocks.pop(inputs[0]).root_iter_vars
                if len(own) == len(outputs):
                    axes.update({name: axis.var for name, axis in zip(outputs, own, strict=True)})
            elif kind == "Split":
                loop, _, *factors = inputs
                if loop not in axes or not all(type(f) is int and f > 0 for f in factors):
                    raise NotShrinkable("a split is of a loop that is not part of an axis, or by no number")
                splits[index] = axes[loop], [math.prod(factors[at:]) for at in range(len(factors))]
                axes.update(dict.fromkeys(outputs, axes[loop]))
        return splits

    def _changed(
        self,
        index: int,
        step: Step,
        splits: Mapping[int, tuple[Dimension, list[int]]],
        tables: Mapping[Dimension, Mapping[int, int]],
        made: Mapping[str, Operation],
    ) -> Step:
        kind, inputs, attrs, outputs = step
        if kind == "GetBlock":
            name = made[attrs[0]].name if attrs[0] in made else attrs[0]
            return [kind, inputs, [name, *attrs[1:]], outputs]
        if kind != "Split":
            return step
        axis, lengths = splits[index]
        table = tables[self.dimensions.class_of(axis)]
        inner = [*(table[length] for length in lengths), 1]
        factors = [long // short for long, short in pairwise(inner)]
        return [kind, [inputs[0], "None", *factors], attrs, outputs]


class _Blocks(StmtVisitor):
    """Collects the blocks that compute something, in their order."""

    def __init__(self) -> None:
        self.realizations: list[BlockRealize] = []

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        if n.block.iter_vars:
            self.realizations.append(n)
        else:
            self.visit(n.block.body)


def _named_as(func: PrimFunc, originals: Mapping[str, BlockRealize]) -> PrimFunc:
    """Return a program whose loops have the names of those around the original blocks, by the names of the blocks."""
    blocks = _Blocks()
    blocks.visit(func.body)
    names: dict[Var, Var] = {}
    for realize in blocks.realizations:
        original = _loops_of(originals[realize.block.name_hint])
        for mine, other in zip(_loops_of(realize), original, strict=True):
            names[mine] = Var(other.name, mine.dtype)
    return func.with_body(_Rename(names).visit(func.body))


def _loops_of(realize: BlockRealize) -> list[Var]:
    """Return the loops of a block, those of its reduction last."""
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    ordered = sorted(pairs, key=lambda pair: pair[0].iter_type == IterVar.CommReduce)
    return [value for _, value in ordered if isinstance(value, Var)]


class _Rename(StmtMutator):
    """Puts loops of other names in place of some."""

    def __init__(self, names: Mapping[Var, Var]) -> None:
        self._names = names

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._names.get(n, n)

    def visit_For(self, n: For) -> Stmt:
        return rebuild(n, loop_var=self._names.get(n.loop_var, n.loop_var), body=self.visit(n.body))
