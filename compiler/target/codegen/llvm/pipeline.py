"""LLVM itself: parsing, its optimiser at O0 to O3, assembly and object code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite import binding

from compiler.ir.error import BuildError, TargetError, show
from compiler.target.target import Target


@cache
def initialize() -> None:
    """Prepare LLVM's backends once."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()


@cache
def target_machine(triple: str, cpu: str, features: str, opt_level: int) -> Any:
    """Return LLVM's description of a machine.

    Raises
    ------
    BuildError
        If LLVM has no backend for the triple.
    TargetError
        If LLVM does not know the CPU or a feature.
    """
    initialize()
    try:
        target = binding.Target.from_triple(triple)
    except RuntimeError as exc:
        raise BuildError(f"build: LLVM has no backend for the triple {triple!r}: {exc}") from None
    abi = "lp64d" if triple.startswith("riscv64") else ""
    with _complaints() as complaints:
        machine = target.create_target_machine(
            cpu, features, opt=opt_level, reloc="pic", codemodel="default", abiname=abi
        )
    if complaints:
        raise TargetError(f"build: LLVM says of -mcpu={cpu} -mattr={show(features)}: {complaints[0]}")
    return machine


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect what LLVM writes to the standard error inside the block: of an unknown CPU it tells nobody else."""
    found: list[str] = []
    reading, writing = os.pipe()
    saved = os.dup(2)
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield found
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
            found += pipe.read().splitlines()


def machine_of(target: Target) -> Any:
    """Return LLVM's description of the machine that a target names."""
    return target_machine(target.triple, target.cpu, target.features, target.opt_level)


@cache
def _data_layout(triple: str, cpu: str, features: str, opt_level: int) -> str:
    return str(target_machine(triple, cpu, features, opt_level).target_data)


def data_layout(target: Target) -> str:
    """Return how a target lays out data; asked once, as LLVM answers one thread at a time."""
    return _data_layout(target.triple, target.cpu, target.features, target.opt_level)


def parse(text: str) -> Any:
    """Return LLVM's module for a text.

    Raises
    ------
    BuildError
        If LLVM does not accept it, which is a defect of code generation or of a custom pass.
    """
    initialize()
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as exc:
        raise BuildError(f"build: LLVM rejects the generated code: {exc}") from None
    return module


def optimise(module: Any, target: Target) -> None:
    """Run LLVM's own pipeline for the target's level over a module, in place."""
    options = binding.create_pipeline_tuning_options(speed_level=target.opt_level)
    options.loop_vectorization = options.slp_vectorization = target.opt_level >= 2
    builder = binding.create_pass_builder(machine_of(target), options)
    builder.getModulePassManager().run(module, builder)


def assembly(module: Any, target: Target) -> str:
    """Return the assembly of an optimised module."""
    return str(machine_of(target).emit_assembly(module))


def object_code(module: Any, target: Target) -> bytes:
    """Return the relocatable machine code of an optimised module."""
    return bytes(machine_of(target).emit_object(module))
