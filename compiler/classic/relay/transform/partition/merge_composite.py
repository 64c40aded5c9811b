"""MergeComposite: turns subgraphs that match patterns into functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from compiler.classic.relay.dataflow_pattern import DFPattern
from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.analysis import post_order
from compiler.relay.expr import GraphExpr
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import type_of

Entry = tuple[str, DFPattern] | tuple[str, DFPattern, Callable[[Any], bool]]


class MergeComposite(FunctionPass, required=("InferType",)):
    """Make a function of each part of a graph that a pattern matches, and call it there.

    Level 0; requires InferType.  For example, with the entry ``("dnn.conv_relu", is_op("nn.relu")(conv))``::

        nn.relu(nn.conv2d(%x, %w))
        ->
        fn (%a, %b, Composite="dnn.conv_relu") { nn.relu(nn.conv2d(%a, %b)) }(%x, %w)

    Entries of ``pattern_table`` are names, the patterns that they stand for, and optionally a function from an
    expression that matches to whether it is taken; earlier entries first.
    """

    pattern_table: Sequence[Entry]

    def __post_init__(self) -> None:
        for entry in self.pattern_table:
            _checked(entry)
        super().__post_init__()

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        for name, pattern, check in map(_checked, self.pattern_table):
            free = partial(_is_free, check, _inside_composites(func))
            func = pattern.partition(func, attrs={"Composite": name}, check=free)
        return func


def _checked(entry: object) -> tuple[str, DFPattern, Callable[[Any], bool]]:
    parts = tuple(entry) if isinstance(entry, (tuple, list)) else ()
    fits = len(parts) in (2, 3) and isinstance(parts[0], str) and isinstance(parts[1], DFPattern)
    if not fits or not all(callable(check) for check in parts[2:]):
        raise ArgumentError(f"MergeComposite: expected (name, pattern) or (name, pattern, check), got {show(entry)}")
    return (*parts, _always) if len(parts) == 2 else parts


def _inside_composites(func: Function) -> set[GraphExpr]:
    """Return the expressions that belong to functions made already."""
    made = [e for e in post_order(func) if isinstance(e, Function) and "Composite" in e.attrs]
    return {part for composite in made for part in post_order(composite.body)}


def _is_free(check: Callable[[Any], bool], taken: set[GraphExpr], expr: GraphExpr) -> bool:
    type_of(expr)
    return expr not in taken and bool(check(expr))


def _always(expr: GraphExpr) -> bool:
    return True
