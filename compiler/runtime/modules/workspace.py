"""Memory that machine code takes while a function runs, kept for the next function.

The C library gives large blocks back to the system at once, and taking them anew costs a page fault for each four
kilobytes: for a convolution's steps of some megabytes that is longer than the arithmetic.  Where the system has no more
memory, it gets back what is kept here, and is asked again.  Exported shared libraries have a copy of this code.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache

from compiler.runtime.llvm import LinkedCode, position_independent
from compiler.runtime.parallel.forks import hold_while_forking

_making = threading.Lock()
hold_while_forking(_making)
_SIZE_OF_BLOCK = ("malloc_usable_size", "malloc_size")
"""What a C library calls the function that returns the size of a block: on Linux, on macOS."""
_SLOTS, _ALIGNMENT = 16, 64
_MIN_BYTES, _MAX_BYTES = 1 << 16, 1 << 26
"""A block that is worth keeping has the first at least; all that are kept have the second together at most."""
_MAX_WASTE = 4
"""How many times as large as what is asked for a block may be."""
_CODE = f"""
@slots = internal global [{_SLOTS} x ptr] zeroinitializer
@kept = global i64 0
@turn = internal global i64 0
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i64 @SIZE_OF_BLOCK(ptr)

define ptr @take(i64 %alignment, i64 %size) {{
start:
  %aligned = icmp ule i64 %alignment, {_ALIGNMENT}
  %large = icmp uge i64 %size, {_MIN_BYTES}
  %kind = and i1 %aligned, %large
  br i1 %kind, label %look, label %new
look:
  %i = phi i64 [ 0, %start ], [ %after, %next ]
  %slot = getelementptr ptr, ptr @slots, i64 %i
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %next, label %grab
grab:
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  %gone = icmp eq ptr %block, null
  br i1 %gone, label %next, label %weigh
weigh:
  %bytes = call i64 @SIZE_OF_BLOCK(ptr %block)
  %enough = icmp uge i64 %bytes, %size
  %share = udiv i64 %bytes, {_MAX_WASTE}
  %thrifty = icmp ule i64 %share, %size
  %fits = and i1 %enough, %thrifty
  br i1 %fits, label %found, label %back
found:
  atomicrmw sub ptr @kept, i64 %bytes monotonic
  ret ptr %block
back:
  %other = atomicrmw xchg ptr %slot, ptr %block acq_rel
  call void @drop(ptr %other)
  br label %next
next:
  %after = add i64 %i, 1
  %done = icmp eq i64 %after, {_SLOTS}
  br i1 %done, label %new, label %look
new:
  %made = call ptr @aligned_alloc(i64 %alignment, i64 %size)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %clear, label %end
clear:
  %j = phi i64 [ 0, %new ], [ %later, %clear ]
  %place = getelementptr ptr, ptr @slots, i64 %j
  %held = atomicrmw xchg ptr %place, ptr null acq_rel
  call void @drop(ptr %held)
  %later = add i64 %j, 1
  %all = icmp eq i64 %later, {_SLOTS}
  br i1 %all, label %again, label %clear
again:
  %second = call ptr @aligned_alloc(i64 %alignment, i64 %size)
  br label %end
end:
  %result = phi ptr [ %made, %new ], [ %second, %again ]
  ret ptr %result
}}

define internal void @drop(ptr %block) {{
  %bytes = call i64 @SIZE_OF_BLOCK(ptr %block)
  atomicrmw sub ptr @kept, i64 %bytes monotonic
  call void @free(ptr %block)
  ret void
}}

define void @give(ptr %block) {{
start:
  %bytes = call i64 @SIZE_OF_BLOCK(ptr %block)
  %address = ptrtoint ptr %block to i64
  %low = and i64 %address, {_ALIGNMENT - 1}
  %aligned = icmp eq i64 %low, 0
  %large = icmp uge i64 %bytes, {_MIN_BYTES}
  %already = load atomic i64, ptr @kept monotonic, align 8
  %then = add i64 %already, %bytes
  %few = icmp ule i64 %then, {_MAX_BYTES}
  %kind = and i1 %aligned, %large
  %keep = and i1 %kind, %few
  br i1 %keep, label %count, label %release
count:
  atomicrmw add ptr @kept, i64 %bytes monotonic
  br label %look
look:
  %i = phi i64 [ 0, %count ], [ %after, %next ]
  %slot = getelementptr ptr, ptr @slots, i64 %i
  %pair = cmpxchg ptr %slot, ptr null, ptr %block acq_rel monotonic
  %stored = extractvalue {{ ptr, i1 }} %pair, 1
  br i1 %stored, label %end, label %next
next:
  %after = add i64 %i, 1
  %done = icmp eq i64 %after, {_SLOTS}
  br i1 %done, label %replace, label %look
replace:
  %number = atomicrmw add ptr @turn, i64 1 monotonic
  %at = urem i64 %number, {_SLOTS}
  %chosen = getelementptr ptr, ptr @slots, i64 %at
  %old = atomicrmw xchg ptr %chosen, ptr %block acq_rel
  call void @drop(ptr %old)
  br label %end
release:
  call void @free(ptr %block)
  br label %end
end:
  ret void
}}
"""


_CLEARED_AT_END = f"""
%ending = type {{ i32, ptr, ptr }}
@llvm.global_dtors = appending global [1 x %ending] [%ending {{ i32 65535, ptr @clear, ptr null }}]

define internal void @clear() {{
start:
  br label %next
next:
  %i = phi i64 [ 0, %start ], [ %after, %next ]
  %slot = getelementptr ptr, ptr @slots, i64 %i
  %block = atomicrmw xchg ptr %slot, ptr null acq_rel
  call void @drop(ptr %block)
  %after = add i64 %i, 1
  %done = icmp eq i64 %after, {_SLOTS}
  br i1 %done, label %end, label %next
end:
  ret void
}}
"""
_FUNCTIONS = {"aligned_alloc": "take", "free": "give"}


def _code() -> str | None:
    """Return the code above, None where blocks do not tell their size."""
    process = ctypes.CDLL(None)
    size = next((name for name in _SIZE_OF_BLOCK if hasattr(process, name)), None)
    return None if size is None else _CODE.replace("SIZE_OF_BLOCK", size)


@cache
def linked_pool() -> tuple[bytes, list[str]]:
    """Return object code of the code above for a library of its own, and the options by which a linker of ELF uses it.

    The library keeps its memory until it is unloaded, and shares it with no other one.
    """
    code = _code()
    if code is None:
        return b"", []
    for name, ours in _FUNCTIONS.items():
        code = code.replace(f"define ptr @{ours}(", f"define hidden ptr @{ours}(")
        code = code.replace(f"define void @{ours}(", f"define hidden void @{ours}(")
        code = code.replace(f"@{name}(", f"@__real_{name}(").replace(f"@{ours}(", f"@__wrap_{name}(")
    code = code.replace("= global i64", "= internal global i64") + _CLEARED_AT_END
    return position_independent(code), [f"--wrap={name}" for name in _FUNCTIONS]


@cache
def pool() -> LinkedCode | None:
    """Return the machine code above; None where blocks do not tell their size."""
    code = _code()
    if code is None:
        return None
    return LinkedCode(position_independent(code), {})


def functions() -> dict[str, int]:
    """Return the addresses of what takes the place of functions of the C library, by their names."""
    with _making:
        code = pool()
        return {} if code is None else {c: code.address(ours) for c, ours in _FUNCTIONS.items()}
