"""AnnotateUsedMemory: annotates each kernel with the memory that is live while it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.analysis.memory_traffic import bytes_of
from compiler.relay.analysis.variables import free_vars
from compiler.relay.expr import Call, Let, Var
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import is_primitive
from compiler.relay.ty import tensor_types


class AnnotateUsedMemory(FunctionPass, required=("ToANormalForm", "InferType")):
    """Say of each kernel how many bytes its inputs, its result and all that is needed later take.

    Level 0; requires ToANormalForm and InferType.  A kernel is a primitive function that a variable stands for: its
    attribute ``used_memory`` has a number for each of its calls, in their order.  That of the program,
    ``io_used_memory``, counts parameters and result.

    Examples
    --------
    ``AnnotateUsedMemory()``::

        def @main(%x: Tensor[(4), float32]) {
          let %f = fn (%p, Primitive=1) { nn.relu(%p) };
          let %y = %f(%x);
          %y
        }
        ->
        def @main(%x: Tensor[(4), float32], io_used_memory=32) {
          let %f = fn (%p, Primitive=1, used_memory=[32]) { nn.relu(%p) };
          let %y = %f(%x);
          %y
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if is_primitive(func):
            return func
        lets, result = _lines(func.body)
        used = _used_memory(lets, result)
        body = result
        for let in reversed(lets):
            value = let.value
            if let.var in used and isinstance(value, Function):
                value = value.with_attr("used_memory", used[let.var])
            body = rebuild(let, value=value, body=body)
        size = _bytes([*func.params, result])
        return rebuild(func, body=body).with_attr("io_used_memory", size)


def _lines(body: RelayExpr) -> tuple[list[Let], RelayExpr]:
    lets: list[Let] = []
    while isinstance(body, Let):
        lets.append(body)
        body = body.body
    return lets, body


def _used_memory(lets: Sequence[Let], result: RelayExpr) -> dict[Var, list[int]]:
    """Return the bytes that are alive at each call, by the variable of the function that is called."""
    functions = {let.var: let.value for let in lets if isinstance(let.value, Function)}
    used: dict[Var, list[int]] = defaultdict(list)
    live = set(free_vars(result))
    for let in reversed(lets):
        before = (live - {let.var}) | set(free_vars(let.value))
        if isinstance(let.value, Call) and let.value.op in functions:
            if not is_primitive(functions[let.value.op]):
                raise ArgumentError(
                    f"AnnotateUsedMemory: %{let.value.op.name_hint} is not a kernel: its function is not Primitive"
                )
            alive = (before | live) - functions.keys()
            used[let.value.op].insert(0, _bytes(alive))
        live = before
    return used


def _bytes(values: Iterable[RelayExpr]) -> int:
    kinds = [value.checked_type for value in values]
    unknown = [kind for kind in tensor_types(kinds) if not kind.is_static]
    if unknown:
        raise ArgumentError(f"AnnotateUsedMemory: the size of {unknown[0]} is unknown")
    return sum(map(bytes_of, kinds))
