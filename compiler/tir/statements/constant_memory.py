"""Constant memory: ``T.allocate_const``."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from compiler.ir.error import expected
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, as_exprs
from compiler.ir.node import node
from compiler.runtime.arrays.ndarray import NDArray
from compiler.tir.statements.statement import Annotations, Stmt


@node
class AllocateConst(Stmt):
    """The scope of memory that is filled when the program is loaded, and never changes.

    Parameters
    ----------
    data : NDArray or int
        The contents; or where the module's attribute ``constants`` has them.
    irmod_storage_idx : int, optional
        The place of the contents in the module's attribute ``constants``.
    """

    children: ClassVar[tuple[str, ...]] = ("extents", "body")
    defines: ClassVar[tuple[str, ...]] = ("buffer_var",)

    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    data: NDArray | None
    body: Stmt
    annotations: Annotations = field(default_factory=dict)
    irmod_storage_idx: int | None = None

    def __post_init__(self) -> None:
        if type(self.extents) is not tuple:
            object.__setattr__(self, "extents", as_exprs(self.extents))
        if self.annotations is None:
            object.__setattr__(self, "annotations", {})
        if isinstance(self.data, (int, IntImm)):
            object.__setattr__(self, "irmod_storage_idx", int(self.data))
            object.__setattr__(self, "data", None)
        elif self.data is not None and not isinstance(self.data, NDArray):
            expected("AllocateConst", "data", "an NDArray or a place in the module's constants", self.data)
