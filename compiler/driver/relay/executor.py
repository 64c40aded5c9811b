"""``relay.create_executor``: a graph as a callable."""

from __future__ import annotations

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
from compiler.relay.expr import Constant, Expr, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.interpreter import Interpreter, RefValue, rebuilt
from compiler.relay.ty import TupleType
from compiler.runtime.aot_executor import AotModule
from compiler.runtime.container import ADT
from compiler.runtime.device import Device, cpu
from compiler.runtime.graph_module import GraphModule
from compiler.runtime.model_module import ModelModule
from compiler.runtime.named_arguments import arguments_in_order
from compiler.runtime.ndarray import ArrayLike, NDArray, array

KINDS = ("debug", "graph", "vm", "aot")
"""By interpreter, operator by operator; by a flat list of kernels; by the virtual machine; by a compiled function."""

Argument = ArrayLike | ADT | Constant | tuple["Argument", ...] | list["Argument"]
"""What a function is called with: an array, or a tuple of such."""
Result = NDArray | ADT | list["Result"]


class Executor:
    """Evaluates functions of a module.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    mod : IRModule
        Whose functions are evaluated.
    device : Device
        Where they run.
    target : str, Target or mapping
        What code is generated for.
    params : mapping of str to array
        Constant parameters of ``main``.
    """

    def __init__(
        self, kind: str, mod: IRModule, device: Device, target: TargetLike, params: Mapping[str, ArrayLike]
    ) -> None:
        self.kind = kind
        self.mod = mod
        self.device = device
        self.target = target
        self._params = params

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Var | str, ArrayLike | Constant] | None = None) -> Any:
        """Return a function as a Python function, or the value of an expression.

        Parameters
        ----------
        expr : Expr, optional
            The module's ``main`` when left out.
        binds : mapping of Var or str to array or Constant, optional
            Values of parameters, by variable or name.

        Returns
        -------
        callable, or NDArray, tuple, …
            An expression that is not a function and has no free variables is evaluated at once.
        """
        module, is_function = self._module_of(expr)
        values: dict[Var | str, ArrayLike | Constant] = dict(self._params.items())
        values.update(binds or {})
        module = bind_params(module, values)
        run: Callable[..., Any] = {
            "debug": self._debug,
            "graph": self._graph,
            "vm": self._vm,
            "aot": self._aot,
        }[self.kind](module)

        def call(*args: Argument, **inputs: Argument) -> Any:
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

    def _graph(self, module: IRModule) -> Callable[..., Any]:
        lib = build_graph(module, build_target(self.target))
        return _runs_model(module, GraphModule(lib["default"](self.device)))

    def _aot(self, module: IRModule) -> Callable[..., Any]:
        lib = build(module, self.target, executor="aot")
        return _runs_model(module, AotModule(lib["default"](self.device)))

    def _vm(self, module: IRModule) -> Callable[..., Any]:
        machine = vm.VirtualMachine(vm.compile(module, self.target), self.device)
        return machine.run

    def _debug(self, module: IRModule) -> Callable[..., Any]:
        interpreter = Interpreter(module)
        names = [p.name_hint for p in module["main"].params]

        def call(*args: Argument, **inputs: Argument) -> Any:
            return runtime_value(
                interpreter.evaluate("main", arguments_in_order("evaluate: the function", names, args, inputs))
            )

        return call


def _runs_model(module: IRModule, executor: ModelModule) -> Callable[..., Any]:
    """Return what sets the inputs of a built model, runs it, and returns its outputs."""
    main = infer_module(module)["main"]

    def call(*args: Argument, **inputs: Argument) -> Any:
        values = arguments_in_order("evaluate: the function", [p.name_hint for p in main.params], args, inputs)
        leaves = [leaf for p, value in zip(main.params, values, strict=True) for leaf in _leaves(p.checked_type, value)]
        for index, leaf in enumerate(leaves):
            executor.set_input(index, leaf)
        executor.run()
        outputs = iter([array(executor.get_output(i)) for i in range(executor.get_num_outputs())])
        return _lists(main.body.checked_type, outputs)

    return call


def _lists(t: Type, outputs: Iterator[NDArray]) -> Any:
    """Return the outputs of a model as its result: tuples are lists, as those of TVM's executors of models."""
    return [_lists(field, outputs) for field in t.fields] if isinstance(t, TupleType) else next(outputs)


def _plain(value: Argument) -> Argument:
    """Return an argument with arrays in the place of constants of graphs."""
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(part) for part in value)
    return value.data if isinstance(value, Constant) else value


def _leaves(t: Type, value: Argument) -> list[ArrayLike]:
    """Return the arrays that an argument consists of: the parts of a tuple are inputs of their own."""
    if not isinstance(t, TupleType):
        return [value if isinstance(value, NDArray) else np.asarray(value)]
    if not isinstance(value, (tuple, list, ADT)) or len(value) != len(t.fields):
        raise ArgumentError(f"evaluate: expected a tuple of {len(t.fields)} values, got {show(value)}")
    return [leaf for field, part in zip(t.fields, value, strict=True) for leaf in _leaves(field, part)]


def runtime_value(value: object) -> object:
    """Return a value of the interpreter as the other executors return it.

    Parameters
    ----------
    value : object
        Of the interpreter: an array of NumPy, a tuple, a value of a data type, a cell or a function.

    Returns
    -------
    object
        Arrays are NDArrays, tuples :class:`~compiler.runtime.container.ADT`.
    """
    return rebuilt(value, _runtime_leaf, lambda fields: ADT(0, fields))


def _runtime_leaf(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return array(value)
    return RefValue(runtime_value(value.value)) if isinstance(value, RefValue) else value


class GraphExecutor(Executor):
    """Evaluates functions by a flat list of kernels.

    Parameters
    ----------
    mod : IRModule
    device : Device
    target : str, Target or mapping
    params : mapping of str to array_like, optional
        Values of parameters of the functions.
    """

    def __init__(
        self, mod: IRModule, device: Device, target: TargetLike, params: Mapping[str, ArrayLike] | None = None
    ) -> None:
        super().__init__("graph", mod, device, target, params or {})


class AotExecutor(Executor):
    """Evaluates functions by one that calls their kernels, compiled as they are.

    Parameters
    ----------
    mod : IRModule
    device : Device
    target : str, Target or mapping
    params : mapping of str to array_like, optional
        Values of parameters of the functions.
    """

    def __init__(
        self, mod: IRModule, device: Device, target: TargetLike, params: Mapping[str, ArrayLike] | None = None
    ) -> None:
        super().__init__("aot", mod, device, target, params or {})


class VMExecutor(Executor):
    """Evaluates functions by the virtual machine.

    Parameters
    ----------
    mod : IRModule
    device : Device
    target : str, Target or mapping
    params : mapping of str to array_like, optional
        Values of parameters of the functions.
    """

    def __init__(
        self, mod: IRModule, device: Device, target: TargetLike, params: Mapping[str, ArrayLike] | None = None
    ) -> None:
        super().__init__("vm", mod, device, target, params or {})


@renamed_parameter("ctx", "device")
def create_executor(
    kind: str = "debug",
    mod: IRModule | Function | None = None,
    device: Device | None = None,
    target: TargetLike = "llvm",
    params: Mapping[str, ArrayLike] | None = None,
) -> Executor:
    """Return what evaluates functions of a module.

    Parameters
    ----------
    kind : str
        ``debug`` interprets operator by operator with NumPy, ``graph`` runs kernels in a fixed order, ``aot`` a
        compiled function that calls them, ``vm`` the virtual machine, which has control flow, recursion and dynamic
        shapes.
    mod : IRModule or Function, optional
        Whose functions are evaluated.
    device : Device, optional
        Where they run; the CPU when left out.
    target : str or Target
        What code is generated for.
    params : mapping of str to array, optional
        Constant parameters of ``main``.

    Returns
    -------
    Executor

    Raises
    ------
    ArgumentError
        If there is no such kind, or ``mod`` is neither.

    Examples
    --------
    ::

        relay.create_executor("graph", mod=mod).evaluate()(x)
    """
    if kind not in KINDS:
        expected("create_executor", "kind", f"one of {', '.join(map(repr, KINDS))}", kind)
    if isinstance(mod, Function):
        mod = IRModule({"main": mod})
    if mod is not None and not isinstance(mod, IRModule):
        expected("create_executor", "mod", "an IRModule or a Function of a graph", mod)
    given: Any = mod or IRModule(), device or cpu(), target, params or {}
    if kind == "debug":
        return Executor(kind, *given)
    return {"graph": GraphExecutor, "aot": AotExecutor, "vm": VMExecutor}[kind](*given)
