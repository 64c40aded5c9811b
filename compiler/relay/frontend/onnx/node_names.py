"""Export of a model with names for all nodes."""

from __future__ import annotations

import os

import onnx

from compiler.relay.frontend.shared.errors import ModelError


def save_named(proto: onnx.ModelProto, path: str | os.PathLike[str]) -> None:
    """Save a copy of a model in which unnamed nodes are named after their first output."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for node in copy.graph.node:
        node.name = node.name or next(iter(filter(None, node.output)), "")
    try:
        with open(path, "wb") as file:
            file.write(copy.SerializeToString())
    except OSError as exc:
        raise ModelError(f"from_onnx: {os.fspath(path)!r} cannot be written: {exc.strerror}") from None
