"""What TVM has in ``tvm.relay.base``: what all nodes have in common, and the text of Relay's."""

from compiler.ir.base import (
    EnvFunc,
    Node,
    SequentialSpan,
    SourceName,
    Span,
    assert_structural_equal,
    get_first_structural_mismatch,
    load_json,
    make_node,
    save_json,
    structural_equal,
    structural_hash,
)
from compiler.relay.printer import astext
from compiler.relay.printer import text as pretty_print

__all__ = [
    "EnvFunc",
    "Node",
    "SequentialSpan",
    "SourceName",
    "Span",
    "assert_structural_equal",
    "astext",
    "get_first_structural_mismatch",
    "load_json",
    "make_node",
    "pretty_print",
    "save_json",
    "structural_equal",
    "structural_hash",
]
