"""ConvertLayout: operators in the layouts that a user asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext, PassInfo
from compiler.relay.expr import Call, Function
from compiler.relay.operator import operator_of, relay_ops
from compiler.relay.transform.function_pass import FunctionPass, TransformPass
from compiler.relay.transform.layout_rewriter import LayoutRewriter
from compiler.relay.transform.rewriter import op_name
from compiler.topi.layout import layout

_DEFAULT = "default"


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> FunctionPass:
    """Brings operators into given layouts, and the rest of the graph with them.

    Parameters
    ----------
    desired_layouts : mapping of str to sequence of str
        For each operator the layout of its data and, if it has them, of its weights: ``{"nn.conv2d": ["NHWC",
        "default"], "nn.max_pool2d": ["NHWC"]}``.  ``default`` stands for what goes with the other one.

    Raises
    ------
    ArgumentError
        If an operator or a layout does not exist, or an operator has no layouts.
    """
    wanted = {name: _checked(name, names) for name, names in dict(desired_layouts).items()}

    def choose(call: Call, types: Sequence[Any]) -> Call | None:
        names = wanted.get(op_name(call))
        return None if names is None else _converted(call, names, types)

    def convert(func: Function, mod: IRModule, ctx: PassContext) -> Any:
        return LayoutRewriter(choose).rewrite(func)

    return TransformPass(convert, PassInfo(3, "ConvertLayout", ("InferType", "CanonicalizeOps")))


def _checked(name: str, names: Any) -> tuple[str, ...]:
    op = relay_ops().get(name)
    if op is None or not {"data_layout", "layout"} & op.attributes.keys():
        raise ArgumentError(f"ConvertLayout: {show(name)} is no operator that has layouts")
    if not isinstance(names, (list, tuple)) or not names:
        raise ArgumentError(f"ConvertLayout: {name}: expected a list of layouts, got {show(names)}")
    for each in names:
        if each != _DEFAULT:
            layout(each)
    return tuple(names)


def _converted(call: Call, names: Sequence[str], types: Sequence[Any]) -> Call | None:
    data = names[0]
    if "data_layout" not in call.attrs:
        changes = {} if data == _DEFAULT else {"layout": data}
    else:
        data = call.attrs.data_layout if data == _DEFAULT else data
        weight = names[1] if len(names) > 1 and names[1] != _DEFAULT else _weight_layout(call, data, types)
        changes = {"data_layout": data, "kernel_layout": weight, "out_layout": names[2] if len(names) > 2 else ""}
    made = call.attrs.with_values(**changes)
    return None if made == call.attrs else rebuild(call, attrs=made)


def _weight_layout(call: Call, data: str, types: Sequence[Any]) -> str:
    """Return the layout of weights that usually goes with one of data."""
    kept: str = call.attrs.kernel_layout
    plain = layout(kept)
    if plain.ndim != len(plain.letters) or layout(data).ndim != len(layout(data).letters):
        return kept
    spatial = "".join(letter for letter in plain.letters if letter not in "OI")
    inner, outer = ("I", "O") if "transpose" not in operator_of(call).name else ("O", "I")
    if data.endswith("C"):
        extents = plain.extents(types[1].dims)
        depthwise = call.attrs.groups > 1 and extents["I"] == 1
        return spatial + (outer + inner if depthwise else inner + outer)
    return outer + inner + spatial
