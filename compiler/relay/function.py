"""Functions of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import NO_ATTRS, DictAttrs
from compiler.ir.attrs.kinds import Items
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import public_module
from compiler.ir.function import BaseFunc
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.types import Type, TypeVar
from compiler.relay.expr import Expr, Var, expr_of
from compiler.relay.graph_node import graph_node
from compiler.target.virtual_device import VirtualDevice, as_virtual_device

__all__ = ["Function", "is_primitive"]

PARAMS_DEVICES = "param_virtual_devices"
RESULT_DEVICE = "result_virtual_device"
"""The attribute that says where a function's result is."""


@graph_node
class Function(BaseFunc, Expr):
    """Parameters and a body; a value like any other, which sees the variables around it.

    Parameters
    ----------
    ret_type : Type, optional
        The type of ``body``; inference finds it where it is left out.
    attrs : Attrs
        ``Primitive`` marks a group of operators that becomes one kernel, ``Inline`` a function for the pass of that
        name, ``Compiler`` one for an external compiler, ``global_symbol`` names it.
    """

    children: ClassVar[tuple[str, ...]] = ("params", "body")
    defines: ClassVar[tuple[str, ...]] = ("type_params", "params")

    params: tuple[Var, ...]
    body: RelayExpr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Attrs = NO_ATTRS

    def __post_init__(self) -> None:
        params = tuple(self.params)
        for p in params:
            if not isinstance(p, Var):
                raise ArgumentError(f"Function: params must be variables, got {type(p).__name__} {show(p)}")
        object.__setattr__(self, "params", params)
        object.__setattr__(self, "body", expr_of("Function", self.body))
        object.__setattr__(self, "type_params", tuple(self.type_params or ()))
        if not isinstance(self.attrs, Attrs):
            object.__setattr__(self, "attrs", DictAttrs(self.attrs))

    @property
    def virtual_device_(self) -> VirtualDevice:
        """Where its result is; open where nothing is said of it."""
        device: VirtualDevice = self.attrs.get(RESULT_DEVICE, VirtualDevice())
        return device

    @virtual_device_.setter
    def virtual_device_(self, device: VirtualDevice) -> None:
        devices = {PARAMS_DEVICES: Items(param.virtual_device_ for param in self.params), **dict(self.attrs.items())}
        object.__setattr__(self, "attrs", DictAttrs({**devices, RESULT_DEVICE: as_virtual_device(device)}))

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Function:
        """Return this function with an attribute more, or with several, where ``key`` maps their names to values."""
        more = {key: value} if isinstance(key, str) else dict(key)
        with derived_from(self.span):
            return rebuild(self, attrs=DictAttrs({**self.attrs, **more}))

    def without_attr(self, attr_key: str) -> Function:
        """Return this function without an attribute, which need not be there."""
        with derived_from(self.span):
            return rebuild(self, attrs=DictAttrs({k: v for k, v in self.attrs.items() if k != attr_key}))


if not TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.relay.function", __all__)


def is_primitive(expr: object) -> bool:
    """Return whether an expression is a function that becomes one kernel."""
    return isinstance(expr, Function) and bool(expr.attrs.get("Primitive"))
