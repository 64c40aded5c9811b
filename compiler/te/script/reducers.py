"""Prints reducers: those of ``te`` by name, others as definitions in the script."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.expr.primexpr import Add, BinaryOp, CommReducer, Max, Min, Mul, PrimExpr, const
from compiler.ir.structural import structural_equal
from compiler.te.script.names import Names
from compiler.tir.expressions.reducer import max_value, min_value

_STANDARD: dict[type[BinaryOp], tuple[str, Callable[[str], PrimExpr]]] = {
    Add: ("te.sum", lambda dtype: const(0, dtype)),
    Mul: ("tir.prod", lambda dtype: const(1, dtype)),
    Max: ("te.max", min_value),
    Min: ("te.min", max_value),
}
"""By the operation that combines two values: the reduction's name, and what it starts from."""

WriteExpressions = Callable[[tuple[PrimExpr, ...], Names], tuple[list[str], list[str]]]
"""Returns expressions as Python, and the statements before them."""


class Reducers:
    """Names reductions; ``lines`` define those that have no name in ``te``, until someone takes them."""

    def __init__(self, names: Names, write: WriteExpressions) -> None:
        self.lines: list[str] = []
        self._names = names
        self._write = write
        self._defined: dict[CommReducer, str] = {}

    def name_of(self, combiner: CommReducer) -> str:
        """Return what a reduction is called with in the script."""
        name = _standard_name(combiner) or self._defined.get(combiner)
        if name is None:
            name = self._defined[combiner] = self._names.new("reducer")
            self._define(name, combiner)
        return name

    def _define(self, name: str, combiner: CommReducer) -> None:
        inner = self._names.scope()
        several = len(combiner.lhs) > 1
        for letter, variables in (("x", combiner.lhs), ("y", combiner.rhs)):
            for place, variable in enumerate(variables):
                inner.call(variable, f"{letter}[{place}]" if several else letter)
        values, statements = self._write(combiner.result, inner)
        identities, _ = self._write(combiner.identity_element, inner)
        combined, identity = (f"({', '.join(v)})" if several else v[0] for v in (values, identities))
        body = [f"    {statement}" for statement in statements]
        self.lines += [f"def combine_{name}(x, y):", *body, f"    return {combined}", "", ""]
        self.lines.append(f'{name} = te.comm_reducer(combine_{name}, lambda *dtypes: {identity}, name="{name}")')


def _standard_name(combiner: CommReducer) -> str | None:
    """Return the name of a reduction that ``te`` has."""
    result = combiner.result[0]
    if len(combiner.result) > 1 or not isinstance(result, BinaryOp) or type(result) not in _STANDARD:
        return None
    name, identity = _STANDARD[type(result)]
    if result.a is not combiner.lhs[0] or result.b is not combiner.rhs[0]:
        return None
    dtype = combiner.lhs[0].dtype
    return name if structural_equal(combiner.identity_element[0], identity(dtype)) else None
