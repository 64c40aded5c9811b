"""Operators with hand-written GPU kernels: sorting and scans.

========= ==================================================================================
module    what it has
========= ==================================================================================
rows      the rows of a tensor along an axis, and the blocks of threads that take them
bisection what a thread finds in a sorted run
order     which element comes first
sort      merges within a tile in shared memory
merge     merges of longer runs, a tile a block
scan      doubling steps within a block, then a scan over the blocks' totals
========= ==================================================================================
"""

from compiler.topi.device.order import precedes
from compiler.topi.device.rows import has_rows
from compiler.topi.device.scan import scanned
from compiler.topi.device.sort import sorted_rows

__all__ = ["has_rows", "precedes", "scanned", "sorted_rows"]
