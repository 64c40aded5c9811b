"""``tvm.ir.base``: nodes, their equality and their text."""

from compiler.ir.env_func import EnvFunc
from compiler.ir.node import Node
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.ir.serialization.type_keys import make_node
from compiler.ir.source_span import SequentialSpan, SourceName, Span
from compiler.ir.structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)

__all__ = [
    "EnvFunc", "Node", "SequentialSpan", "SourceName", "Span", "assert_structural_equal",
    "get_first_structural_mismatch", "load_json", "make_node", "save_json", "structural_equal", "structural_hash",
]  # fmt: skip
