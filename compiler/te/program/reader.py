"""Rebuilds a schedule from its serialised form, using the functions that scripts call."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from compiler.ir.error import show
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var
from compiler.ir.node import Node
from compiler.te.definition.axis import reduce_axis, size_var, thread_axis, var
from compiler.te.definition.operation import compute, placeholder
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.program.expression_reader import Leaves, read_rows
from compiler.te.program.format import MAX_BYTES, VERSION, ProgramError, Values
from compiler.te.program.json_values import entry, integer, items, text, truth, wrong
from compiler.te.scheduling.group import Group
from compiler.te.scheduling.primitives import primitives_of
from compiler.te.scheduling.schedule import Schedule, create_schedule
from compiler.te.scheduling.stage import Stage

T = TypeVar("T", bound=Node)


@dataclass(frozen=True, slots=True)
class Program:
    """A schedule, and the function that is made of it."""

    schedule: Schedule
    args: list[Tensor | Var]
    target: str
    name: str


def read_program(source: str | bytes) -> Program:
    """Make the program of a text, which anybody may have written."""
    if len(source) > MAX_BYTES:
        raise ProgramError(f"program: expected at most {MAX_BYTES:,} bytes, got {len(source):,}")
    try:
        document = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"program: expected JSON: {error}") from None
    version = entry(document, "version", "the text")
    if version != VERSION:
        raise ProgramError(f"program: expected version {VERSION}, got {show(version)}")
    return _Reader(document).program()


class _Reader:
    """Makes one program."""

    def __init__(self, document: object) -> None:
        self._document = document
        self._variables = [self._variable(v, f"variables[{i}]") for i, v in self._list("variables")]
        self._axes: list[IterVar] = []
        self._outer: Leaves = {
            "variable": lambda number, where: self._variables[integer(number, where, len(self._variables))],
            "axis": lambda number, where: self._declared_axis(number, where).var,
        }
        for i, axis in self._list("axes"):
            self._axes.append(self._axis(axis, f"axes[{i}]"))
        self._values = Values(self._axes)

    def program(self) -> Program:
        for i, operation in self._list("operations"):
            self._values.add(self._operation(operation, f"operations[{i}]"))
        outputs = [self._value(number, f"outputs[{i}]", Operation) for i, number in self._list("outputs")]
        schedule = create_schedule(outputs)
        for i, primitive in self._list("primitives"):
            self._apply(schedule, primitive, f"primitives[{i}]")
        args = [self._function_argument(schedule, a, f"arguments[{i}]") for i, a in self._list("arguments")]
        target, name = (text(entry(self._document, key, "the text"), key) for key in ("target", "name"))
        return Program(schedule, args, target, name)

    def _list(self, name: str) -> list[tuple[int, object]]:
        return list(enumerate(items(entry(self._document, name, "the text"), name)))

    # what is declared before the operations

    def _variable(self, declared: object, where: str) -> Var:
        fields = items(declared, where)
        if len(fields) != 3:
            raise wrong(where, "a name, a data type, and whether it is a size", declared)
        name, dtype, is_size = text(fields[0], where), text(fields[1], where), truth(fields[2], where)
        return size_var(name, dtype) if is_size else var(name, dtype)

    def _axis(self, declared: object, where: str) -> IterVar:
        name, kind, tag = (text(entry(declared, key, where), f"{where}.{key}") for key in ("name", "kind", "tag"))
        domain = None
        if isinstance(declared, dict) and "domain" in declared:
            extents = self._expressions(declared["domain"], f"{where}.domain")
            if len(extents) != 2:
                raise wrong(f"{where}.domain", "two expressions", declared["domain"])
            domain = Range.from_min_extent(*extents)
        if kind == "thread":
            return thread_axis(domain, tag, name)
        if kind != "reduce" or domain is None:
            raise wrong(where, "the axis of threads, or of a reduction over a domain", declared)
        return reduce_axis(domain, name, tag)

    def _declared_axis(self, number: object, where: str) -> IterVar:
        return self._axes[integer(number, where, len(self._axes))]

    # numbers

    def _value(self, number: object, where: str, expected: type[T]) -> T:
        value = self._values.at(integer(number, where, len(self._values)))
        if not isinstance(value, expected):
            raise wrong(where, f"the number of a thing that is {expected.__name__}", value)
        return value

    def _tensor(self, number: int, where: str) -> Tensor:
        return self._value(number, where, Tensor)

    def _rows(self, written: object, where: str, leaves: Leaves) -> list[Node]:
        return read_rows(entry(written, "rows", where), f"{where}.rows", leaves, self._tensor, self._axes)

    def _roots(self, nodes: list[Node], written: object, where: str) -> list[PrimExpr]:
        roots: list[PrimExpr] = []
        for number in items(written, where):
            root = nodes[integer(number, where, len(nodes))]
            if not isinstance(root, PrimExpr):
                raise wrong(where, "the rows of expressions", root)
            roots.append(root)
        return roots

    def _expressions(self, written: object, where: str) -> list[PrimExpr]:
        return self._roots(self._rows(written, where, self._outer), entry(written, "roots", where), f"{where}.roots")

    # operations

    def _operation(self, written: object, where: str) -> Operation:
        shape = self._expressions(entry(written, "shape", where), f"{where}.shape")
        if isinstance(written, dict) and "placeholder" in written:
            name = text(written["placeholder"], f"{where}.placeholder")
            return placeholder(shape, text(entry(written, "dtype", where), f"{where}.dtype"), name).op
        name, tag = (text(entry(written, key, where), f"{where}.{key}") for key in ("compute", "tag"))
        names = [text(n, f"{where}.axes") for n in items(entry(written, "axes", where), f"{where}.axes")]
        made = compute(shape, self._body(written, where), name, tag, varargs_names=names)
        first: Tensor = made[0] if isinstance(made, tuple) else made
        return first.op

    def _body(self, written: object, where: str) -> Callable[..., tuple[PrimExpr, ...]]:
        def define(*indices: Var) -> tuple[PrimExpr, ...]:
            leaves = {**self._outer, "index": lambda number, at: indices[integer(number, at, len(indices))]}
            nodes = self._rows(written, where, leaves)
            return tuple(self._roots(nodes, entry(written, "body", where), f"{where}.body"))

        return define

    # primitives

    def _apply(self, schedule: Schedule, written: object, where: str) -> None:
        name, label = (text(entry(written, key, where), f"{where}.{key}") for key in ("primitive", "label"))
        index = entry(written, "stage", where)
        target: Schedule | Stage | Group = schedule
        if index is not None:
            target = self._target(schedule, index, f"{where}.stage")
        method = primitives_of(type(target)).get(name)
        if method is None:
            raise wrong(f"{where}.primitive", f"a primitive of a {type(target).__name__.lower()}", name)
        args = [self._argument(schedule, a, where) for a in items(entry(written, "arguments", where), where)]
        named = entry(written, "named", where)
        if not isinstance(named, dict):
            raise wrong(f"{where}.named", "an object", named)
        kwargs = {key: self._argument(schedule, value, where) for key, value in named.items()}
        try:
            inspect.signature(method).bind(target, *args, **kwargs)
        except TypeError as error:
            raise ProgramError(f"program: {where}: {name}: {error}") from None
        method(target, *args, **kwargs)
        made = schedule.primitives[-1]
        if made.label != label:
            raise ProgramError(f"program: {where} is {show(made.label)}, and was recorded as {show(label)}")
        line = entry(written, "line", where)
        schedule.primitives[-1] = replace(made, line=None if line is None else integer(line, f"{where}.line"))
        self._values.add(made.result)
        self._values.add(made.operations)

    def _target(self, schedule: Schedule, index: object, where: str) -> Stage | Group:
        number = integer(index, where)
        if not -len(schedule.groups) <= number < len(schedule.stages):
            raise wrong(where, f"a stage or a group of {len(schedule.stages)} and {len(schedule.groups)}", index)
        return schedule.target_at(number)

    def _argument(self, schedule: Schedule, written: object, where: str) -> object:
        if isinstance(written, list):
            return [self._single(schedule, item, where) for item in written]
        if isinstance(written, dict) and isinstance(parts := written.get("tuple"), list):
            return tuple(self._single(schedule, part, where) for part in parts)
        return self._single(schedule, written, where)

    def _single(self, schedule: Schedule, written: object, where: str) -> object:
        """Return an argument, or one of several that are passed as a list."""
        match written:
            case None | bool() | int() | float() | str():
                return written
            case {"stage": number}:
                return schedule[self._value(number, where, Operation)]
            case {"axis": number}:
                return self._declared_axis(number, where)
            case {"value": number}:
                return self._value(number, where, Node)
            case {"rows": _, "roots": [_]}:
                return self._expressions(written, where)[0]
            case _:
                raise wrong(where, "an argument of a primitive", written)

    def _function_argument(self, schedule: Schedule, written: object, where: str) -> Tensor | Var:
        value = self._argument(schedule, written, where)
        if not isinstance(value, (Tensor, Var)):
            raise wrong(where, "a tensor or a variable", value)
        return value
