"""Registration of operators, and the public functions and names that follow from it.

One call of :func:`register` is all that an operator needs: it returns the public function, which ``relay`` exports
under the operator's name (``nn.conv2d`` as ``relay.nn.conv2d``), with a signature and documentation made of the row.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs, attr_fields
from compiler.ir.error import ArgumentError, unknown_name
from compiler.ir.extension import extension_point
from compiler.ir.op import add_op, registered_ops
from compiler.ir.types import Type
from compiler.relay.accumulation import ACCUMULATING, reference_in_float32
from compiler.relay.expr import Call, Constant, Expr, TupleWrapper, array_const
from compiler.relay.named_layouts import named_layout_rule
from compiler.relay.op_documentation import Documentation, Parameter
from compiler.relay.operator import (
    AlterLayout,
    Completion,
    Compute,
    Gradient,
    Input,
    LayoutRule,
    OpPattern,
    Reference,
    Relation,
    RelayOp,
    ScheduleRule,
    StaticForm,
)
from compiler.te.definition.tensor import Tensor

A = TypeVar("A", bound=Attrs)
OlderOrder = Callable[[tuple[object, ...]], tuple[object, ...]]
"""From arguments in the order of an older release to the same in the order of today."""
Definition = Callable[..., Any]
"""From te.Tensors and values of attributes to a te.Tensor, or a list of them."""
F = TypeVar("F", bound=Callable[..., Any])


def _public_name(op: RelayOp) -> str:
    """Return the path of an operator's function in ``relay``, which some operators' names begin with."""
    return op.name.lower().removeprefix("relay.op.")


class OpFunction(Protocol):
    """The public function of an operator."""

    op: RelayOp
    __name__: str
    __doc__: str | None

    def __call__(self, *args: object, **attrs: object) -> Call:
        """Return the call of the operator."""


_PUBLIC: dict[str, Callable[..., Any]] = {}
"""The public functions by name, in lower case as Python's are: ``add``, ``nn.conv2d``."""
_ONNX: dict[str, RelayOp] = {}
"""The operators that an ONNX operator is one to one, by its name."""


class Row(TypedDict, Generic[A], total=False):
    """What a registration may leave out: fields of :class:`~compiler.relay.operator.RelayOp`, which documents them."""

    complete: Completion[A] | None
    pattern: OpPattern
    compute: Compute[A] | None
    schedule: ScheduleRule[A] | None
    gradient: Gradient | None
    stateful: bool
    alter_layout: AlterLayout | None
    layout: LayoutRule[A] | None
    static_form: StaticForm | None
    onnx: str
    spelt_out: tuple[str, ...]
    parameters: tuple[str, ...]
    returns: str
    references: tuple[str, ...]
    waived: Mapping[str, str]
    rules: Mapping[str, Callable[..., Any]]


def register(
    name: str,
    *,
    doc: str,
    inputs: Mapping[str, str | Input],
    relation: Relation[A],
    attrs: type[A] | None = None,
    reference: Reference | None = None,
    definition: Definition | None = None,
    topi: Definition | None = None,
    older_order: OlderOrder | None = None,
    **row: Unpack[Row[A]],
) -> OpFunction:
    """Register an operator under a name that is still free and return its public function.

    Parameters
    ----------
    name : str
        As Relay spells it, e.g. ``nn.conv2d``; the public function has the same name.
    definition : callable, optional
        The definition as a tensor expression, in place of ``compute``: its parameters called like attributes take
        those, the others the inputs in their order.
    topi : callable, optional
        A definition that stands beside the row, which ``topi`` exports under ``name``.
    older_order : callable, optional
        From the arguments given by position to those in the order of today, where older programs had another one.
    """
    if attrs is not None:
        attrs.__doc__ = attrs.__doc__ or f"Attributes of ``{name}``."
    if "compute" not in row and (definition := definition or topi):
        row["compute"] = _computed_by(definition, inputs, attrs or Attrs)
    op = RelayOp(
        name,
        reference=reference_in_float32(reference) if reference is not None and name in ACCUMULATING else reference,
        doc=doc,
        inputs={n: i if isinstance(i, Input) else Input(i) for n, i in inputs.items()},
        attrs_type=attrs or Attrs,
        relation=relation,
        **row,
    )
    op.layout = op.layout or named_layout_rule(op)
    add_op(op)
    if op.onnx:
        _ONNX[op.onnx] = op
    if topi is not None:
        _export_definition(name, topi)
    function: OpFunction = _publish(op, _call_function(op, older_order), _caller())
    return function


def _computed_by(definition: Definition, inputs: Mapping[str, str | Input], attrs: type[Attrs]) -> Compute[Any]:
    names = list(inspect.signature(definition).parameters)
    named = [name for name in names if name in attr_fields(attrs)]
    others = [name for name in names if name not in named]
    has_list = any(isinstance(i, Input) and i.is_list for i in inputs.values())

    def compute(attrs: Attrs, tensors: list[Tensor], out_type: Type) -> list[Tensor]:
        given = [tensors] if has_list else tensors
        arguments = dict(zip(others, given, strict=False)) | {name: attrs[name] for name in named}
        result = definition(**arguments)
        return result if isinstance(result, list) else [result]

    return compute


def _export_definition(name: str, definition: Definition) -> None:
    """Let ``topi`` have the definition of an operator under the operator's name."""
    namespace, _, short = name.rpartition(".")
    definition.__name__ = definition.__qualname__ = short
    extension_point(f"tvm.topi.{namespace}".rstrip(".")).add(short, lambda: definition)


def _caller() -> str:
    """Return the module that registers an operator: its public function is defined there."""
    return str(sys._getframe(2).f_globals["__name__"])


def _publish(op: RelayOp, function: Any, module: str) -> Any:
    """Give a public function its documentation and enter it under the operator's name."""
    documentation = op.documentation
    namespace, _, function.__name__ = op.name.lower().rpartition(".")
    function.__qualname__ = function.__name__
    function.__module__ = module
    function.__doc__ = documentation.docstring()
    function.__signature__ = documentation.signature()
    function.op = op
    _PUBLIC[_public_name(op)] = function
    if not namespace:
        extension_point("tvm.relay").add(function.__name__, lambda: function)
    return function


def _call_function(op: RelayOp, older_order: OlderOrder | None) -> Callable[..., Call]:
    order = op.parameters or (*op.inputs, *op.attributes)

    def function(*args: object, **given: object) -> Call:
        args = args if older_order is None else older_order(args)
        if len(args) > len(order):
            raise ArgumentError(
                f"{op.name}: takes at most {len(order)} arguments ({', '.join(order)}), got {len(args)}"
            )
        if given and (twice := given.keys() & order[: len(args)]):
            raise ArgumentError(f"{op.name}: {min(twice)} is given twice")
        given.update(zip(order, args, strict=False))
        return _call(op, given)

    return function


def _call(op: RelayOp, values: dict[str, object]) -> Call:
    """Return the call of an operator with inputs and attributes by name.

    An attribute that is a constant counts as its numbers; one that is another expression makes the call of the operator
    ``dyn.…`` that has it as an argument.
    """
    inputs = []
    for name, row in op.inputs.items():
        value = values.pop(name, row.default)
        if value is REQUIRED:
            raise ArgumentError(f"{op.name}: {name} must be given")
        inputs.append(value)
    dynamic = ""
    for name, value in values.items():
        if isinstance(value, Constant):
            values[name] = value.value.tolist()
        elif isinstance(value, Expr):
            dynamic = dynamic or name
    if dynamic:
        return _dynamic_call(op, dict(zip(op.inputs, inputs, strict=True)), values, dynamic)
    return op(*inputs, **values)


def _dynamic_call(op: RelayOp, inputs: Mapping[str, object], attrs: Mapping[str, object], name: str) -> Call:
    dynamic = registered_ops().get(f"dyn.{op.name}")
    if not isinstance(dynamic, RelayOp) or name not in dynamic.inputs:
        raise ArgumentError(f"{op.name}: {name} must be known while compiling, got an expression")
    arguments = []
    for argument in dynamic.inputs:
        value = inputs[argument] if argument in inputs else attrs.get(argument)
        if not isinstance(value, Expr) and argument not in inputs:
            value = _constant_argument(op, argument, attrs)
        arguments.append(value)
    rest = {n: v for n, v in attrs.items() if n not in dynamic.inputs}
    return dynamic(*arguments, **rest)


def _constant_argument(op: RelayOp, name: str, attrs: Mapping[str, object]) -> Constant:
    """Return an attribute that is known as the argument of the dynamic operator; nothing given is an empty vector."""
    value = op.attrs_type.value_of(op.name, name, attrs)
    numbers = np.asarray(() if value is None else value)
    is_real = numbers.dtype.kind == "f" or value is None or isinstance(value, float)
    return array_const(numbers.astype("float32" if is_real else "int64"))


class TupleFunction(Protocol):
    """The public function of an operator with several results."""

    op: RelayOp
    __name__: str
    __doc__: str | None

    def __call__(self, *args: object, **attrs: object) -> TupleWrapper:
        """Return the call of the operator, to be indexed and unpacked."""


def tuple_function(function: OpFunction, size: int | Callable[[Call], int | None]) -> TupleFunction:
    """Let the public function of an operator whose result is a tuple return it unpacked.

    ``size`` is how many values the tuple has, or what tells it from the call; None if its result is not a tuple.
    """
    op = function.op
    op.result_type = "TupleWrapper"

    def unpacked(*args: object, **given: object) -> TupleWrapper | Call:
        call = function(*args, **given)
        count = size if isinstance(size, int) else size(call)
        return call if count is None else TupleWrapper(call, count)

    made: TupleFunction = _publish(op, unpacked, _caller())
    return made


def public_function(row: OpFunction | TupleFunction, **docs: str) -> Callable[[F], F]:
    """Make a function the public one of an operator, where the row alone does not say how a call is made.

    Its documentation is its own first paragraph, and of each parameter what the row says; ``docs`` describes those that
    are neither inputs nor attributes, as ``type: text``.
    """
    op = row.op

    def enter(function: F) -> F:
        signature = inspect.signature(function)
        op.documented = Documentation(
            summary=" ".join((function.__doc__ or op.doc).split()),
            parameters=tuple(_described(op, p, docs) for p in signature.parameters.values()),
            returns=op.documentation.returns,
            result_type=str(signature.return_annotation),
            references=op.references,
        )
        made: F = _publish(op, function, function.__module__)
        return made

    return enter


def _described(op: RelayOp, parameter: inspect.Parameter, docs: Mapping[str, str]) -> Parameter:
    name = parameter.name
    default = REQUIRED if parameter.default is parameter.empty else parameter.default
    if name in docs:
        type_name, _, text = docs[name].partition(": ")
        return Parameter(name, type_name, text, default)
    if name in op.inputs:
        return Parameter(name, "Expr", op.inputs[name].doc, default)
    declared = op.attributes[name]
    return Parameter(name, declared.kind.type_name, declared.doc, default)


def composite(function: F) -> F:
    """Export a function that is made of operators under its own name, in the namespace of its package."""
    _, _, below = function.__module__.partition("compiler.relay.op.")
    namespace = below.rpartition(".")[0]
    _PUBLIC[f"{namespace}.{function.__name__}".lstrip(".")] = function
    return function


def load_operators(package: dict[str, Any], namespace: str) -> list[str]:
    """Import every module of a package of operators, bind the public functions in it and return all public names.

    ``namespace`` stands before the names of its operators, e.g. ``nn``; empty for none.
    """
    subpackages = []
    for module in pkgutil.iter_modules(package["__path__"]):
        importlib.import_module(f"{package['__name__']}.{module.name}")
        if module.ispkg:
            subpackages.append(module.name)
    functions = public_functions(namespace)
    package.update(functions)
    return sorted([*functions, *subpackages])


def public_function_of(op: RelayOp) -> Callable[..., Any]:
    """Return the public function of an operator."""
    return _PUBLIC[_public_name(op)]


def operator_of_onnx(name: str) -> RelayOp | None:
    """Return the operator that an ONNX operator is one to one, if its row names one."""
    return _ONNX.get(name)


def onnx_operators() -> list[str]:
    """Return the names of the ONNX operators that rows name."""
    return sorted(_ONNX)


def public_functions(namespace: str) -> dict[str, Callable[..., Any]]:
    """Return the public functions of a namespace by name."""
    prefix = f"{namespace}." if namespace else ""
    return {
        name[len(prefix) :]: function
        for name, function in _PUBLIC.items()
        if name.startswith(prefix) and "." not in name[len(prefix) :]
    }


def find_public(namespace: str, name: str) -> Any:
    """Return a public function that was registered after its package was loaded."""
    functions = public_functions(namespace)
    if name not in functions:
        raise unknown_name(f"tvm.relay.{namespace}".rstrip("."), name, functions)
    return functions[name]
