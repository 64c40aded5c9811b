"""Attributes that tests of attributes make: ``tvm.ir.make_node("attrs.TestAttrs", …)``."""

from __future__ import annotations

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import EXPRS, FUNCTION, STRING, int_between, optional
from compiler.ir.env_func import EnvFunc
from compiler.ir.expr.primexpr import PrimExpr


class TestAttrs(Attrs):
    """One attribute of each sort."""

    __test__ = False
    type_key = "attrs.TestAttrs"

    axis: int = attr_field(int_between(1, 10), "A number with bounds.", 10)
    name: str = attr_field(STRING, "A text that must be given.")
    padding: tuple[PrimExpr, ...] = attr_field(EXPRS, "Expressions.", (0, 0))
    func: EnvFunc | None = attr_field(optional(FUNCTION), "A registered function.", None)
