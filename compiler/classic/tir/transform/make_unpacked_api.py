"""Converts functions to the C calling convention with plain pointers."""

from __future__ import annotations

from compiler.ir.expr.primexpr import EQ, StringImm, Var, const
from compiler.ir.node import rebuild
from compiler.ir.types import PrimType
from compiler.runtime.device import DEVICE_TYPES
from compiler.tir.expressions.builtin import ret
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AssertStmt, AttrStmt, Evaluate, Stmt, seq
from compiler.tir.transform.calls.device_targets import function_target
from compiler.tir.transform.pass_base import FunctionRewrite


class MakeUnpackedAPI(FunctionRewrite):
    """Make functions that take their buffers as bare pointers, and return 0.

    Those without a ``global_symbol`` are only called from their module and stay as they are::

        def main(A: T.Buffer((8,))):          def main(A: T.handle("float32")):
            T.evaluate(A[0])             →        with T.attr("default", "device_id", 0):
                                                      with T.attr("default", "device_type", 1):
                                                          T.evaluate(A_1[0])
                                                          T.evaluate(T.ret(0))

    Raises LoweringError if a function does not say which target it is for.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if "global_symbol" not in func.attrs:
            return func
        return _unpacked(func, _device_type(func))


def _device_type(func: PrimFunc) -> int:
    target = function_target(func, "MakeUnpackedAPI")
    return DEVICE_TYPES.get(str(target.kind), DEVICE_TYPES["cpu"])


def _unpacked(func: PrimFunc, device_type: int) -> PrimFunc:
    pointers: list[Var] = []
    repeated: list[tuple[Var, Var]] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        pointer = param if buffer is None else buffer.data
        if pointer in pointers:
            again = Var(param.name, pointer.dtype, pointer.type_annotation)
            repeated.append((pointer, again))
            pointer = again
        pointers.append(pointer)
    body: Stmt = seq([func.body, Evaluate(ret(0))])
    for pointer, again in reversed(repeated):
        message = StringImm(f"{again.name} must be {pointer.name}: both stand for one buffer")
        body = AssertStmt(EQ(pointer, again), message, body)
    if func.buffer_map:
        body = AttrStmt("default", "device_type", const(device_type), body)
        body = AttrStmt("default", "device_id", const(0), body)
    return rebuild(func, params=tuple(pointers), body=body, ret_type=PrimType("int32"), buffer_map={})
