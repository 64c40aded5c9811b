"""Wraps the pointer arguments of packed calls in arrays."""

from __future__ import annotations

from typing import Any

from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, Cast, IntImm, PrimExpr, Var, const
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import STACK_MAKE_ARRAY, STACK_MAKE_SHAPE, is_call, reinterpret
from compiler.tir.expressions.device_ops import CALL_CPACKED
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.calls.argument_stacks import packed_arguments
from compiler.tir.transform.pass_base import PrimFuncPass


class LegalizePackedCalls(PrimFuncPass):
    """Pass pointers as arrays where a function of the module that is called as a C function takes arrays.

    For example, where ``f`` takes ``A: T.Buffer((8,), "float32")``::

        p = T.allocate([8], "float32")             p = T.allocate([8], "float32")
        T.tvm_call_cpacked("f", p, resources)  →   T.tvm_call_cpacked("f", T.tvm_stack_make_array(p, …), resources)

    Parameters of the calling function are arrays already.  The last operand, the handle of resources, is passed by
    itself, and so are scalars. Raises ArgumentError if the module has no such function, and LoweringError if the
    function takes another number of arguments, or an array of a variable shape.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if CALL_CPACKED.name not in features(func).ops:
            return func
        return func.with_body(_Legalize(mod, frozenset(func.params)).visit(func.body))


class _Legalize(StmtMutator):
    def __init__(self, mod: IRModule, params: frozenset[Var]) -> None:
        self._mod = mod
        self._params = params

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        if not isinstance(n.value, Call) or not is_call(n.value, CALL_CPACKED):
            return n
        call = n.value
        name: Any = call.args[0]
        callee: PrimFunc = self._mod[name.value]
        given = packed_arguments(call)
        if len(call.args) - 1 != len(callee.params):
            raise LoweringError(
                f"LegalizePackedCalls: {name.value!r} takes {len(callee.params)} arguments, got {show(call)}"
            )
        buffers = map(callee.buffer_map.get, callee.params)
        arrays = [self._argument(argument, buffer) for argument, buffer in zip(given, buffers, strict=False)]
        return rebuild(n, value=rebuild(call, args=(name, *arrays, call.args[-1])))

    def _argument(self, argument: PrimExpr, buffer: Buffer | None) -> PrimExpr:
        """Return an argument for a parameter that is an array or, without a buffer, a scalar."""
        if buffer is None or argument in self._params or is_call(argument, STACK_MAKE_ARRAY):
            return argument
        return _array(argument, buffer)


def _array(pointer: PrimExpr, buffer: Buffer) -> PrimExpr:
    """Return the array of the shape and type of a buffer whose elements lie at a pointer."""
    if not all(isinstance(number, IntImm) for number in (*buffer.shape, *buffer.strides, buffer.elem_offset)):
        raise LoweringError(f"LegalizePackedCalls: parameter {buffer.name!r} must have a constant shape, got {buffer}")
    none = reinterpret("handle", const(0, "uint64"))
    strides = Call("handle", STACK_MAKE_SHAPE, buffer.strides) if buffer.strides else none
    shape = Call("handle", STACK_MAKE_SHAPE, buffer.shape)
    rank, kind = const(len(buffer.shape), "uint32"), Cast(buffer.dtype, const(0))
    return Call("handle", STACK_MAKE_ARRAY, (pointer, shape, strides, rank, kind, buffer.elem_offset))
