"""Tensor intrinsics of processors, by name: ``tvm.tir.tensor_intrin``.

Importing a module registers its intrinsics.  Those of the processor that a program is built for run; on another one
the build says which processor the instruction belongs to.
"""

from compiler.classic.tir.intrinsics import amx, arm_cpu, cuda, dot_product_common, hexagon, metal, rocm, x86

__all__ = ["amx", "arm_cpu", "cuda", "dot_product_common", "hexagon", "metal", "rocm", "x86"]
