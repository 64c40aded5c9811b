"""Machine code that is linked into this process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compiler.ir.error import BuildError
from compiler.runtime.llvm import LinkedCode, position_independent
from compiler.runtime.modules.native_code import ObjectCode, host_triple

LINKED_AROUND_A_GAP = """
import ctypes, mmap
from compiler.runtime.llvm import binding
from compiler.runtime.modules.native_code import ObjectCode, host_triple
from compiler.target.llvm_machine import target_machine

TABLE = f'''
@table = private constant [100000 x i32] [{", ".join(f"i32 {n}" for n in range(100_000))}]
define i32 @entry(i64 %i) {{
  %place = getelementptr i32, ptr @table, i64 %i
  %value = load i32, ptr %place
  ret i32 %value
}}'''
machine = target_machine(host_triple(), "", "", 3)
code = machine.emit_object(binding.parse_assembly(TABLE))

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def reserve(size):
    return libc.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)


for size in (1 << 18, 1 << 16, 1 << 14, 1 << 12):  # what is left between other libraries
    for _ in range(1000):
        reserve(size)
small = reserve(1 << 14)
reserve(3 << 30)
libc.munmap(small, 1 << 14)
linked = ObjectCode(code)
entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)(linked.address("entry"))
print(entry(77_777))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="maps memory as Linux does")
def test_code_finds_its_constants_where_memory_has_room_only_in_pieces_that_lie_far_apart() -> None:
    """LLVM would map the code before 3 GiB of other memory, the constants behind, and end the process."""
    run = subprocess.run([sys.executable, "-c", LINKED_AROUND_A_GAP], capture_output=True, text=True)
    assert run.stdout.strip() == "77777", run.stderr[-500:]


OWN_NUMBERS = """
import ctypes, pathlib, sys
from compiler.runtime.llvm import position_independent
from compiler.runtime.modules.native_code import ObjectCode, host_triple
from compiler.runtime.modules.shared_object import link_shared_object

own = position_independent("define i32 @Custom32Add(i32 %x, i32 %y) { ret i32 77 }")
path = pathlib.Path(sys.argv[1], "own.so")
path.write_bytes(link_shared_object(own))
ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
linked = ObjectCode(position_independent(
    "declare i32 @Custom32Add(i32, i32) define i32 @f() { %sum = call i32 @Custom32Add(i32 0, i32 0) ret i32 %sum }"
))
print(ctypes.CFUNCTYPE(ctypes.c_int)(linked.address("f"))())
"""


@pytest.mark.skipif(not (sys.platform == "linux" and host_triple().startswith("x86_64")), reason="links ELF for x86-64")
def test_a_programs_own_functions_go_before_those_of_the_compiler(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", OWN_NUMBERS, str(tmp_path)], capture_output=True, text=True)
    assert run.stdout.strip() == "77", run.stderr[-500:]


def test_a_function_that_nobody_has_is_named() -> None:
    code = position_independent("declare void @nobody_has() define void @f() { call void @nobody_has() ret void }")
    with pytest.raises(BuildError, match="calls 'nobody_has', and this process has no function of that name"):
        ObjectCode(code)


def test_what_is_no_object_code_is_refused() -> None:
    with pytest.raises(BuildError, match="the machine code cannot be linked: "):
        LinkedCode(b"no object code", {})
    linked = LinkedCode(position_independent("define void @f() { ret void }"), {})
    assert linked.address("f") != 0
    assert linked.address("g") == 0
