"""Type inference: what type every expression of a graph has.

In the manner of Hindley and Milner (Damas and Milner, "Principal type-schemes for functional programs", 1982), with the
operators' type relations as constraints that are solved once enough is known, and with extents that may stay unknown.
"""

from compiler.relay.inference.entry import infer_copies, infer_expr, infer_module, with_copies
from compiler.relay.inference.errors import Diagnostic, TypeInferenceError, UnificationError

__all__ = [
    "Diagnostic", "TypeInferenceError", "UnificationError", "infer_copies", "infer_expr", "infer_module", "with_copies",
]  # fmt: skip
