"""TVMScript building blocks of matrix intrinsics."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.instrument import uninstrumented
from compiler.ir.origin import unrecorded
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc


def parse_function(source: str, names: Mapping[str, object] | None = None) -> PrimFunc:
    """Return the function that a text defines; ``names`` are what it uses beside TVMScript's own."""
    with uninstrumented(), unrecorded():  # the user wrote none of it
        func = from_source("@T.prim_func\n" + source, names)
    assert isinstance(func, PrimFunc)
    return func


def function_head(*buffers: str) -> str:
    """Return the first line of a function that takes buffers."""
    return f"def main({', '.join(f'{name.lower()}_handle: T.handle' for name in buffers)}):\n"


def match_buffer(
    name: str, shape: tuple[int, int], dtype: str, scope: str, offset_factor: int = 1, strides: bool = False
) -> str:
    """Return the declaration of a buffer, of any strides or in rows without gaps."""
    form = f"strides=[{name}_s0, {name}_s1], " if strides else ""
    declared = f"    {name}_s0 = T.int32()\n    {name}_s1 = T.int32()\n" if strides else ""
    memory = f'{form}offset_factor={offset_factor}, scope="{scope}"'
    return f'{declared}    {name} = T.match_buffer({name.lower()}_handle, {shape}, "{dtype}", {memory})\n'


def root_block(reads: str, writes: str) -> str:
    """Return the head of the block around all statements."""
    return f'    with T.block("root"):\n        T.reads({reads})\n        T.writes({writes})\n'


def whole(name: str, rows: int, columns: int) -> str:
    """Return the region that is all of a buffer."""
    return f"{name}[0:{rows}, 0:{columns}]"


def thread_loop(threads: int) -> str:
    """Return the head of the loop over the threads of a warp."""
    return f'        for tx in T.thread_binding(0, {threads}, "threadIdx.x"):\n'
