"""The CPUs that LLVM knows, by architecture: those of a table that :mod:`~compiler.target.cpu.cpu_lineage` writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from compiler.ir.error import TargetError
from compiler.runtime.llvm import binding

TRIPLES: Mapping[str, str] = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
    "riscv64": "riscv64-unknown-linux-gnu",
    "wasm32": "wasm32-unknown-unknown",
}
"""Target triples of the architectures whose instructions this package describes."""
_ASK = """
import os, re, sys
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
target = binding.Target.from_triple(sys.argv[1])
module = binding.parse_assembly("define void @f() { ret void }")

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
    os.waitpid(child, 0)
    return told

def compile_for(cpus):
    for cpu in cpus:
        target.create_target_machine(cpu=cpu).emit_assembly(module)
        os.write(2, f"\\ndone {cpu}\\n".encode())

listed = in_child(lambda: target.create_target_machine(cpu="help"))
left = re.findall(r"^  (\\S+)\\s+- Select the ", listed, re.M)
while left:
    pieces = re.split(r"\\ndone (\\S+)\\n", in_child(lambda: compile_for(left)))
    for complaint, cpu in zip(pieces[::2], pieces[1::2]):
        left.remove(cpu)
        if not complaint:
            print(cpu)
    del left[:1]
"""
"""LLVM prints the names once per process, and aborts when generating 64-bit code for a 32-bit CPU; the next child then
continues with the following CPU."""
_SECONDS = 120
TABLE = Path(__file__).with_name("cpus.json")


@cache
def table() -> Mapping[str, Any]:
    """Return the version of LLVM that the table was written by, and its rows by architecture.

    Each row is a CPU: ``name: base +feature -feature``, where the base is an earlier row.
    """
    read: Mapping[str, Any] = json.loads(TABLE.read_text())
    return read


@cache
def cpus(architecture: str) -> tuple[str, ...]:
    """Return the CPUs of an architecture such as ``x86_64`` that LLVM supports, as values of ``-mcpu``."""
    _check(architecture)
    if list(binding.llvm_version_info) == table()["llvm"]:
        return tuple(sorted(row.partition(":")[0] for row in table()[architecture]))
    return ask_llvm(architecture)


def ask_llvm(architecture: str) -> tuple[str, ...]:
    """Return the same as :func:`cpus`, by asking LLVM."""
    _check(architecture)
    command = [sys.executable, "-c", _ASK, TRIPLES[architecture]]
    told = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    return tuple(sorted(told.stdout.split()))


def _check(architecture: str) -> None:
    if architecture not in TRIPLES:
        raise TargetError(f"cpus: expected one of {', '.join(TRIPLES)}, got {architecture!r}")
