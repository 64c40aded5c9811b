"""LLVM's target machines: the back end for a triple, a CPU and its features."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from compiler.ir.error import BuildError, TargetError, did_you_mean, show
from compiler.runtime.llvm import binding
from compiler.target.cpu.cpus import TRIPLES, table

UNKNOWN_CPU = "is not a recognized processor"
"""LLVM's message about an unknown CPU."""


@cache
def initialize() -> None:
    """Initialise LLVM's back ends, once."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()
    # LLVM 22 looks for checksums in loops along every path of operands: their number doubles with each maximum of a
    # chain, so that the largest of 64 unrolled values takes for ever.
    binding.set_option("strata", "-disable-loop-idiom-hashrecognize")
    # LLVM 22 ends the process by an assertion where a loop that has lost its first iterations is to lose more of them
    # than the 7 it allows: it takes them off the end instead, which can only lose one.
    binding.set_option("strata", "-unroll-peel-max-count=1")


@cache
def target_machine(triple: str, cpu: str, features: str, opt_level: int) -> binding.TargetMachine:
    """Create an LLVM target machine; an empty CPU is the generic one, ``opt_level`` is the code generator's, 0 to 3."""
    initialize()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError as exc:
        raise BuildError(f"build: LLVM has no backend for the triple {triple!r}: {exc}") from None
    with _standard_error_lines() as complaints:
        machine = target.create_target_machine(cpu, features, opt=opt_level, reloc="pic", codemodel="default")
    if complaints:
        if UNKNOWN_CPU in complaints[0]:
            raise TargetError(
                f"build: unknown CPU {cpu!r} for {triple.partition('-')[0].replace('_', '-')}{_hint(cpu)}"
            )
        raise TargetError(f"build: -mattr={show(features)}: {complaints[0]}")
    return machine


def _hint(cpu: str) -> str:
    """Say which architecture has a CPU, or which CPU of any has a name like it."""
    known = {row.partition(":")[0]: architecture for architecture in TRIPLES for row in table()[architecture]}
    if cpu in known:
        return f"; it is one of {known[cpu]}: -mtriple={TRIPLES[known[cpu]]}"
    return did_you_mean(cpu, known)


@contextmanager
def _standard_error_lines() -> Iterator[list[str]]:
    """Capture LLVM's standard error within the context, as unknown CPUs are reported nowhere else."""
    lines: list[str] = []
    reading, writing = os.pipe()
    saved = os.dup(2)
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield lines
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
            lines += pipe.read().splitlines()


@cache
def data_layout(triple: str, cpu: str, features: str, opt_level: int) -> str:
    """Return LLVM's data layout string of a machine, cached because LLVM serialises such queries."""
    return str(target_machine(triple, cpu, features, opt_level).target_data)


def emitted_for(program: str, triple: str, cpu: str, features: str) -> str:
    """Compile a program to assembly, to detect the features that LLVM uses for a CPU."""
    machine = target_machine(triple, cpu, features, 2)
    return str(machine.emit_assembly(binding.parse_assembly(f'target triple = "{triple}"\n{program}')))
