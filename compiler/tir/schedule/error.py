"""Errors of primitives, shown in the printed program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from compiler.ir import error as base
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.printing.text import Line
from compiler.ir.scriptable import ScriptOptions
from compiler.tir.printing.printer import script
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import For

ERROR_RENDER_LEVELS = ("detail", "fast", "none")


DrawnLine = tuple[str, Line | None]
"""A line of a drawing, and the line of the program that it is; None for a remark."""


class ScheduleError(base.ScheduleError):
    """A primitive of a TensorIR schedule that cannot be applied; its message shows where in the program.

    Attributes
    ----------
    brief : str
        What is wrong, without the program.
    drawing : list of tuple of str and Line or None
        The lines of the program, among remarks on the places that it is about; empty if nothing was drawn.
    """

    def __init__(self, message: str, brief: str = "", drawing: Sequence[DrawnLine] = ()) -> None:
        super().__init__(message)
        self.brief = brief or message
        self.drawing = list(drawing)


class IllegalStepError(Exception):
    """What is wrong with a step of a schedule, before it is drawn into the program."""

    def __init__(self, detail: str, places: Sequence[Node]) -> None:
        super().__init__(detail)
        self.detail = detail  # what is wrong in this program; `{0}`, `{1}`, … stand for the places
        self.places = tuple(places)  # loops, blocks and other parts of the program


def refuse(detail: str, *places: Node | StmtSRef) -> NoReturn:
    """Reject a step of a schedule; in ``detail``, ``{0}``, ``{1}``, … stand for the places."""
    raise IllegalStepError(detail, [place.node if isinstance(place, StmtSRef) else place for place in places])


def rendered(error: IllegalStepError, mod: IRModule, primitive: str, level: str) -> ScheduleError:
    """Return the error that users see: drawn into the program (``detail``), alone (``fast``), or without what is wrong.

    The program ``mod`` has the places of the error.
    """
    if level == "none":
        return ScheduleError("ScheduleError: (not rendered)")
    names = [f"tir.{type(place).__name__}#{index}" for index, place in enumerate(error.places)]
    own_names = [_name_of(place, name) for place, name in zip(error.places, names, strict=True)]
    brief = f"{primitive}: {_filled(error.detail, own_names)}"
    if level == "fast":
        return ScheduleError(f"ScheduleError: {brief}", brief)
    head = f"ScheduleError: An error occurred in the schedule primitive '{primitive.replace('_', '-')}'."
    drawing = _drawn(mod, error.places, names)
    texts = [text for text, _ in drawing]
    lines = [head, "The IR with diagnostic is:", *texts, f"Error message: {_filled(error.detail, names)}"]
    return ScheduleError("\n".join(lines), brief, drawing)


def _filled(detail: str, names: Sequence[str]) -> str:
    for index, name in enumerate(names):
        detail = detail.replace(f"{{{index}}}", name)
    return detail


def _name_of(place: Node, otherwise: str) -> str:
    """Return what the program calls one of its blocks or loops."""
    if isinstance(place, Block):
        return repr(place.name_hint)
    return repr(place.loop_var.name) if isinstance(place, For) else otherwise


def _drawn(mod: IRModule, places: Sequence[Node], names: Sequence[str]) -> list[DrawnLine]:
    """Return the lines of a program, a line for each loop, with some places named and underlined."""
    lines: list[DrawnLine] = []
    parts = [_parts(place) for place in places]
    begun: set[int] = set()
    for line in script(mod, ScriptOptions(syntax_sugar=False)).lines:
        indent = " " * (len(line.text) - len(line.text.lstrip()))
        here = [index for index, nodes in enumerate(parts) if _belongs_to(line, nodes, places[index])]
        lines += [(f"{indent}# {names[index]}", None) for index in here if index not in begun]
        begun.update(here)
        lines.append((line.text, line))
        if here:
            lines.append((indent + "^" * len(line.text.strip()), None))
    return lines


def _belongs_to(line: Line, nodes: set[Node], place: Node) -> bool:
    """Return whether a line is written for a part of the program, or one of some loops in it is."""
    if any(region.node is place for region in line.regions):
        return True
    return any(region.node in nodes or getattr(region.node, "block", None) in nodes for region in line.regions[-1:])


def _parts(place: Node) -> set[Node]:
    nodes: set[Node] = set()
    todo: list[object] = [place]
    while todo:
        item = todo.pop()
        if isinstance(item, (tuple, list)):
            todo.extend(item)
        elif isinstance(item, Node) and item not in nodes:
            nodes.add(item)
            todo.extend(getattr(item, name) for name in (*item.children, *item.allocates))
    return nodes
