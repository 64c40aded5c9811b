"""Whose assembly is shown where a target is named."""

from __future__ import annotations

from compiler.ir.error import TargetError, did_you_mean
from compiler.runtime.modules.native_code import host_triple
from compiler.target.assembly_targets import HOST
from compiler.target.cpu.cpus import TRIPLES, cpus
from compiler.target.cpu.llvm_cpu import architecture
from compiler.target.cpu.m_profile import split_cpu
from compiler.target.target import Target


def assembly_of(target: str) -> str:
    """Return the key of the processor that a target names: its assembly is shown of scripts that build for ``llvm``.

    Its attributes are only checked by code generation.

    Raises
    ------
    TargetError
        If there is no such target or processor, or no assembly is shown for it.
    """
    machine = Target(target)
    is_host = machine.mcpu == "native" or (not machine.mcpu and machine.triple == host_triple())
    if machine.kind != "llvm" or (is_host and not machine.mattr):
        return HOST
    shown = architecture(machine.triple)
    if shown not in TRIPLES:
        raise TargetError(f"assembly is shown for {', '.join(TRIPLES)}, not for {shown}")
    cpu = machine.cpu if is_host else machine.mcpu or "generic"
    known = ("generic", *cpus(shown))
    if not is_host and (name := split_cpu(cpu)[0]) not in known:
        raise TargetError(f"unknown CPU {name!r} for {shown}{did_you_mean(name, known)}")
    return ":".join([shown, cpu, *([",".join(machine.mattr)] if machine.mattr else [])])
