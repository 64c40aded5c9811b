"""The CPUs that LLVM knows, by architecture."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from functools import cache

from compiler.ir.error import TargetError

__all__ = ["TRIPLES", "cpus"]

TRIPLES: Mapping[str, str] = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
    "riscv64": "riscv64-unknown-linux-gnu",
    "wasm32": "wasm32-unknown-unknown",
}
"""Target triples by architecture: those whose instructions this package can describe."""
_ASK = """
import os, re, sys
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
target = binding.Target.from_triple(sys.argv[1])

def in_child(work):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writing, 2)
        work()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        told = pipe.read()
    return told, os.waitpid(child, 0)[1]

def compile_for(cpu):
    module = binding.parse_assembly("define void @f() { ret void }")
    target.create_target_machine(cpu=cpu).emit_assembly(module)

listed, _ = in_child(lambda: target.create_target_machine(cpu="help"))
for cpu in re.findall(r"^  (\\S+)\\s+- Select the ", listed, re.M):
    if in_child(lambda: compile_for(cpu)) == ("", 0):
        print(cpu)
"""
"""LLVM tells the names once in the life of a process, and ends one that makes 64-bit code for a CPU without it."""
_SECONDS = 30


@cache
def cpus(architecture: str) -> tuple[str, ...]:
    """Return the names of an architecture's CPUs for which LLVM makes code, as ``-mcpu`` takes them.

    Parameters
    ----------
    architecture : str
        First part of a target triple, such as ``x86_64``.

    Returns
    -------
    tuple of str
        Sorted.

    Raises
    ------
    TargetError
        If the architecture is not one of :data:`TRIPLES`.
    """
    if architecture not in TRIPLES:
        raise TargetError(f"cpus: expected one of {', '.join(TRIPLES)}, got {architecture!r}")
    command = [sys.executable, "-c", _ASK, TRIPLES[architecture]]
    told = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    return tuple(sorted(told.stdout.split()))
