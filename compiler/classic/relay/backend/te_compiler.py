"""``tvm.relay.backend.te_compiler``: compiles Relay functions to kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler import te
from compiler.classic.relay.op_strategy.selection import (
    OpImplementation,
    get_valid_implementations,
    select_implementation,
)
from compiler.driver.build import build
from compiler.driver.relay.groups import StructuralKey, kernel_name, structural_key
from compiler.driver.relay.kernels import clear_cache
from compiler.driver.relay.lower import LoweredKernel, lower_group
from compiler.driver.relay.options import mangle_module_name
from compiler.ir.expr.primexpr import PrimExpr, convert
from compiler.ir.extension import public_module
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.function import Function
from compiler.relay.operator import operator_of
from compiler.relay.ty import AnyDim
from compiler.runtime.modules.module import Module
from compiler.target.target import Target
from compiler.target.virtual_device import VirtualDevice
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "CCacheKey", "CCacheValue", "CachedFunc", "LoweredOutput", "TECompiler", "get", "get_shape",
    "get_valid_implementations", "lower_call", "lower_to_primfunc", "select_implementation",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class LoweredOutput:
    """A call of an operator as tensor expressions, and the implementation of its strategy that computes them."""

    outputs: list[Tensor]
    implementation: OpImplementation


@dataclass(frozen=True, slots=True, eq=False)
class CCacheKey:
    """What a kernel is made of, and for which device; left open where nothing is said."""

    source_func: Function
    target: Target
    virtual_device: VirtualDevice = field(default_factory=VirtualDevice)


@dataclass(frozen=True, slots=True, eq=False)
class CCacheValue:
    """A kernel that was made, and how often it was asked for."""

    cached_func: CachedFunc
    use_count: int


@dataclass(frozen=True, slots=True, eq=False)
class CachedFunc:
    """A function of operators as loops, made once for each target."""

    kernel: LoweredKernel
    target: Target

    @property
    def prim_fn_var(self) -> GlobalVar:
        """The kernel's name."""
        return GlobalVar(self.kernel.name)

    @property
    def prim_func(self) -> PrimFunc:
        """The loops."""
        return self.kernel.prim_func

    @property
    def inputs(self) -> list[Tensor]:
        """The parameters that it reads."""
        return self.kernel.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The parameters that it writes."""
        return self.kernel.outputs

    @property
    def schedule(self) -> Schedule:
        """How the outputs are computed."""
        return self.kernel.schedule

    @property
    def funcs(self) -> IRModule:
        """The loops as a module."""
        return IRModule({self.kernel.name: self.kernel.prim_func})

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as another."""
        return self is other


class TECompiler:
    """What makes kernels of functions of operators, and keeps those that it has made."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, StructuralKey], tuple[CCacheKey, CachedFunc]] = {}
        self._uses: Counter[CachedFunc] = Counter()

    def lower(
        self, source_func: Function | CCacheKey, target: Target | str | None = None, mod_name: str = "default"
    ) -> CachedFunc:
        """Lower a function of operators to loops; equal ones are lowered once.

        The target, by default the current one, or else this machine, is said by a :class:`CCacheKey` itself.
        """
        if isinstance(source_func, CCacheKey):
            target, source_func = source_func.target, source_func.source_func
        chosen = Target.target_or_current(target)
        key = (str(chosen), structural_key(source_func))
        if key not in self._made:
            name = kernel_name(source_func, mangle_module_name("default"))
            made = CachedFunc(lower_group(source_func, name, chosen), chosen)
            self._made[key] = CCacheKey(source_func, chosen), made
        cached = self._made[key][1]
        self._uses[cached] += 1
        return cached

    def items(self) -> list[tuple[CCacheKey, CCacheValue]]:
        """Return the kernels that were made."""
        return [(key, CCacheValue(made, self._uses[made])) for key, made in self._made.values()]

    def dump(self) -> None:
        """Print the kernels that were made, and how often each was asked for."""
        for key, value in self.items():
            print(f"{key.target}: used {value.use_count} times\n{key.source_func}\n{value.cached_func.funcs}")

    def jit(self, source_func: Function, target: Target | str | None = None) -> Module:
        """Compile a function of operators, called with its arguments and what it writes its results to.

        The target is by default the current one, or else this machine.
        """
        lowered = self.lower(source_func, target)
        return build(lowered.funcs, target=lowered.target)

    def clear(self) -> None:
        """Forget the kernels that were made."""
        self._made.clear()
        self._uses.clear()
        clear_cache()


_COMPILER = TECompiler()


def get() -> TECompiler:
    """Return the compiler of kernels; there is one."""
    return _COMPILER


def get_shape(shape: Sequence[int | PrimExpr]) -> list[PrimExpr]:
    """Return a shape as tensor expressions take it: unknown extents as variables."""
    return [te.var("any_dim", "int32") if isinstance(extent, AnyDim) else convert(extent) for extent in shape]


def lower_call(call: Call, inputs: Sequence[Tensor], target: Target, otype: Type | None = None) -> LoweredOutput:
    """Return a call of an operator as tensor expressions, by the implementation that the target prefers.

    ``otype`` is the type of the result, by default that of the call.
    """
    result = call.checked_type if otype is None else otype
    implementation, outputs = select_implementation(operator_of(call), call.attrs, inputs, result, target)
    return LoweredOutput(list(outputs), implementation)


def lower_to_primfunc(relay_func: Function, target: Target | str) -> PrimFunc:
    """Return a function of operators as blocks in loops, before any schedule, by definitions that the target prefers.

    Its parameters are those of the function and what the results are written to.
    """
    lowered = _COMPILER.lower(relay_func, target)
    return create_prim_func([*lowered.inputs, *lowered.outputs])


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.backend.te_compiler", __all__)
