"""What rules about layouts take and return, under the names of ``tvm.relay.transform.infer_layout_utils``."""

from compiler.relay.operator import InferCorrectLayoutOutput

__all__ = ["InferCorrectLayoutOutput"]
