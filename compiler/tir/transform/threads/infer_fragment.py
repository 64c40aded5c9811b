"""Infers the shape and layout of matrix fragments."""

from __future__ import annotations

from typing import NamedTuple

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, StringImm, Var
from compiler.ir.functor import Visitor, nodes_of
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.tir.analysis.features import features
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AttrStmt, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import FunctionRewrite

FRAGMENT_OPS = _FILL, _LOAD, _STORE = (
    "tir.tvm_fill_fragment", "tir.tvm_load_matrix_sync", "tir.tvm_store_matrix_sync",
)  # fmt: skip
"""What takes a fragment, the shape of its product, and which one it is."""
_MULTIPLICATIONS = ("tir.tvm_mma_sync", "tir.tvm_bmma_sync")


class InferFragment(FunctionRewrite):
    """Say of the memory of each fragment which shape and layout the instructions of tensor cores give it.

    For example::

        W = T.allocate([256], "float16", "wmma.matrix_a")         T.attr(W, "fragment_layout", "row_major")
        T.tvm_load_matrix_sync(W, 16, 16, 16, 0, …,         →     T.attr(W, "fragment_shape", "16, 16, 16")
                               16, "row_major")                   W = T.allocate([256], "float16", "wmma.matrix_a")
                                                                  …

    Raises LoweringError if two instructions give one fragment different shapes or layouts, or one multiplies fragments
    of other shapes than it adds to.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if features(func).ops.isdisjoint((*FRAGMENT_OPS, *_MULTIPLICATIONS)):
            return func
        fragments = Fragments()
        fragments.visit(func.body)
        _check_products(func.body, fragments.shapes)
        return func.with_body(_Annotate(fragments).visit(func.body))


class _Shape(NamedTuple):
    """The extents of a product ``m x n x k``."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}, {self.n}, {self.k}"


class Fragments(Visitor):
    """Collects the shapes and layouts that instructions give fragments."""

    def __init__(self) -> None:
        self.shapes: dict[Var, _Shape] = {}
        self.layouts: dict[Var, str] = {}

    def visit_Call(self, n: Call) -> None:
        name = n.op.name if isinstance(n.op, Op) else ""
        if name in FRAGMENT_OPS and isinstance(n.args[0], Var):
            self._note_shape(n, n.args[0], n.args[1:4])
        if name in (_LOAD, _STORE) and isinstance(n.args[0], Var) and isinstance(n.args[7], StringImm):
            self._note_layout(n, n.args[0], n.args[7].value)
        self.visit_Node(n)

    def _note_shape(self, n: Call, fragment: Var, extents: tuple[PrimExpr, ...]) -> None:
        sizes = [extent.value for extent in extents if isinstance(extent, IntImm)]
        if len(sizes) != 3:
            raise LoweringError(
                f"InferFragment: the shape of fragment {fragment.name}{user_place(n.span)} must be constant"
            )
        shape = _Shape(*sizes)
        if self.shapes.setdefault(fragment, shape) != shape:
            raise _conflict(n, fragment, "shapes", str(self.shapes[fragment]), str(shape))

    def _note_layout(self, n: Call, fragment: Var, layout: str) -> None:
        if self.layouts.setdefault(fragment, layout) != layout:
            raise _conflict(n, fragment, "layouts", self.layouts[fragment], layout)


def _conflict(n: Call, fragment: Var, what: str, first: str, second: str) -> LoweringError:
    return LoweringError(
        f"InferFragment: fragment {fragment.name} has two {what}, {first} and {second}{user_place(n.span)}; use a "
        "fragment of its own for each"
    )


def _check_products(body: Stmt, shapes: dict[Var, _Shape]) -> None:
    """Check that what is multiplied and what is added to are of one shape."""
    for n in nodes_of(body, Call):
        if isinstance(n.op, Op) and n.op.name in _MULTIPLICATIONS:
            operands = [arg for arg in n.args[::2] if isinstance(arg, Var) and arg in shapes]
            if len({shapes[operand] for operand in operands}) > 1:
                each = "; ".join(f"{operand.name}: {shapes[operand]}" for operand in operands)
                raise LoweringError(
                    f"InferFragment: fragments of different shapes are multiplied{user_place(n.span)}: {each}"
                )


class _Annotate(StmtMutator):
    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments

    def visit_Allocate(self, n: Allocate) -> Stmt:
        new: Stmt = self.visit_Node(n)
        shape = self._fragments.shapes.get(n.buffer_var)
        if shape is None:
            return new
        new = AttrStmt(n.buffer_var, "fragment_shape", StringImm(str(shape)), new)
        layout = self._fragments.layouts.get(n.buffer_var)
        return new if layout is None else AttrStmt(n.buffer_var, "fragment_layout", StringImm(layout), new)
