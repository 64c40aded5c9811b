"""Passes over graphs, one a file: ``relay.transform``."""

from compiler.relay.transform.infer_type import InferType, InferTypeLocal

__all__ = [
    "InferType",
    "InferTypeLocal",
]
