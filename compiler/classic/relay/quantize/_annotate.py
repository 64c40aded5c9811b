"""``tvm.relay.quantize._annotate``: rules of programs for what is quantized."""

from compiler.classic.relay.transform.quantization.quantize_annotate import (
    QAnnotateExpr,
    attach_simulated_quantize,
    register_annotate_function,
)
from compiler.classic.relay.transform.quantization.quantize_annotate import expr_and_kind as _get_expr_kind
from compiler.classic.relay.transform.quantization.quantize_config import (
    QAnnotateKind,
    current_qconfig,
    quantize_context,
)

__all__ = [
    "QAnnotateExpr", "QAnnotateKind", "_get_expr_kind", "attach_simulated_quantize", "current_qconfig",
    "quantize_context", "register_annotate_function",
]  # fmt: skip
