"""The TVMScript IR builder, which builds programs by running Python: ``tvm.script.ir_builder``.

What is opened by ``with`` takes the statements that are emitted inside::

    from tvm.script.ir_builder import IRBuilder, tir as T

    with IRBuilder() as builder:
        with T.prim_func():
            T.func_name("double")
            A = T.arg("A", T.Buffer((16,), "float32"))
            with T.serial(16) as i:
                T.buffer_store(A, A[i] * 2.0, [i])
    double = builder.get()
"""

from compiler.classic.tir.script_builder import base, frame, ir, tir
from compiler.classic.tir.script_builder.base import IRBuilder, IRBuilderFrame

__all__ = ["IRBuilder", "IRBuilderFrame", "base", "frame", "ir", "tir"]
