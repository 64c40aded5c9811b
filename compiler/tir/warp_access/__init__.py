"""Memory accesses of a kernel's warps, computed from TIR: sectors, bank conflicts, bytes."""

from compiler.tir.warp_access.explain import KernelAccesses, WarpAccess, explain_kernels
from compiler.tir.warp_access.site import AccessSite
from compiler.tir.warp_access.transactions import BANKS, SECTOR, bank_ways, pattern_of, sectors
from compiler.tir.warp_access.walkthrough import Walkthrough, walk_through

__all__ = [
    "BANKS", "SECTOR", "AccessSite", "KernelAccesses", "Walkthrough", "WarpAccess", "bank_ways", "explain_kernels",
    "pattern_of", "sectors", "walk_through",
]  # fmt: skip
