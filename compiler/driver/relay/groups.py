"""Fused functions: their calls, kernel names, and whether they can be lowered."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from compiler.ir import dtype as dt
from compiler.ir.expr import RelayExpr
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem
from compiler.relay.function import Function
from compiler.relay.implementations import implementation_of
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.ty import tensor_types

MAX_NAME_LENGTH = 80

StructuralKey = tuple[object, ...]
"""What fused functions that become the same kernel have in common; hashable."""


def evaluation_order(function: Function) -> Sequence[RelayExpr]:
    """Return what a fused function evaluates, each expression after those that it is made of; operators are not."""
    order = post_order(function.body, lambda expr: expr.args if isinstance(expr, Call) else operands(expr))
    return [expr for expr in order if isinstance(expr, RelayExpr)]


def element_tensors(expr: TupleGetItem) -> slice:
    """Return which of the tensors of a tuple, those of tuples in it included, an element of it is."""
    fields = expr.tuple_value.checked_type.fields
    before = len(tensor_types(fields[: expr.index]))
    return slice(before, before + len(tensor_types([fields[expr.index]])))


def hash_of(function: Function) -> str:
    """Return the hash of a fused function's text, which profiles show."""
    return hashlib.sha256(str(function).encode()).hexdigest()[:16]


def group_calls(function: Function) -> list[Call]:
    """Return the calls of operators in a fused function, in order of evaluation."""
    return [e for e in evaluation_order(function) if isinstance(e, Call)]


def can_lower(function: Function) -> bool:
    """Return whether a fused function can become machine code.

    Every operator is then defined as tensor expressions, all shapes are static, and no value is of a type that only
    NumPy computes with, such as int4.
    """
    calls = group_calls(function)
    if any(not _is_defined(c) for c in calls):
        return False
    types = [p.checked_type for p in function.params] + [c.checked_type for c in calls]
    return all(t.is_static and _has_code(t.dtype) for t in tensor_types(types))


def _is_defined(call: Call) -> bool:
    op = call.op
    return isinstance(op, RelayOp) and (op.compute is not None or implementation_of(op) is not None)


def has_own_implementation(function: Function) -> bool:
    """Return whether a program says how an operator of a fused function is computed."""
    return any(implementation_of(operator_of(call)) is not None for call in group_calls(function))


def _has_code(dtype: str) -> bool:
    parsed = dt.parse(dtype)
    if parsed.code in ("int", "uint"):
        return parsed.bits >= 8
    return parsed.code in ("bool", "float", "bfloat") or parsed.is_custom


def kernel_name(function: Function, module: str) -> str:
    """Return TVM's name for the kernel of a fused function, such as ``tvmgen_default_fused_nn_conv2d_nn_relu``."""
    names = [re.sub(r"\W", "_", operator_of(call).name) for call in group_calls(function)]
    name = f"{module}_fused_" + "_".join(names or ["copy"])
    return name[:MAX_NAME_LENGTH].rstrip("_")


class KernelNames:
    """Gives the kernels of one model names that differ."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._taken: Counter[str] = Counter()

    def name(self, function: Function) -> str:
        """Return a new kernel's name: numbered from the second of its operators on."""
        return self._next(kernel_name(function, self._module))

    def numbered(self, what: str) -> str:
        """Return a new name of what is no group of operators: numbered from the second on."""
        return self._next(f"{self._module}_{what}")

    def _next(self, name: str) -> str:
        self._taken[name] += 1
        return name if self._taken[name] == 1 else f"{name}_{self._taken[name] - 1}"


def structural_key(function: Function) -> StructuralKey:
    """Return what two fused functions have in common exactly if they become the same kernel."""
    number: dict[GraphExpr, int] = {}
    key: list[object] = []
    for param in function.params:
        number[param] = len(number)
        key.append(str(param.checked_type))
    for expr in evaluation_order(function):
        if expr in number:
            continue
        number[expr] = len(number)
        key.append(_node_key(expr, number))
    return (*key, number[function.body])


def _node_key(expr: GraphExpr, number: dict[GraphExpr, int]) -> tuple[object, ...]:
    match expr:
        case Call():
            attrs = tuple(sorted((k, repr(v)) for k, v in expr.attrs.items()))
            return (operator_of(expr).name, attrs, tuple(number[a] for a in expr.args), str(expr.checked_type))
        case Constant():
            return ("constant", expr.data.dtype, expr.data.shape, expr.value.tobytes())
        case TupleGetItem():
            return ("element", number[expr.tuple_value], expr.index)
        case Tuple():
            return ("tuple", tuple(number[f] for f in expr.fields))
        case _:
            return (type(expr).__name__,)
