"""``call_lowered``: a call of a function that has been lowered, with its arguments in a tuple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.structural import structural_equal
from compiler.ir.types import FuncType, Type
from compiler.relay.expr import Call, Expr, Tuple
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import RelationError, Types
from compiler.relay.ty import TupleType

_NO_DEFINITION = "what is computed is the definition of the lowered function"


class _Metadata(AttrKind[dict[str, Any]]):
    def convert(self, value: object, owner: type[Attrs]) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(self.type_name)
        return dict(value)


class CallLoweredAttrs(Attrs):
    metadata: dict[str, Any] = attr_field(
        _Metadata("mapping of str to object"),
        "What is known of the call: ``relay_attrs`` are the attributes of the fused function that was lowered, and "
        "``all_prim_fn_vars`` the names of the functions that it became.",
        default={},
    )


def _returns_what_the_function_returns(types: Types, attrs: Attrs) -> Type:
    """The type that the function returns for arguments of these types."""
    function, inputs = types
    if not isinstance(function, FuncType):
        raise RelationError(f"func must be a function, got {function}")
    if not isinstance(inputs, TupleType):
        raise RelationError(f"inputs must be a tuple of the arguments, got {inputs}")
    if not structural_equal(TupleType(tuple(function.arg_types)), inputs):
        raise RelationError(f"the function takes {TupleType(tuple(function.arg_types))}, got {inputs}")
    return function.ret_type


_CALL_LOWERED = register(
    "call_lowered",
    doc="Call a function of loop IR, or one that an external compiler provides.",
    inputs={"func": "The lowered function, named by a global variable.", "inputs": "A tuple of its arguments."},
    attrs=CallLoweredAttrs,
    relation=_returns_what_the_function_returns,
    waived=dict.fromkeys(("compute", "reference", "gradient"), _NO_DEFINITION),
)


@public_function(_CALL_LOWERED)
def call_lowered(func: Expr, inputs: Expr | Sequence[Expr]) -> Call:
    """Call a lowered function with the arguments that a tuple contains."""
    return _CALL_LOWERED(func, inputs if isinstance(inputs, Expr) else Tuple(tuple(inputs)))
