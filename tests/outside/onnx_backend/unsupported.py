"""The standard's operators that are not imported, and what a user who has one is told."""

from __future__ import annotations

from onnx import TensorProto, defs, helper

from compiler.relay.frontend import from_onnx
from compiler.relay.frontend.onnx import UnsupportedOperatorError


def standard_operators() -> list[tuple[str, str, int]]:
    """Return domain, name and newest version of every operator that is not deprecated."""
    return sorted((s.domain, s.name, s.since_version) for s in defs.get_all_schemas() if not s.deprecated)


def refusal(domain: str, name: str, version: int) -> str | None:
    """Return the error of a model with one such node; None if it is not for want of a converter."""
    node = helper.make_node(name, ["x"], ["y"], name="node", domain=domain)
    values = [[helper.make_tensor_value_info(v, TensorProto.FLOAT, [1])] for v in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", *values))
    del model.opset_import[:]
    newest = version if domain else defs.onnx_opset_version()
    model.opset_import.append(helper.make_opsetid(domain, newest))
    try:
        from_onnx(model)
    except UnsupportedOperatorError as exc:
        return str(exc)
    except Exception:  # a lone node lacks attributes and inputs; here only the table of converters matters
        return None
    return None


def unsupported() -> dict[str, str]:
    """Return the messages by operator."""
    found = {}
    for domain, name, version in standard_operators():
        message = refusal(domain, name, version)
        if message is not None:
            found[f"{domain}::{name}" if domain else name] = message
    return found
