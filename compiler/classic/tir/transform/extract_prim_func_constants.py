"""Moves the constants of functions into their module."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import Pass, PassContext
from compiler.runtime.arrays.ndarray import NDArray
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AllocateConst, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass

CONSTANTS = "constants"
"""The attribute of a module that lists the contents of ``T.allocate_const``."""


class ExtractPrimFuncConstants(Pass):
    """List the contents of constant memory in the module's attribute ``constants``, each once.

    For example::

        B = T.allocate_const([1, 2], "int32", [2])     →     I.module_attrs({"constants": [[1, 2]]})

    Each allocation says its place in the list by its ``irmod_storage_idx``.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        extract = _Extract(list(mod.attrs.get(CONSTANTS, ())) if mod.attrs else [])
        functions = {
            var: func.with_body(extract.visit(func.body)) if isinstance(func, PrimFunc) else func
            for var, func in mod.items()
        }
        result = mod.with_functions(functions)
        return result.with_attr(CONSTANTS, extract.constants) if extract.constants else result


class _Extract(StmtMutator):
    def __init__(self, constants: list[NDArray]) -> None:
        self.constants = constants

    def visit_AllocateConst(self, n: AllocateConst) -> Stmt:
        place = n.irmod_storage_idx if n.data is None else self._place(n.data)
        return rebuild(n, irmod_storage_idx=place, body=self.visit(n.body))

    def _place(self, data: NDArray) -> int:
        """Return where the list has an array, which is added to it the first time."""
        for index, other in enumerate(self.constants):
            if data.dtype == other.dtype and np.array_equal(data.view(), other.view()):
                return index
        self.constants.append(data)
        return len(self.constants) - 1
