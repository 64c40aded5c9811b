"""Types as the text format writes them: ``Tensor[(1, 3), float32]``, ``fn (int32) -> bool``, ``List[A]``."""

from __future__ import annotations

from typing import Any

from compiler.ir.expr.primexpr import Add, Cast, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var
from compiler.ir.printing.text import tuple_text
from compiler.ir.types import FuncType, PointerType, PrimType, Type, TypeRelation, TypeVar
from compiler.relay.adt import TypeData
from compiler.relay.printer.names import Names
from compiler.relay.ty import AnyDim, GlobalTypeVar, RefType, TensorType, TupleType, TypeCall

_INFIX: dict[type, tuple[str, int]] = {Add: ("+", 1), Sub: ("-", 1), Mul: ("*", 2)}
_CALLS: dict[type, str] = {Min: "min", Max: "max", FloorDiv: "floordiv", FloorMod: "floormod"}


def type_text(t: Type | None, names: Names) -> str:
    """Return a type; one that is not known is ``_``."""
    match t:
        case TensorType():
            return t.dtype if not t.shape else f"Tensor[({', '.join(dim_text(d, names) for d in t.shape)}), {t.dtype}]"
        case TupleType():
            return tuple_text([type_text(f, names) for f in t.fields])
        case FuncType():
            names.open_types(t.type_params)
            params = f"[{', '.join(names.type_variable(v) for v in t.type_params)}]" if t.type_params else ""
            text = (
                f"fn {params}({', '.join(type_text(a, names) for a in t.arg_types)}) -> {type_text(t.ret_type, names)}"
            )
            names.close_types(t.type_params)
            return text
        case RefType():
            return f"ref({type_text(t.value, names)})"
        case TypeCall():
            return f"{type_text(t.func, names)}[{', '.join(type_text(a, names) for a in t.args)}]"
        case TypeVar():
            return names.type_variable(t)
        case GlobalTypeVar():
            return t.name_hint
        case PrimType():
            return t.dtype
        case PointerType():
            return f"Pointer[{t.element_type.dtype}]"
        case TypeData():
            return t.header.name_hint
        case TypeRelation():
            relation = "_" if t.func is None else t.func.name
            return f"{relation}({', '.join(type_text(a, names) for a in t.args)})"
        case _:
            return "_"


def dim_text(d: Any, names: Names, level: int = 0) -> str:
    """Return an extent; a variable that is not an ``int32`` is written with its data type the first time."""
    if isinstance(d, IntImm):
        return str(d.value)
    if isinstance(d, AnyDim):
        return "?"
    if isinstance(d, Var):
        name, new = names.dimension(d)
        return f"{name}: {d.dtype}" if new and d.dtype != "int32" else name
    if type(d) in _INFIX:
        sign, strength = _INFIX[type(d)]
        text = f"{dim_text(d.a, names, strength)} {sign} {dim_text(d.b, names, strength + 1)}"
        return f"({text})" if strength < level else text
    if isinstance(d, Cast):
        return f"{d.dtype}({dim_text(d.value, names)})"
    if type(d) in _CALLS:
        return f"{_CALLS[type(d)]}({dim_text(d.a, names)}, {dim_text(d.b, names)})"
    return str(d)
