"""The fused functions of a module."""

from __future__ import annotations

from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_hash
from compiler.ir.transform import PassContext
from compiler.relay.analysis import post_order
from compiler.relay.function import Function
from compiler.relay.transform.fuse_ops import FuseOps
from compiler.relay.transform.rewriter import is_primitive

_FUSION_LEVEL = 3


def extract_fused_functions(mod: IRModule) -> dict[GlobalVar, Function]:
    """Return the kernels that ``FuseOps`` makes of a module, those of the same structure once, under their structural
    hash.
    """
    with PassContext(opt_level=_FUSION_LEVEL):
        fused = FuseOps(_FUSION_LEVEL)(mod)
    kernels = {}
    for func in fused.functions.values():
        if isinstance(func, Function):
            functions = (part for part in post_order(func) if isinstance(part, Function))
            kernels.update({structural_hash(part): part for part in functions if is_primitive(part)})
    return {GlobalVar(str(name)): kernel for name, kernel in kernels.items()}
