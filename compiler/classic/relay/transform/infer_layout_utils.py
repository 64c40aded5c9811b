"""``tvm.relay.transform.infer_layout_utils``: arguments and results of layout rules."""

from compiler.relay.operator import InferCorrectLayoutOutput

__all__ = ["InferCorrectLayoutOutput"]
