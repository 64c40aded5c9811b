"""Code generation through LLVM, which is loaded when code is first generated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.ir.extension import lazy_package
from compiler.runtime.llvm import require_llvm

_HOMES = {
    "compiler.target.assembly_summary": ("assembly_summary",),
    "compiler.target.codegen.llvm.generate": ("GeneratedModule", "codegen", "described", "emit", "linked_object_code"),
    "compiler.target.codegen.llvm.kernels": ("kernel_code",),
    "compiler.target.codegen.llvm.machine_code": ("linked", "runtime_module"),
}

__all__ = [name for names in _HOMES.values() for name in names]

if TYPE_CHECKING:
    from compiler.target.assembly_summary import assembly_summary as assembly_summary
    from compiler.target.codegen.llvm.generate import GeneratedModule as GeneratedModule
    from compiler.target.codegen.llvm.generate import codegen as codegen
    from compiler.target.codegen.llvm.generate import described as described
    from compiler.target.codegen.llvm.generate import emit as emit
    from compiler.target.codegen.llvm.generate import linked_object_code as linked_object_code
    from compiler.target.codegen.llvm.kernels import kernel_code as kernel_code
    from compiler.target.codegen.llvm.machine_code import linked as linked
    from compiler.target.codegen.llvm.machine_code import runtime_module as runtime_module
else:
    _load, __dir__ = lazy_package(__name__, _HOMES)

    def __getattr__(name: str) -> Any:
        if name in __all__:
            require_llvm()
        return _load(name)
