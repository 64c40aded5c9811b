"""``PrimFunc``: functions of TIR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.primexpr import ExprLike, Var
from compiler.ir.extension import public_module
from compiler.ir.function import BaseFunc
from compiler.ir.node import node, rebuild
from compiler.ir.origin import derived_from
from compiler.ir.printing.format import format_of, text_of
from compiler.ir.types import Type
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.specialize import specialized_parts
from compiler.tir.statements.stmt import Stmt

__all__ = ["FROM_SCHEDULE", "PrimFunc"]

FROM_SCHEDULE = "from_legacy_te_schedule"
"""The attribute of functions that were lowered from a schedule of tensor expressions."""


@node
class PrimFunc(BaseFunc):
    """A function of loop IR.

    In ``params`` handles stand for buffers, and others are scalars; a buffer that is given there gets a handle of its
    own. ``buffer_map`` says what each handle points to; ``ret_type`` is the type of what ``T.ret`` returns, None if
    unsaid; ``attrs`` are ``global_symbol``, ``tir.noalias``, ``from_legacy_te_schedule``, ``target``, … Raises
    DTypeError if a parameter is neither a variable nor a buffer, or ``ret_type`` no type.
    """

    defines: ClassVar[tuple[str, ...]] = ("params", "buffer_map")

    params: tuple[Var, ...]
    body: Stmt
    ret_type: Type | None = None
    buffer_map: Mapping[Var, Buffer] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ret_type is not None and not isinstance(self.ret_type, Type):
            raise DTypeError(f"PrimFunc: ret_type must be a type, got {show(self.ret_type)}")
        if self.buffer_map is None:
            object.__setattr__(self, "buffer_map", {})
        if self.attrs is None:
            object.__setattr__(self, "attrs", {})
        if type(self.params) is not tuple or not all(isinstance(param, Var) for param in self.params):
            self._add_handles()

    def _add_handles(self) -> None:
        """Give each buffer among the parameters a handle."""
        buffers: dict[Var, Buffer] = dict(self.buffer_map)
        params: list[Var] = []
        given: object
        for given in self.params:
            as_object = getattr(given, "asobject", None)
            param = given if as_object is None else as_object()
            if isinstance(param, Buffer):
                handle = Var(param.name, "handle")
                buffers[handle] = param
                params.append(handle)
            elif isinstance(param, Var):
                params.append(param)
            else:
                raise DTypeError(f"PrimFunc: params must be variables or buffers, got {show(given)}")
        object.__setattr__(self, "params", tuple(params))
        object.__setattr__(self, "buffer_map", buffers)

    @property
    def __name__(self) -> str:
        """What the function is called."""
        if "global_symbol" not in self.attrs:
            raise AttributeError("PrimFunc: a private function has no __name__")
        return str(self.attrs["global_symbol"])

    @property
    def is_from_schedule(self) -> bool:
        """Whether the function was lowered from a schedule of tensor expressions."""
        return bool(self.attrs.get(FROM_SCHEDULE))

    def with_body(self, new_body: Stmt) -> PrimFunc:
        """Return this function with another body; the function itself if that is its body already."""
        return self if new_body is self.body else self._changed("body", new_body)

    def with_attr(self, attr_key_or_dict: str | Mapping[str, object], attr_value: object = None) -> PrimFunc:
        """Return this function with an attribute, or several of a mapping, in place of those that it has."""
        if isinstance(attr_key_or_dict, Mapping):
            return self._changed("attrs", {**self.attrs, **attr_key_or_dict})
        return self._changed("attrs", {**self.attrs, attr_key_or_dict: attr_value})

    def without_attr(self, attr_key: str) -> PrimFunc:
        """Return this function without an attribute, which need not be there."""
        return self._changed("attrs", {k: v for k, v in self.attrs.items() if k != attr_key})

    def specialize(self, param_map: Mapping[Var, ExprLike | Buffer]) -> PrimFunc:
        """Return this function for special values of some parameters.

        A scalar that gets a value is no parameter any more; a handle gets the buffer that it points to, whose extents
        are the values of the variables in the shape. Raises ArgumentError if a key is not a parameter, or a buffer does
        not fit.

        Examples
        --------
        >>> matmul.specialize({n: 128})
        >>> matmul.specialize({a: tvm.tir.decl_buffer((128, 128), "float32")})
        """
        for param in param_map:
            if not any(param is each for each in self.params):
                raise ArgumentError(f"specialize: {show(param)} is not a parameter of the function")
        params, body, buffers = specialized_parts(self.params, self.body, self.buffer_map, param_map)
        with derived_from(self.span):
            return rebuild(self, params=params, body=body, buffer_map=buffers)

    def _changed(self, field_name: str, value: object) -> PrimFunc:
        with derived_from(self.span):
            return rebuild(self, **{field_name: value})

    def astext(self, show_meta_data: bool = True, annotate: object = None) -> str:
        """Return the function as text; ``show_meta_data`` says whether large constants follow it."""
        return format_of(self).astext(self, show_meta_data)

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.function", __all__)
