"""``relay.create_executor`` and the executors that it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from compiler.driver.relay import vm
from compiler.driver.relay.build import TargetLike, as_module, build, build_graph, build_target
from compiler.driver.relay.params import bind_params
from compiler.ir.deprecation import renamed_parameter
from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.function import GlobalVar, as_function
from compiler.ir.module import IRModule
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies
from compiler.relay.interpreter import Interpreter, RefValue, rebuilt
from compiler.relay.operator import RelayOp
from compiler.relay.transform.fold.fold_constant import is_custom
from compiler.relay.ty import TupleType
from compiler.runtime.arrays.named_arguments import arguments_in_order
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.container import ADT
from compiler.runtime.device import Device, cpu
from compiler.runtime.graph.aot_executor import AotModule
from compiler.runtime.graph.graph_module import GraphModule
from compiler.runtime.graph.model_module import ModelModule

Argument = ArrayLike | ADT | Constant | tuple["Argument", ...] | list["Argument"]
"""An argument of an evaluated function: an array, or a tuple of arguments."""
Result = NDArray | ADT | list["Result"]


class Executor(ABC):
    """Evaluates functions and expressions of a module; ``params`` are bound as constants of ``main``."""

    def __init__(
        self, mod: IRModule, device: Device, target: TargetLike, params: Mapping[str, ArrayLike] | None = None
    ) -> None:
        self.mod = mod
        self.device = device
        self.target = target
        self._params = params or {}

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Var | str, ArrayLike | Constant] | None = None) -> Any:
        """Compile a function, or an expression with free variables, to a Python callable, or evaluate an expression.

        By default the function is the module's ``main``; ``binds`` are values of parameters by variable or name.
        """
        module, is_function = self._module_of(expr)
        values: dict[Var | str, ArrayLike | Constant] = dict(self._params.items())
        values.update(binds or {})
        module = bind_params(module, values)
        run = self._compile(module)

        def call(*args: Argument, **inputs: Argument) -> object:
            return run(*map(_plain, args), **{name: _plain(value) for name, value in inputs.items()})

        if is_function or module["main"].params:
            return call
        return call()

    def _module_of(self, expr: Expr | None) -> tuple[IRModule, bool]:
        if expr is None:
            return as_module("create_executor", self.mod), True
        if isinstance(expr, GlobalVar):
            functions = {**self.mod.functions, GlobalVar("main"): self.mod[expr]}
            named = {var: f for var, f in functions.items() if var.name_hint != "main" or f is self.mod[expr]}
            return self._with_functions(named), True
        function = as_function(expr)
        others = {var: f for var, f in self.mod.items() if var.name_hint != "main"}
        main = {next((v for v in self.mod if v.name_hint == "main"), "main"): function}
        return self._with_functions({**others, **main}), isinstance(expr, Function)

    def _with_functions(self, functions: Mapping[Any, Any]) -> IRModule:
        return IRModule(functions, self.mod.type_definitions, self.mod.attrs, self.mod.global_infos)

    @abstractmethod
    def _compile(self, module: IRModule) -> Callable[..., object]:
        """Return a callable that runs the ``main`` of a module."""


class InterpreterExecutor(Executor):
    """Interprets functions, operator by operator, with NumPy; what does not type-check is refused before it runs."""

    def _compile(self, module: IRModule) -> Callable[..., object]:
        module = infer_copies(module)
        interpreter = _Interpreter(module, self.target)
        names = [p.name_hint for p in module["main"].params]

        def call(*args: Argument, **inputs: Argument) -> object:
            ordered = arguments_in_order("evaluate: the function", names, args, inputs)
            return runtime_value(interpreter.evaluate("main", ordered))

        return call


class _Interpreter(Interpreter):
    """Computes with NumPy, and compiles operators on data types that the program registered, which NumPy lacks."""

    def __init__(self, module: IRModule, target: TargetLike) -> None:
        super().__init__(module)
        self._target = target
        self._kernels: dict[Call, Callable[..., Any]] = {}

    def operator(self, op: RelayOp, call: Call, args: tuple[object, ...]) -> Any:
        types = [expr.checked_type for expr in (call, *call.args)]
        if not any(map(is_custom, types)):
            return super().operator(op, call, args)
        if call not in self._kernels:
            params = tuple(Var(f"p{number}", t) for number, t in enumerate(types[1:]))
            function = Function(params, Call(op, params, call.attrs))
            self._kernels[call] = GraphExecutor(IRModule.from_expr(function), cpu(), self._target).evaluate()
        return rebuilt(self._kernels[call](*args), lambda leaf: leaf.numpy(), tuple)


class GraphExecutor(Executor):
    """Runs functions with the graph executor, which calls kernels in a fixed order."""

    def _compile(self, module: IRModule) -> Callable[..., object]:
        lib = build_graph(module, build_target(self.target, devices=True))
        return _model_runner(module, GraphModule(lib["default"](self.device)))


class AotExecutor(Executor):
    """Runs functions compiled ahead of time, each to one function that calls the kernels."""

    def _compile(self, module: IRModule) -> Callable[..., object]:
        lib = build(module, self.target, executor="aot")
        return _model_runner(module, AotModule(lib["default"](self.device)))


class VMExecutor(Executor):
    """Runs functions on the virtual machine."""

    def _compile(self, module: IRModule) -> Callable[..., object]:
        return vm.VirtualMachine(vm.compile(module, self.target), self.device).run


EXECUTORS: dict[str, type[Executor]] = {
    "debug": InterpreterExecutor,
    "graph": GraphExecutor,
    "vm": VMExecutor,
    "aot": AotExecutor,
}
"""The executors by the kinds that :func:`create_executor` takes."""


def _model_runner(module: IRModule, executor: ModelModule) -> Callable[..., object]:
    """Return a function that sets the inputs of a built model, runs it, and returns its outputs."""
    main = infer_copies(module)["main"]

    def call(*args: Argument, **inputs: Argument) -> object:
        values = arguments_in_order("evaluate: the function", [p.name_hint for p in main.params], args, inputs)
        leaves = [leaf for p, value in zip(main.params, values, strict=True) for leaf in _leaves(p.checked_type, value)]
        for index, leaf in enumerate(leaves):
            executor.set_input(index, leaf)
        executor.run()
        outputs = iter([array(executor.get_output(i)) for i in range(executor.get_num_outputs())])
        return _lists(main.body.checked_type, outputs)

    return call


def _lists(t: Type, outputs: Iterator[NDArray]) -> object:
    """Nest the flat outputs of a model as its result type does, in lists, as TVM's graph executor does."""
    return [_lists(field, outputs) for field in t.fields] if isinstance(t, TupleType) else next(outputs)


def _plain(value: Argument) -> Argument:
    """Replace Relay constants within an argument by their arrays."""
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(part) for part in value)
    return value.data if isinstance(value, Constant) else value


def _leaves(t: Type, value: Argument) -> list[ArrayLike]:
    """Flatten an argument into arrays: each field of a tuple is an input of its own."""
    if not isinstance(t, TupleType):
        return [value if isinstance(value, NDArray) else np.asarray(value)]
    if not isinstance(value, (tuple, list, ADT)) or len(value) != len(t.fields):
        raise ArgumentError(f"evaluate: expected a tuple of {len(t.fields)} values, got {show(value)}")
    return [leaf for field, part in zip(t.fields, value, strict=True) for leaf in _leaves(field, part)]


def runtime_value(value: object) -> object:
    """Convert a value of the interpreter to what the other executors return."""
    return rebuilt(value, _runtime_leaf, lambda fields: ADT(0, fields))


def _runtime_leaf(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return array(value)
    return RefValue(runtime_value(value.value)) if isinstance(value, RefValue) else value


@renamed_parameter("ctx", "device")
def create_executor(
    kind: str = "debug",
    mod: IRModule | Function | None = None,
    device: Device | None = None,
    target: TargetLike = "llvm",
    params: Mapping[str, ArrayLike] | None = None,
) -> Executor:
    """Create an executor for the functions of a module, on the CPU by default.

    Parameters
    ----------
    kind : str
        ``debug`` interprets operator by operator with NumPy; ``graph`` runs kernels in a fixed order; ``aot`` runs one
        compiled function that calls the kernels; ``vm`` is the virtual machine, which supports control flow, recursion
        and dynamic shapes.
    params : mapping of str to array, optional
        Values of parameters of ``main``, bound as constants.

    Examples
    --------
    ::

        relay.create_executor("graph", mod=mod).evaluate()(x)
    """
    if kind not in EXECUTORS:
        expected("create_executor", "kind", f"one of {', '.join(map(repr, EXECUTORS))}", kind)
    if isinstance(mod, Function):
        mod = IRModule({"main": mod})
    if mod is not None and not isinstance(mod, IRModule):
        expected("create_executor", "mod", "an IRModule or a Function of a graph", mod)
    return EXECUTORS[kind](mod or IRModule(), device or cpu(), target, params)
