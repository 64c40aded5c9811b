"""Flattens a function to a list of kernel calls in order of evaluation."""

from __future__ import annotations

import itertools
from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

from compiler.driver.relay.groups import can_lower, element_tensors, group_calls
from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import DictAttrs
from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.names import take_name
from compiler.ir.origin import derived_from
from compiler.ir.types import Type
from compiler.relay.adt import Match
from compiler.relay.analysis.aliases import is_alias
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.transform.rewriter import typed
from compiler.relay.ty import TensorType, TupleType, tensor_types
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.modules.reference_call import Nest


@dataclass(slots=True, eq=False)
class KernelCall:
    """One call: of a kernel, of an operator's NumPy reference, or of nothing where the result is the input."""

    function: Function
    inputs: list[int]
    outputs: list[int]
    reference: bool = False
    """Whether the operator has no tensor expressions, and its NumPy reference is called."""
    alias: bool = False
    """Whether the result is the input's memory under another shape."""
    nest: list[Nest] = field(default_factory=list)
    """How the inputs are arranged: an int for a tensor, a list for a tuple."""

    @property
    def operator(self) -> RelayOp:
        """The operator of a call of a reference."""
        op = group_calls(self.function)[0].op
        assert isinstance(op, RelayOp)
        return op

    @property
    def attrs(self) -> Attrs:
        """The attributes of a call of a reference."""
        return group_calls(self.function)[0].attrs


@dataclass(slots=True, eq=False)
class GraphProgram:
    """A graph that can be run call by call; the names of its inputs differ, whatever the names of the variables are."""

    types: list[TensorType] = field(default_factory=list)
    inputs: list[tuple[str, int]] = field(default_factory=list)
    constants: list[tuple[int, NDArray]] = field(default_factory=list)
    calls: list[KernelCall] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    @property
    def constant_names(self) -> list[str]:
        """A name for each constant, which no input has."""
        taken = {name for name, _ in self.inputs}
        free = (name for name in map("p{}".format, itertools.count()) if name not in taken)
        return list(itertools.islice(free, len(self.constants)))


def graph_program(main: Function) -> GraphProgram:
    """Return the calls that a type-checked function consists of; operators outside of groups are kernels too."""
    return _GraphFlattener(main).program


def graph_values(main: Function) -> tuple[GraphProgram, Mapping[RelayExpr, list[int]]]:
    """Return the calls of a function, as :func:`graph_program` does, and the values of its expressions."""
    flattening = _GraphFlattener(main)
    return flattening.program, flattening.values


class _GraphFlattener:
    def __init__(self, main: Function) -> None:
        self.program = GraphProgram()
        self.values: MutableMapping[RelayExpr, list[int]] = {}
        self._bound: dict[Var, RelayExpr] = {}
        self._names: set[str] = set()
        for param in main.params:
            self.values[param] = self._new_values(param.checked_type)
            self._name_inputs(param)
        self._evaluate_all(main.body)
        self.program.outputs = list(self.values[main.body])

    def _evaluate_all(self, body: RelayExpr) -> None:
        """Evaluate an expression after everything that it is made of."""
        order = post_order(body, _evaluated)
        self._bound.update((let.var, let.value) for let in order if isinstance(let, Let))
        for expr in order:
            if isinstance(expr, RelayExpr) and expr not in self.values:
                self.values[expr] = self._evaluate(expr)

    def _new_values(self, of: Type) -> list[int]:
        first = len(self.program.types)
        types = tensor_types([of])
        for t in types:
            if not t.is_static:
                raise _needs_vm(f"the shape of {t} is dynamic")
        self.program.types += types
        return list(range(first, first + len(types)))

    def _name_inputs(self, param: Var) -> None:
        values = self.values[param]
        several = isinstance(param.checked_type, TupleType)
        for i, value in enumerate(values):
            name = f"{param.name_hint}_{i}" if several else param.name_hint
            self.program.inputs.append((take_name(name, self._names), value))

    def _evaluate(self, expr: RelayExpr) -> list[int]:
        match expr:
            case Constant():
                values = self._new_values(expr.tensor_type)
                self.program.constants.append((values[0], expr.data))
                return values
            case Tuple():
                return [v for part in expr.fields for v in self.values[part]]
            case TupleGetItem():
                return self.values[expr.tuple_value][element_tensors(expr)]
            case Let():
                return self.values[expr.body]
            case Var() if expr in self._bound:
                return self.values[self._bound[expr]]
            case Call() if isinstance(expr.op, (RelayOp, Function)):
                return self._call(expr)
            case _:
                raise _needs_vm(_AT_RUN_TIME.get(type(expr), f"{type(expr).__name__} is evaluated at run time"))

    def _call(self, call: Call) -> list[int]:
        if isinstance(call.op, Function) and not call.op.attrs.get("Primitive"):
            return self._inline(call.op, call.args)
        function = as_group(call)
        if not can_lower(function) and not _is_one_call(function):
            return self._inline(function, call.args)  # one of its operators has no tensor expressions
        inputs = [v for arg in call.args for v in self.values[arg]]
        return self._append(call, function, inputs)

    def _append(self, call: Call, function: Function, inputs: list[int]) -> list[int]:
        outputs = self._new_values(call.checked_type)
        made = KernelCall(function, inputs, outputs, reference=not can_lower(function), alias=is_alias(function))
        if made.reference:
            made.nest = [_nest(p.checked_type) for p in function.params]
        self.program.calls.append(made)
        return outputs

    def _inline(self, function: Function, args: Sequence[RelayExpr]) -> list[int]:
        """Evaluate what a called function does, for these arguments only."""
        outer = self.values
        given: dict[RelayExpr, list[int]] = {
            param: outer[arg] for param, arg in zip(function.params, args, strict=True)
        }
        self.values = ChainMap(given, outer)
        self._evaluate_all(function.body)
        result, self.values = self.values[function.body], outer
        return result


def _is_one_call(function: Function) -> bool:
    """Return whether a group is one operator, called with the group's parameters."""
    body = function.body
    return isinstance(body, Call) and len(group_calls(function)) == 1 and tuple(body.args) == function.params


def as_group(call: Call) -> Function:
    """Return the fused function that a call runs: its own, or one made of its single operator."""
    if isinstance(call.op, Function):
        return call.op
    params = []
    for index, arg in enumerate(call.args):
        with derived_from(arg.span):
            params.append(typed(Var(f"p{index}", arg.checked_type), arg.checked_type))
    with derived_from(call.span):
        body = typed(Call(call.op, tuple(params), call.attrs, call.type_args), call.checked_type)
        return Function(tuple(params), body, call.checked_type, (), DictAttrs(Primitive=1))


def _evaluated(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what is evaluated before an expression: neither operators nor the inside of kernels."""
    if isinstance(expr, Call):
        inline = isinstance(expr.op, (RelayOp, Function))
        return expr.args if inline else (expr.op, *expr.args)
    return () if isinstance(expr, Function) else operands(expr)


def _nest(t: Type) -> Nest:
    return [_nest(field) for field in t.fields] if isinstance(t, TupleType) else 1


_AT_RUN_TIME: dict[type[RelayExpr], str] = {
    If: "a branch (if) is chosen at run time",
    Match: "a clause (match) is chosen at run time",
    Function: "a function, such as the body of a loop, is called at run time",
}
"""What a graph executor, which runs a fixed list of kernels, cannot do."""


def _needs_vm(why: str) -> ArgumentError:
    instead = 'relay.vm.compile, or relay.create_executor("vm")'
    return ArgumentError(f"relay.build: this graph needs the virtual machine ({instead}): {why}")
