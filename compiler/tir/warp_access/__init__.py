"""Memory accesses of a kernel's warps, computed from TIR: sectors, bank conflicts, bytes."""

from compiler.tir.warp_access.explain import KernelAccesses, WarpAccess, explain_kernels, samples
from compiler.tir.warp_access.site import AccessSite, StmtContext
from compiler.tir.warp_access.transactions import BANKS, SECTOR, bank_ways, pattern_of, sectors
from compiler.tir.warp_access.walkthrough import Walkthrough, walk_through

__all__ = [
    "BANKS", "SECTOR", "AccessSite", "KernelAccesses", "StmtContext", "Walkthrough", "WarpAccess", "bank_ways",
    "explain_kernels", "pattern_of", "samples", "sectors", "walk_through",
]  # fmt: skip
