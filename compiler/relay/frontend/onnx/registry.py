"""The table of converters: which ONNX operator becomes what, from which operator set on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.shared.folding import Operators
from compiler.relay.op_registry import onnx_operators, operator_of_onnx, public_function_of

Results: TypeAlias = "RelayExpr | Sequence[RelayExpr | None]"
Convert: TypeAlias = Callable[[Node], Results]
"""``convert(node)`` returns the node's outputs: an expression, or a sequence of them, None for one that it lacks."""

F = TypeVar("F", bound=Convert)

_TABLE: dict[tuple[str, str], dict[int, Convert]] = {}


def converter(*names: str, since: int = 1, domain: str = "") -> Callable[[F], F]:
    """Register a function as the converter of operators, from an operator set on.

    Raises ValueError if the row of a Relay operator names the ONNX operator: it has a converter then.
    """

    def enter(convert: F) -> F:
        for name in names:
            if not domain and (op := operator_of_onnx(name)) is not None:
                raise ValueError(f"ONNX's {name} is converted by the row of {op.name}, which names it")
            _TABLE.setdefault((domain, name), {})[since] = convert
        return convert

    return enter


def converters(rows: Mapping[str, Convert], since: int = 1) -> None:
    """Register a table of converters by operator names, of which a key may have several, separated by spaces."""
    for names, convert in rows.items():
        converter(*names.split(), since=since)(convert)


def find(domain: str, name: str, opset: int) -> Convert | None:
    """Return the newest converter that holds for an operator set, if there is one.

    It is a registered one, or that of the Relay operator whose row names the ONNX operator.
    """
    versions = _TABLE.get((domain, name), {})
    fitting = [since for since in versions if since <= opset]
    return versions[max(fitting)] if fitting else _one_to_one(domain, name)


def one_to_one(name: str) -> Operators | None:
    """Return the function of the Relay operator that an ONNX operator is, if its row names it."""
    op = operator_of_onnx(name)
    return Operators(public_function_of(op)) if op else None


def _one_to_one(domain: str, name: str) -> Convert | None:
    """Return the converter of an operator whose Relay operator names it in its row."""
    op = None if domain else operator_of_onnx(name)
    function = one_to_one(name)
    if op is None or function is None:
        return None

    def convert(node: Node) -> RelayExpr:
        attributes = {key: value for key, value in node.attributes.items() if key in op.attributes}
        return function(*node.inputs, **attributes)

    return convert


def supported() -> list[str]:
    """Return the names of all operators with a converter, those of other domains with their domain."""
    return sorted({*onnx_operators(), *(f"{domain}::{name}" if domain else name for domain, name in _TABLE)})
