"""``relay.create_executor``: a graph as a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from compiler.driver.relay import vm
from compiler.driver.relay.build import TargetLike, as_module, build
from compiler.driver.relay.params import bind_params
from compiler.ir.error import ArgumentError, expected
from compiler.ir.module import IRModule, as_function
from compiler.ir.types import Type
from compiler.relay.expr import Expr, Function, Var
from compiler.relay.inference import infer_module
from compiler.relay.interpreter import Interpreter
from compiler.relay.ty import TupleType
from compiler.runtime.device import Device, cpu
from compiler.runtime.graph_module import GraphModule
from compiler.runtime.ndarray import ArrayLike, NDArray, array

KINDS = ("debug", "graph", "vm")
"""By interpreter, operator by operator; by a flat list of kernels; by the virtual machine."""

Argument = ArrayLike | tuple["Argument", ...] | list["Argument"]
"""What a function is called with: an array, or a tuple of such."""
Result = NDArray | tuple["Result", ...]


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

    def evaluate(self, expr: Expr | None = None, binds: Mapping[Var | str, ArrayLike] | None = None) -> Any:
        """Return a function as a Python function, or the value of an expression.

        Parameters
        ----------
        expr : Expr, optional
            The module's ``main`` when left out.
        binds : mapping of str to array, optional
            Values of parameters, by variable or name.

        Returns
        -------
        callable, or NDArray, tuple, …
            An expression that is no function and has no free variables is evaluated at once.
        """
        module, is_function = self._module_of(expr)
        named = {str(getattr(k, "name_hint", k)): v for k, v in (binds or {}).items()}
        module = bind_params(module, {**self._params, **named})
        call: Callable[..., Any] = {"debug": self._debug, "graph": self._graph, "vm": self._vm}[self.kind](module)
        if is_function or module["main"].params:
            return call
        return call()

    def _module_of(self, expr: Expr | None) -> tuple[IRModule, bool]:
        if expr is None:
            return as_module("create_executor", self.mod), True
        function = as_function(expr)
        others = {var: f for var, f in self.mod.items() if var.name_hint != "main"}
        main = {next((v for v in self.mod if v.name_hint == "main"), "main"): function}
        return IRModule({**others, **main}, self.mod.attrs, self.mod.type_definitions), isinstance(expr, Function)

    def _graph(self, module: IRModule) -> Callable[..., Any]:
        result = infer_module(module)["main"].body.checked_type
        lib = build(module, self.target)
        executor = GraphModule(lib["default"](self.device))
        names = [p.name_hint for p in module["main"].params]

        def call(*args: Argument, **inputs: Argument) -> Any:
            for name, value in _by_name(names, args, inputs).items():
                _set(executor, name, value)
            executor.run()
            outputs = iter([array(executor.get_output(i)) for i in range(executor.get_num_outputs())])
            return _arranged(result, outputs)

        return call

    def _vm(self, module: IRModule) -> Callable[..., Any]:
        machine = vm.VirtualMachine(vm.compile(module, self.target), self.device)
        return machine.run

    def _debug(self, module: IRModule) -> Callable[..., Any]:
        interpreter = Interpreter(module)
        names = [p.name_hint for p in module["main"].params]

        def call(*args: Argument, **inputs: Argument) -> Any:
            return _arrays(interpreter.evaluate("main", list(_by_name(names, args, inputs).values())))

        return call


def _by_name(names: list[str], args: tuple[Argument, ...], inputs: dict[str, Argument]) -> dict[str, Argument]:
    """Return arguments by name, in the order of the parameters."""
    unknown = [n for n in inputs if n not in names[len(args) :]]
    if unknown or len(args) + len(inputs) != len(names):
        given = f"{len(args)} arguments" + (f" and {', '.join(inputs)}" if inputs else "")
        raise ArgumentError(f"evaluate: the function takes ({', '.join(names)}), got {given}")
    return {**dict(zip(names, args, strict=False)), **{n: inputs[n] for n in names[len(args) :]}}


def _set(executor: GraphModule, name: str, value: Argument) -> None:
    """Set an input; the parts of a tuple are inputs of their own."""
    if not isinstance(value, (tuple, list)):
        executor.set_input(name, value)
    elif name in executor.module.input_names:
        executor.set_input(name, np.asarray(value))
    else:
        for index, part in enumerate(_flat(value)):
            executor.set_input(f"{name}_{index}", part)


def _flat(value: Argument) -> list[ArrayLike]:
    return [a for part in value for a in _flat(part)] if isinstance(value, (tuple, list)) else [value]


def _arranged(t: Type, outputs: Iterator[NDArray]) -> Result:
    if isinstance(t, TupleType):
        return tuple([_arranged(field, outputs) for field in t.fields])
    return next(outputs)


def _arrays(value: object) -> object:
    """Return a value of the interpreter with arrays as the other executors return them."""
    if isinstance(value, tuple):
        return tuple([_arrays(part) for part in value])
    return array(value) if isinstance(value, (np.ndarray, np.generic)) else value


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
        ``debug`` interprets operator by operator with NumPy, ``graph`` runs kernels in a fixed order, ``vm`` the
        virtual machine, which has control flow, recursion and dynamic shapes.
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
    return Executor(kind, mod or IRModule(), device or cpu(), target, params or {})
