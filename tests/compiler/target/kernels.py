"""Small functions of flat loop IR, built by hand, so that code generation is tested without the layers above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import PrimExpr, Ramp, Var, const
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.modules.module import Module
from compiler.target.codegen.llvm import codegen, runtime_module
from compiler.target.target import Target
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For, ForKind, Stmt

Array = np.ndarray[Any, Any]


def function(buffers: Sequence[Buffer], body: Stmt, name: str = "kernel", **attrs: Any) -> IRModule:
    """Return a module with one function whose parameters are views of ``buffers``."""
    params = tuple(Var(b.name, "handle") for b in buffers)
    facts = {"global_symbol": name, "tir.noalias": True, **attrs}
    return IRModule({name: PrimFunc(params, body, None, dict(zip(params, buffers, strict=True)), facts)})


def compile_module(module: IRModule, target: str = "llvm") -> Module:
    """Return a callable module."""
    return runtime_module(codegen(module, Target(target)))


def elementwise(
    expression: Callable[..., PrimExpr], dtypes: Sequence[str], result: str, count: int, lanes: int = 1
) -> IRModule:
    """Return a function that stores ``expression`` of its inputs, ``lanes`` elements at a time."""
    inputs = [decl_buffer((count,), t, f"in{n}") for n, t in enumerate(dtypes)]
    output = decl_buffer((count,), result, "out")
    i = Var("i")
    index = i if lanes == 1 else Ramp(i * lanes, const(1), lanes)
    value = expression(*[BufferLoad(b, (index,)) for b in inputs])
    body = For(i, 0, count // lanes, ForKind.SERIAL, BufferStore(output, value, (index,)))
    return function([*inputs, output], body)


def evaluate(
    expression: Callable[..., PrimExpr], inputs: Sequence[Array], result: str, lanes: int = 1, target: str = "llvm"
) -> Array:
    """Return ``expression`` of the elements of ``inputs``, computed by machine code."""
    count = len(inputs[0])
    module = compile_module(elementwise(expression, [str(a.dtype) for a in inputs], result, count, lanes), target)
    output = empty((count,), dt.element(result))
    module(*(array(a) for a in inputs), output)
    return output.numpy()
