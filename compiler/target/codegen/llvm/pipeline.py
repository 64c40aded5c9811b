"""LLVM's parser, optimiser at O0 to O3, and code generator."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from compiler.ir.context_stack import setting
from compiler.ir.error import BuildError
from compiler.runtime.llvm import binding
from compiler.target import llvm_machine
from compiler.target.target import Target

_commented: ContextVar[bool] = ContextVar("commented", default=False)


def machine_of(target: Target, features: str | None = None) -> binding.TargetMachine:
    """Return LLVM's target machine of a target, or of its processor with other features."""
    chosen = target.llvm_features if features is None else features
    return llvm_machine.target_machine(target.triple, target.cpu, chosen, target.opt_level)


def data_layout(target: Target) -> str:
    """Return LLVM's data layout string of a target."""
    return llvm_machine.data_layout(target.triple, target.cpu, target.llvm_features, target.opt_level)


def parse(text: str) -> binding.ModuleRef:
    """Parse and verify LLVM IR."""
    llvm_machine.initialize()
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as exc:
        raise BuildError(f"build: LLVM rejects the generated code: {exc}") from None
    return module


def optimised(text: str, target: Target, features: str | None = None) -> binding.ModuleRef:
    """Parse LLVM IR and optimise it, for other ``features`` than those of the target if they are given.

    LLVM 22's vectoriser of straight-line code may put a value behind its use, where sums of a few rows are stored side
    by side; its code generator then ends the process.  Such a module is optimised again without that vectoriser.
    """
    module = parse(text)
    optimise(module, target, features=features)
    if not _is_valid(module):
        module = parse(text)
        optimise(module, target, straight_lines=False, features=features)
        if not _is_valid(module):
            raise BuildError("build: LLVM's optimiser makes invalid code of this program; try another opt_level")
    return module


def _is_valid(module: binding.ModuleRef) -> bool:
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


def optimise(
    module: binding.ModuleRef, target: Target, straight_lines: bool = True, features: str | None = None
) -> None:
    """Optimise a module in place, at the optimisation level of the target; the vectorisers run from level 2.

    With ``straight_lines``, code without loops is vectorised, too.
    """
    options = binding.create_pipeline_tuning_options(speed_level=target.opt_level)
    options.loop_vectorization = target.opt_level >= 2
    options.slp_vectorization = target.opt_level >= 2 and straight_lines
    builder = binding.create_pass_builder(machine_of(target, features), options)
    builder.getModulePassManager().run(module, builder)


def assembly(module: binding.ModuleRef, target: Target) -> str:
    """Return the assembly of an optimised module."""
    machine = machine_of(target)
    machine.set_asm_verbosity(_commented.get())
    return str(machine.emit_assembly(module))


def commented_assembly() -> AbstractContextManager[None]:
    """Enable LLVM's comments on loops and spills in assembly generated within the context."""
    return setting(_commented, True)


def object_code(module: binding.ModuleRef, target: Target) -> bytes:
    """Return the relocatable machine code of an optimised module."""
    return bytes(machine_of(target).emit_object(module))
