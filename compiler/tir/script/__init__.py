"""TVMScript: ``tvm.script``.

``str`` of a function or module is its TVMScript, and :func:`from_source` reads it back.  In a file, ``@T.prim_func``
and ``@tvm.script.ir_module`` read functions and classes where they are defined; their bodies are never run::

    from tvm.script import tir as T

    @T.prim_func
    def double(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in T.parallel(16):
            B[i] = A[i] * 2.0

What is written is what is built: ``i + 0`` is an addition, so that programs can be put before and behind a pass.
"""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.tir.script import highlight, ir, parser, tir
from compiler.tir.script.functions import from_source, ir_module
from compiler.tir.script.source import ScriptError

__all__ = ["ScriptError", "from_source", "highlight", "ir", "ir_module", "parser", "tir"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.script", __all__)
