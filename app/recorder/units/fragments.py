"""What a script only defines, and neither schedules, lowers nor builds: default loops, graphs and programs of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from app.artifacts import SCRIPT_NAME
from app.recorder.recorder import Recorder
from app.recorder.units.schedules import schedule_arguments
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.ir.origin import user_line
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Constant, Expr, Var
from compiler.te.definition.operation import PlaceholderOp
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.schedule import create_schedule
from compiler.tir.script.functions import from_method, prim_func
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

MAX_SHOWN = 4
"""Definitions that are shown, the last ones: each is lowered, and the last is built."""

MAX_TEXT = 400
"""The length of what is told of a value that is neither."""

Values = Sequence[tuple[str, object]]
"""A script's values in the order of their definition, with their names."""


def show_definitions(names: Mapping[str, object], recorder: Recorder, note: Callable[[str], None]) -> None:
    """Make of a script's last definitions what is shown of them: of tensors the most, else of graphs, else programs.

    Of other values, such as types, the last is told in a note.

    Parameters
    ----------
    names : mapping
        The script's global names.
    recorder : Recorder
        Has seen nothing that a script makes.
    note : callable
        Adds a note to the console.
    """
    values = list(_values(names))
    for show in (_show_tensors, _show_graphs, _show_programs):
        try:
            if told := show(values, recorder):
                note(told)
                return
        except TVMError as error:
            note(f"what the script defines is not shown: {error}")
            return
    if objects := [(name, value) for name, value in values if _has_text(value)]:
        name, value = objects[-1]
        note(f"{name} = {_shortened(str(value))}")


def _has_text(value: object) -> bool:
    """Return whether a value is one of the compiler's that says what it is, such as a type."""
    kind = type(value)
    return _is_compilers(kind) and object.__str__ not in (kind.__str__, kind.__repr__)


def _is_compilers(kind: type) -> bool:
    module: object = kind.__module__
    return type(module) is str and module.startswith("compiler.")


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} …"


def _values(names: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the functions, classes and values of the compiler that a script has; those of a list or tuple one by one.

    An object of the script's own class may run anything when it is asked for its class.
    """
    for name, value in names.items():
        if type(name) is not str or name.startswith("__"):
            continue
        elements = value if type(value) in (list, tuple) else (value,)
        for element in elements:  # type: ignore[attr-defined]
            if type(element) in (FunctionType, type) or _is_compilers(type(element)):
                yield name, element


def _show_tensors(values: Values, recorder: Recorder) -> str:
    """Lower each tensor that no other one reads, by a schedule without primitives."""
    tensors = [value for _, value in values if isinstance(value, Tensor)]
    computed = [op for op in dict.fromkeys(tensor.op for tensor in tensors) if not isinstance(op, PlaceholderOp)]
    read = {read for op in computed for read in _inputs(op)}
    shown = [op for op in computed if op not in read][-MAX_SHOWN:]
    for op in shown:
        schedule = create_schedule([op])
        lower(schedule, schedule_arguments(schedule), name=op.name)
        if (function := recorder.functions.last) is not None:
            function.line = user_line(op.span)
    return f"{_listed(op.name for op in shown)}: nothing is scheduled yet, these are the default loops" if shown else ""


def _inputs(op: Operation) -> Iterator[Operation]:
    """Yield the operations that one reads, and all that those read."""
    seen: set[Operation] = set()
    todo = [op]
    while todo:
        for tensor in todo.pop().input_tensors:
            if tensor.op not in seen:
                seen.add(tensor.op)
                todo.append(tensor.op)
                yield tensor.op


def _show_graphs(values: Values, recorder: Recorder) -> str:
    """Make a module of each expression that is no part of another one."""
    named = {
        value: name for name, value in values if isinstance(value, Expr) and not isinstance(value, (Var, Constant))
    }
    parts = {part for expr in named for part in post_order(expr) if part is not expr}
    shown = [expr for expr in named if expr not in parts][-MAX_SHOWN:]
    for expr in shown:
        IRModule.from_expr(expr)
        if recorder.graphs.last is not None:
            recorder.graphs.last.line = user_line(expr.span)
    return f"{_listed(named[expr] for expr in shown)}: the graph of what nothing is built of yet" if shown else ""


def _show_programs(values: Values, recorder: Recorder) -> str:
    """Take the last program, be it one that no parser saw or a function that lacks its decorator."""
    for name, value in reversed(values):
        if isinstance(value, (PrimFunc, IRModule)):
            recorder.program_parsed(value)
            return f"{name}: nothing is built of it yet"
        if functions := [function for function in _functions(value) if _is_program(function)]:
            read = prim_func if isinstance(value, FunctionType) else from_method
            recorder.program_parsed(read(functions[-1]))
            return f"{functions[-1].__name__}: a function without @T.prim_func, read as a program"
    return ""


def _functions(value: object) -> Iterable[FunctionType]:
    """Return a function, or the methods of a class, of the script itself."""
    members = vars(value).values() if type(value) is type else (value,)
    functions = (member for member in members if type(member) is FunctionType)
    return [function for function in functions if function.__code__.co_filename == SCRIPT_NAME]


def _is_program(function: FunctionType) -> bool:
    """Return whether a function's parameters are declared as those of a program: one of them at least as a buffer."""
    declared: Mapping[str, Any] = function.__annotations__
    return any(issubclass(type(kind), Buffer) for kind in declared.values())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
