"""``tvm.contrib.tedd``: schedules drawn as Graphviz graphs.

A schedule is drawn in three ways: which stage reads which tensor, which stage is computed inside of which loop, and how
the loops of each stage come from its axes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path

from compiler.classic.contrib.dot import Html, attributes, digraph, quoted, table
from compiler.classic.te.schedule_steps import InferBound
from compiler.ir.error import ArgumentError, ScheduleError, UnavailableError
from compiler.ir.expr.axes import IterVar, Range
from compiler.te.definition.extern import ExternOp
from compiler.te.definition.operation import ComputeOp
from compiler.te.relations.rebase import Rebase
from compiler.te.relations.relation import Relation
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage
from compiler.te.scheduling.stage_state import AttachType

_KINDS = (
    ("kDataPar", "#FFFFFF"),
    ("kThreadIndex", "#2980B9"),
    ("kCommReduce", "#FAD7A0"),
    ("kOrdered", "#D35400"),
    ("kOpaque", "#ABB2B9"),
    ("kUnrolled", "#D2B4DE"),
    ("kVectorized", "#AED6F1"),
    ("kParallelized", "#F5B7B1"),
    ("kTensorized", "#A9DFBF"),
)
"""The name and the colour of each kind of axis, by ``IterVar.iter_type``."""
_ATTACHED = ("#922B21", "#76448A", "#1F618D", "#148F77", "#B7950B", "#AF601A", "#F5B7B1", "#A9DFBF")
"""The colours of edges that lead to a stage's loops, by the loop's number."""
_BODY_WIDTH = 30
_PORTS = {"parent": "Input", "iter": "Iter"}


def viz_dataflow_graph(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Draw which stages read and write which tensors, with the arguments of :func:`viz_schedule_tree`."""
    _check(sch, show_svg, "viz_dataflow_graph")
    return _written(digraph("Dataflow Graph", _dataflow(sch)), dot_file_path, output_dot_string)


def viz_schedule_tree(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Draw the loops of each stage, and the loop that each is computed in, to a file where ``dot_file_path`` names one.

    Ranges are shown where bounds can be inferred, as for ``schedule.normalize()``. Raises UnavailableError if
    ``show_svg`` is true: no picture is made here. Raises ArgumentError if ``sch`` is not a schedule.
    """
    _check(sch, show_svg, "viz_schedule_tree")
    return _written(digraph("Schedule Tree", _schedule_tree(sch)), dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Draw how the loops of each stage come from its axes: the splits and fusions between them.

    The arguments and errors are those of :func:`viz_schedule_tree`.
    """
    _check(sch, show_svg, "viz_itervar_relationship_graph")
    return _written(digraph("IterVar Relationship Graph", _relations(sch)), dot_file_path, output_dot_string)


def _check(sch: Schedule, show_svg: bool, name: str) -> None:
    if not isinstance(sch, Schedule):
        raise ArgumentError(f"tedd.{name}: expected a schedule of te.create_schedule, got {type(sch).__name__}")
    if show_svg:
        raise UnavailableError(
            f"tedd.{name}: images are not rendered; write the graph with dot_file_path= and render it with"
            f" Graphviz: dot -Tsvg FILE"
        )


def _written(text: str, path: str, returned: bool) -> str | None:
    if path:
        Path(path).write_text(text, encoding="utf-8")
    return text if returned else None


@dataclass(frozen=True)
class _Axis:
    """A loop or an axis of a stage as it is drawn."""

    identity: str
    name: str
    kind: int
    position: int
    """Among the stage's loops from the outermost on; -1 of what is no loop itself."""
    thread: str
    domain: Range | None

    def cells(self, threads: bool) -> list[str]:
        kind, colour = _KINDS[self.kind]
        thread = f'<br/><font color="{_KINDS[1][1]}">({self.thread})</font>' if threads and self.thread else ""
        where = "N/A" if self.domain is None else f"min={self.domain.min}, ext={self.domain.extent}"
        text = f"{escape(self.name)}({kind}){thread}<br/>range({escape(where)})"
        return [_cell(str(self.position), colour, self.identity), _cell(text, "white", "itervar")]


class _ScheduleNames:
    """The stages of a schedule with the names that they and their loops have in a drawing.

    Loops that only count from zero what their axis counts from elsewhere are drawn as that axis.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.stages = list(schedule.stages)
        self.number = {stage.op: number for number, stage in enumerate(self.stages)}
        self._domains = _domains(schedule)
        self._rebased = {r.rebased: r.parent for s in self.stages for r in s.relations if isinstance(r, Rebase)}
        self._identity = {
            axis: f"IterVar_{number}_{index}"
            for number, stage in enumerate(self.stages)
            for index, axis in enumerate(axis for axis in stage.all_iter_vars if axis not in self._rebased)
        }

    def identity(self, axis: IterVar) -> str:
        return self._identity[self._rebased.get(axis, axis)]

    def loops(self, stage: Stage) -> list[IterVar]:
        """Return the stage's loops from the outermost on."""
        return [self._rebased.get(loop, loop) for loop in stage.leaf_iter_vars]

    def axes(self, stage: Stage) -> list[IterVar]:
        return [axis for axis in stage.all_iter_vars if axis not in self._rebased]

    def relations(self, stage: Stage) -> list[Relation]:
        return [relation for relation in stage.relations if not isinstance(relation, Rebase)]

    def axis(self, stage: Stage, axis: IterVar) -> _Axis:
        loops = self.loops(stage)
        position = loops.index(axis) if axis in loops else -1
        attr = stage.iter_var_attrs.get(stage.leaf_iter_vars[position] if position >= 0 else axis)
        kind = attr.iter_type if attr is not None and attr.iter_type is not None else axis.iter_type
        thread = attr.bind_thread.var.name if attr is not None and attr.bind_thread is not None else ""
        return _Axis(self._identity[axis], _name(axis.var.name), kind, position, _name(thread), self._domains.get(axis))


def _domains(schedule: Schedule) -> Mapping[IterVar, Range]:
    try:
        return InferBound(schedule)
    except ScheduleError as error:
        warnings.warn(f"tedd: ranges are not known: {error}", stacklevel=4)
        return {}


def _name(text: str) -> str:
    return text.replace(".", "_")


def _cell(text: str, colour: str, port: str = "", columns: int = 1, rows: int = 1) -> str:
    given = {"COLSPAN": columns, "ROWSPAN": rows, "PORT": port}
    extra = "".join(f' {key}="{value}"' for key, value in given.items() if value not in ("", 1))
    return f'<TD BGCOLOR="{colour}"{extra}>{text}</TD>'


def _node(identity: str, label: str, shape: str = "none") -> str:
    return f"{identity} {attributes({'label': label, 'margin': '0', 'shape': shape})}"


def _scope(stage: Stage) -> str:
    return f"{escape(stage.op.name)}<br/>Scope: {escape(stage.scope)}"


def _legend() -> Iterator[str]:
    yield "subgraph cluster_legend {"
    yield "  label=Legend"
    yield "  " + _node("legend", table([[_cell("", colour), _cell(kind, "white")] for kind, colour in _KINDS]))
    yield "}"


def _dataflow(schedule: Schedule) -> Iterator[str]:
    number = {stage.op: number for number, stage in enumerate(schedule.stages)}
    yield "graph [rankdir=LR]"
    for position, stage in enumerate(schedule.stages):
        yield _node(f"Stage_{position}", _ports(stage))
        for index in range(stage.op.num_outputs):
            tensor = stage.op.output(index)
            shape = ", ".join(map(str, tensor.shape))
            yield _node(f"Tensor_{position}_{index}", f"[{shape}]\n{tensor.dtype}", "oval")
    for position, stage in enumerate(schedule.stages):
        for index, tensor in enumerate(stage.op.input_tensors):
            yield f"Tensor_{number[tensor.op]}_{tensor.value_index} -> Stage_{position}:I_{index}"
        for index in range(stage.op.num_outputs):
            yield f"Stage_{position}:O_{index} -> Tensor_{position}_{index}"


def _ports(stage: Stage) -> Html:
    """Return a stage with a port for each tensor that it reads, on the left, and that it writes, on the right."""
    inputs, outputs = len(stage.op.input_tensors), stage.op.num_outputs
    height = max(inputs, outputs)

    def port(kind: str, index: int, count: int) -> str:
        return _cell(str(index), "lightgrey", f"{kind}_{index}", 2) if index < count else _cell("", "white", "", 2)

    return table(
        [
            port("I", row, inputs),
            *([_cell(_scope(stage), "white", "", 2, height)] * (row == 0)),
            port("O", row, outputs),
        ]
        for row in range(height)
    )


def _schedule_tree(schedule: Schedule) -> Iterator[str]:
    drawn = _ScheduleNames(schedule)
    yield "graph [rankdir=BT]"
    yield from _legend()
    for number, stage in enumerate(drawn.stages):
        rows = [[_cell(_scope(stage), "lightgrey", "stage", 2)]]
        rows += [drawn.axis(stage, loop).cells(threads=True) for loop in drawn.loops(stage)]
        if isinstance(stage.op, ComputeOp | ExternOp):
            rows.append([_cell(_body(stage.op), "white", "", 2)])
        yield _node(f"Stage_{number}", table(rows))
    for number, stage in enumerate(drawn.stages):
        yield f"Stage_{number} -> {_attached_to(drawn, stage)}"
    yield _node("ROOT", "ROOT", "oval")


def _body(op: ComputeOp | ExternOp) -> str:
    lines = [f"[{', '.join(map(str, op.body))}]"] if isinstance(op, ComputeOp) else str(op.body).splitlines()
    parts = (line[at : at + _BODY_WIDTH] for line in lines for at in range(0, len(line), _BODY_WIDTH))
    return "<br/>".join(escape(part) for part in parts)


def _attached_to(drawn: _ScheduleNames, stage: Stage) -> str:
    owner, loop = stage.attach_stage, stage.attach_ivar
    if stage.attach_type is not AttachType.SCOPE or owner is None or loop is None:
        return f"ROOT {attributes({'color': '#000000'})}"
    identity = drawn.identity(loop)
    colour = _ATTACHED[int(identity.rsplit("_", 1)[1]) % len(_ATTACHED)]
    return f"Stage_{drawn.number[owner.op]}:{identity} {attributes({'color': colour})}"


def _relations(schedule: Schedule) -> Iterator[str]:
    drawn = _ScheduleNames(schedule)
    yield "graph [rankdir=TB]"
    yield from _legend()
    for number, stage in enumerate(drawn.stages):
        yield f"subgraph cluster_Stage_{number} {{"
        yield f"  label={quoted(stage.op.name)}"
        yield from (f"  {line}" for line in _relations_of(drawn, number, stage))
        yield "}"


def _relations_of(drawn: _ScheduleNames, number: int, stage: Stage) -> Iterator[str]:
    axes = [drawn.axis(stage, axis) for axis in drawn.axes(stage)]
    if not axes:
        yield f"{quoted(f'{stage.op.name}_placeholder')} [style=invis]"
    for axis in axes:
        yield _node(axis.identity, table([axis.cells(threads=False)]))
    for index, relation in enumerate(drawn.relations(stage)):
        yield from _relation(drawn, f"{type(relation).__name__}_Relation_{number}_{index}", relation)


def _relation(drawn: _ScheduleNames, identity: str, relation: Relation) -> Iterator[str]:
    ports = {
        getattr(relation, field.name): _PORTS.get(field.name, field.name.capitalize())
        for field in fields(relation)
        if isinstance(getattr(relation, field.name), IterVar)
    }

    def row(ends: tuple[IterVar, ...]) -> list[str]:
        cells = [_cell(ports[end], "lightgrey", ports[end]) for end in ends]
        return cells + [_cell("", "white")] * (2 - len(cells))

    name = [_cell(type(relation).__name__, "white", "relation", 2)]
    yield _node(identity, table([row(relation.parents), name, row(relation.children)]))
    for end in relation.parents:
        yield f"{drawn.identity(end)}:itervar -> {identity}:{ports[end]}"
    for end in relation.children:
        yield f"{identity}:{ports[end]} -> {drawn.identity(end)}:itervar"
