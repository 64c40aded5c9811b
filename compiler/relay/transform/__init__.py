"""Passes over graphs, one a file: ``relay.transform``."""

from compiler.relay.transform.function_pass import FunctionPass, function_pass
from compiler.relay.transform.infer_type import InferType, InferTypeLocal

__all__ = [
    "FunctionPass",
    "InferType",
    "InferTypeLocal",
    "function_pass",
]
