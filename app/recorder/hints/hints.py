"""Makes the hints of a script: nothing runs again for them.

What a name stands for is read off the script's variables where they still have the value, and else off what was
recorded of the call that made it: operations, axes, loops and expressions know where in the script they come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from app.artifacts import MAX_HINT, MAX_HINTS, SCRIPT_NAME, Hint
from app.recorder.hints.assignments import Assignment, Place, assignments
from app.recorder.hints.values import CallValues, Texts, array_text, value_texts
from app.recorder.printing import Memo
from app.recorder.recorder import Recorder
from app.recorder.scripts.script import Script
from app.recorder.units.graph_drawing import type_text
from app.recorder.units.schedule_tree import extents_of
from app.recorder.units.schedules import TensorSchedule
from compiler.ir.error import TVMError
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import IterVar, PrimExpr
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginId, OriginTable, Span
from compiler.relay.analysis import post_order_visit
from compiler.relay.expr import GraphExpr, TupleWrapper
from compiler.relay.function import Function
from compiler.relay.transform import InferType
from compiler.relay.ty import FuncType, TupleType, Type
from compiler.te.definition.operation import ComputeOp

MAX_SCHEDULES = 20
"""Schedules whose bounds are inferred: the last ones."""
Extents = dict[IterVar, PrimExpr]
Types = dict[OriginId, Type]


class Hints:
    """Makes the hints of a script that runs or has run.

    Parameters
    ----------
    table : OriginTable
        The origin table of the recording.
    """

    def __init__(self, script: Script, recorder: Recorder, table: OriginTable) -> None:
        self._script = script
        self._recorder = recorder
        self._table = table
        self._assignments = assignments(script.source)
        self._types: Memo[Types] = Memo()
        self._bounds: dict[TensorSchedule, tuple[int, Extents]] = {}

    def made(self) -> list[Hint]:
        """Return the hints of all lines whose values are known by now."""
        if not self._assignments:
            return []
        extents = self._extents()
        types = self._inferred_types()
        calls = [self._recorder.calls, self._schedule_calls(extents), self._graph_calls(types)]
        hints: list[Hint] = []
        for line, group in groupby(self._assignments, key=lambda assignment: assignment.line):
            statements = list(group)
            told = [one for assignment in statements for one in self._told(assignment, extents, types, calls)]
            if told and len(hints) < MAX_HINTS:
                hints.append(Hint(line, _joined(told, len(statements) > 1 or statements[0].is_tuple)))
        return hints

    def _told(
        self, assignment: Assignment, extents: Extents, types: Types, calls: list[CallValues]
    ) -> Iterator[tuple[str, str]]:
        """Yield each name of an assignment of whose value anything is told, with what that is."""
        made = next(filter(None, (values.of(assignment.place) for values in calls)), ())
        if not assignment.is_tuple:
            made = (", ".join(filter(None, made)),)
        if len(made) != len(assignment.names):
            made = ("",) * len(assignment.names)
        for name, of_call in zip(assignment.names, made, strict=True):
            text = (assignment.lasting and self._variable_text(name, extents, types)) or of_call
            if text:
                yield name, text

    def _variable_text(self, name: str, extents: Extents, types: Types) -> str:
        value = self._script.names.get(name)
        if type(value) is TupleWrapper:
            value = value.tuple_value
        if issubclass(type(value), RelayExpr):
            return type_text(types.get(_only(value.span)))  # type: ignore[attr-defined]
        return ", ".join(filter(None, value_texts(value, extents)))

    # tensor expressions

    def _schedules(self) -> list[TensorSchedule]:
        schedules = [record for record in self._recorder.schedules if isinstance(record, TensorSchedule)]
        return schedules[-MAX_SCHEDULES:]

    def _extents(self) -> Extents:
        extents: Extents = {}
        for record in self._schedules():
            count, known = self._bounds.get(record, (-1, {}))
            if count != record.count:
                count, known = self._bounds[record] = record.count, extents_of(record.schedule)
            extents.update(known)
        return extents

    def _schedule_calls(self, extents: Extents) -> CallValues:
        """Return what calls that define operations, or are primitives of a schedule, gave."""
        calls = CallValues()
        for record in self._schedules():
            schedule = record.schedule
            operations = {op: None for stage in schedule.stages for op in (stage.origin_op, stage.op)}
            for primitive in schedule.primitives:
                operations.update(dict.fromkeys(primitive.operations))
                self._note(calls, primitive.span, primitive.name, value_texts(primitive.result, extents))
            for op in operations:
                outputs = tuple(array_text(op.output(i).shape, op.output(i).dtype) for i in range(op.num_outputs))
                self._note(calls, op.span, "", outputs)
                for axis in op.reduce_axis if isinstance(op, ComputeOp) else ():
                    self._note(calls, axis.span, "", value_texts(axis, extents))
        return calls

    def _note(self, calls: CallValues, span: Span, function: str, texts: Texts) -> None:
        """Note what the call of a span gave; labels of definitions end with what was called: ``C = compute``."""
        origin = _only(span)
        row = self._table.rows[origin] if 0 <= origin < len(self._table.rows) else None
        if row is None or row.level != "source" or row.location is None or row.location.file != SCRIPT_NAME:
            return
        calls.note(Place(row.location.end_line, row.location.end_column, function or _called(row.label)), texts)

    # graphs

    def _inferred_types(self) -> Types:
        types: Types = {}
        for graph in self._recorder.graphs:
            if graph.first is not None:
                types.update(self._types.make(graph.first, partial(_types_of, graph.first)))
        return types

    def _graph_calls(self, types: Types) -> CallValues:
        calls = CallValues()
        for origin, kind in types.items():
            parts = kind.fields if isinstance(kind, TupleType) else (kind,)
            self._note(calls, frozenset({origin}), "", tuple(map(type_text, parts)))
        return calls


def _only(span: Span) -> OriginId:
    """Return the origin of a span that has one alone; -1 for others."""
    return next(iter(span)) if len(span) == 1 else -1


def _called(label: str) -> str:
    """Return what was called, of the label of an origin: ``C = compute``, ``nn.relu``, ``%x``."""
    return "var" if label.startswith("%") else label.rpartition(" ")[2].rpartition(".")[2]


def _types_of(module: IRModule) -> Types:
    """Return the types of expressions by their origins; none if the module is wrong."""
    try:
        with uninstrumented():
            typed = InferType()(module)
    except TVMError:
        return {}
    types: Types = {}

    def note(expr: GraphExpr) -> None:
        kind, origin = getattr(expr, "checked_type_", None), _only(expr.span)
        if kind is not None and origin >= 0 and not isinstance(kind, FuncType):
            types[origin] = kind

    for function in typed.functions.values():
        if isinstance(function, Function):
            post_order_visit(function, note)
    return types


def _joined(told: list[tuple[str, str]], named: bool) -> str:
    """Return what is told of the names of a line; ``named`` says whether each must say which it is."""
    text = ", ".join(f"{name}: {text}" if named else text for name, text in told)
    return text if len(text) <= MAX_HINT else text[: MAX_HINT - 1] + "…"
