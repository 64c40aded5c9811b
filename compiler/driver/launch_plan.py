"""Launch plans: the device memory a host function allocates and the kernels it launches, in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from compiler.arith import Analyzer
from compiler.driver.device_pipeline import split_for_device
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.coercion import const
from compiler.ir.expr.operations import Call
from compiler.ir.expr.primexpr import FloatImm, IntImm, PrimExpr, Var
from compiler.ir.expr.scalars import StringImm
from compiler.ir.expr.substitute import substitute
from compiler.ir.module import IRModule
from compiler.runtime.modules.launches import (
    MAX_LAUNCHES,
    DeviceMemory,
    FunctionLaunches,
    Launch,
    Launches,
    NoLaunches,
    OpenLaunches,
)
from compiler.target.codegen.source import source_code
from compiler.target.target import Target
from compiler.tir.analysis.memory import allocation_bytes
from compiler.tir.expressions.builtin import CALL_PACKED
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AssertStmt, Evaluate, For, IfThenElse, LetStmt, While
from compiler.tir.statements.stmt_functor import StmtVisitor, statements_of


@dataclass(frozen=True, slots=True)
class LaunchPlan(Launches):
    """A function for a device, as somebody else's host can call it."""

    source: str


def launch_plan(module: IRModule, target: Target) -> LaunchPlan:
    """Return the program of a function's kernels for a device with a source language, and how they are launched."""
    parts = split_for_device(module, target, packed=False)
    hosts = [func for func in parts.host.functions.values() if isinstance(func, PrimFunc)]
    if len(hosts) != 1:
        raise LoweringError(f"launch_plan: expected a module of one function, got {len(hosts)}")
    launches = _launches(hosts[0], parts.device)
    if launches is None:
        raise LoweringError("launch_plan: the function launches no kernel; bind a loop to blockIdx.x or threadIdx.x")
    return LaunchPlan(launches.memory, launches.launches, source_code(parts.device, target.kind).text)


def host_launches(host: IRModule, kernels: IRModule) -> FunctionLaunches:
    """Return what each function of a host launches."""
    functions: dict[str, Launches | NoLaunches] = {}
    for var, func in host.functions.items():
        if not isinstance(func, PrimFunc):
            continue
        try:
            launches = _launches(func, kernels)
        except LoweringError as error:
            functions[var.name_hint] = OpenLaunches(str(error), partial(_called, func, kernels))
            continue
        if launches is not None:
            functions[var.name_hint] = launches
    return functions


def _launches(func: PrimFunc, kernels: IRModule) -> Launches | None:
    """Return what a function of the host launches, or None if that is nothing."""
    calls = (n.value for n in statements_of(func.body, Evaluate))
    if not any(isinstance(call, Call) and call.op is CALL_PACKED for call in calls):
        return None
    host = _Host(func, kernels)
    host.visit(func.body)
    return Launches(host.memory, host.launches)


def _called(func: PrimFunc, kernels: IRModule, args: Sequence[tuple[int, ...] | float]) -> Launches:
    """Return what a function launches when it is called with arrays of some shapes, and numbers."""
    host = _Host(func, kernels, args)
    host.visit(func.body)
    return Launches(host.memory, [launch for launch in host.launches if all(launch.blocks)])


class _Host(StmtVisitor):
    """Follows the host's function, whose sizes are all constant, or follow from the arguments of a call."""

    def __init__(
        self, func: PrimFunc, kernels: IRModule, args: Sequence[tuple[int, ...] | float | None] | None = None
    ) -> None:
        self._kernels = kernels
        self._analyzer = Analyzer()
        self._values: dict[Var, PrimExpr] = {}
        self._positions: dict[Var, int] = {}
        self.memory: list[DeviceMemory] = []
        self.launches: list[Launch] = []
        given = args if args is not None else [None] * len(func.params)
        for param, arg in zip(func.params, given, strict=True):
            self._bind(param, func.buffer_map.get(param), arg)
        buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
        for position, buffer in enumerate(buffers):
            self._add(buffer.data, buffer.name, buffer.dtype, buffer.shape, position)

    def _bind(self, param: Var, buffer: Buffer | None, arg: tuple[int, ...] | float | None) -> None:
        """Note the values of variables that an argument determines: its own, or those that are its buffer's extents."""
        if isinstance(arg, tuple) and buffer is not None:
            for extent, actual in zip(buffer.shape, arg, strict=False):  # lanes may follow
                if isinstance(extent, Var):
                    self._values.setdefault(extent, IntImm(extent.dtype, actual))
            return
        if buffer is None and arg is None:
            raise LoweringError(f"launch_plan: parameter {param.name!r} is a scalar; only tensors are supported")
        if isinstance(arg, int | float):
            self._values[param] = const(arg, param.dtype)

    def _add(
        self, pointer: Var, name: str, dtype: str, shape: Sequence[PrimExpr], parameter: int | None = None
    ) -> None:
        elements = math.prod(self._constant(extent) for extent in shape) * dt.lanes(dtype)
        self._positions[pointer] = len(self.memory)
        self.memory.append(DeviceMemory(name, dt.element(dtype), elements, parameter))

    def _value(self, expr: PrimExpr) -> int | float:
        value = self._analyzer.simplify(substitute(expr, self._values))
        if not isinstance(value, IntImm | FloatImm):
            raise LoweringError(f"launch_plan: {expr} is known only at run time")
        return value.value

    def _constant(self, expr: PrimExpr) -> int:
        return int(self._value(expr))

    def visit_Allocate(self, n: Allocate) -> None:
        if n.buffer_var not in self._positions:
            self._add(n.buffer_var, n.buffer_var.name, n.dtype, n.extents)
        self.visit(n.body)

    def visit_For(self, n: For) -> None:
        first = self._constant(n.min)
        for value in range(first, first + self._constant(n.extent)):
            self._values[n.loop_var] = IntImm(n.loop_var.dtype, value)
            self.visit(n.body)
        self._values.pop(n.loop_var, None)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        branch = n.then_case if self._value(n.condition) else n.else_case
        if branch is not None:
            self.visit(branch)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._values[n.var] = self._analyzer.simplify(substitute(n.value, self._values))
        self.visit(n.body)

    def visit_While(self, n: While) -> None:
        raise LoweringError("launch_plan: the host runs a while loop, whose trip count is known only at run time")

    def visit_AssertStmt(self, n: AssertStmt) -> None:
        self.visit(n.body)

    def visit_Evaluate(self, n: Evaluate) -> None:
        call = n.value
        if not isinstance(call, Call) or call.op is not CALL_PACKED:
            return
        name = call.args[0]
        if not isinstance(name, StringImm) or name.value not in self._kernels:
            raise LoweringError(f"launch_plan: the host calls {name}, which is not a kernel")
        if len(self.launches) == MAX_LAUNCHES:
            raise LoweringError(f"launch_plan: the function launches more than {MAX_LAUNCHES:,} kernels")
        self.launches.append(self._launch(name.value, call.args[1:]))

    def _launch(self, kernel: str, args: Sequence[PrimExpr]) -> Launch:
        func = self._kernels[kernel]
        count = len(func.params)
        memory, numbers = [], []
        for param, arg in zip(func.params, args[:count], strict=True):
            if param.dtype == "handle":
                memory.append(self._position(kernel, arg))
            else:
                numbers.append((param.dtype, self._value(arg)))
        axes = [str(axis) for axis in func.attrs.get("tir.kernel_launch_params", ())]
        extents = {axis: self._constant(arg) for axis, arg in zip(axes, args[count:], strict=True)}
        return Launch(
            kernel,
            tuple(memory),
            tuple(numbers),
            along(extents, "blockIdx"),
            along(extents, "threadIdx"),
            shared_bytes(func),
            shared_bytes(func, "shared.dyn"),
        )

    def _position(self, kernel: str, pointer: PrimExpr) -> int:
        position = self._positions.get(pointer) if isinstance(pointer, Var) else None
        if position is None:
            raise LoweringError(f"launch_plan: {kernel} is given {pointer}, which the host does not allocate")
        return position


def shared_bytes(kernel: PrimFunc, scope: str = "shared") -> int:
    """Return the bytes of shared memory that a block of a kernel takes."""
    allocated = statements_of(kernel.body, Allocate)
    return sum(allocation_bytes(n) for n in allocated if pointer_scope(n.buffer_var).startswith(scope))


def along(extents: Mapping[str, int], axis: str) -> tuple[int, int, int]:
    """Return the extents of a launch along x, y and z, 1 if nothing is launched."""
    x, y, z = (extents.get(f"{axis}.{name}", 1) for name in "xyz")
    return x, y, z
