"""ManifestAlloc: the memory of every kernel's results, and the shapes that must be computed for it, as expressions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr import RelayExpr
from compiler.ir.function import BaseFunc, GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import ModulePass, PassContext
from compiler.ir.types import Type
from compiler.relay.adt import Match
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, GraphExpr, If, Let, Tuple, TupleGetItem, Var, array_const
from compiler.relay.function import Function, is_primitive
from compiler.relay.inference import infer_module
from compiler.relay.operator import RelayOp, call_op
from compiler.relay.standard_modules import define_storage
from compiler.relay.transform.normal_form.to_a_normal_form import ToANormalForm
from compiler.relay.ty import TensorType, TupleType, tensor_types
from compiler.runtime.device import cpu
from compiler.target.virtual_device import VirtualDevice

_ALIGNMENT = 64
_BY_ALL_VALUES = ("arange", "argwhere", "sparse_fill_empty_rows")
"""Operators without a static form whose result has as many elements as the values of the arguments say."""


class ManifestAlloc(ModulePass, required=("InferType",)):
    """Write down the memory that a virtual machine allocates: for every call of a fused function.

    Level 0; requires InferType.  The results of a call get storage and tensors in it, and the call,
    ``vm.invoke_tvm_op``, writes to these.  Where the shape of a result is unknown, ``vm.shape_func`` computes it first.
    The program is brought to A-normal form.  The memory is that of ``host_virtual_device``; by default the CPU's.

    Examples
    --------
    ``ManifestAlloc()``::

        def @main(%x: Tensor[(3), float32]) {
          %0 = fn (%p: Tensor[(3), float32], Primitive=1) { exp(%p) };
          %0(%x)
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %kernel = fn (%p: Tensor[(3), float32], Primitive=1) { exp(%p) };
          let %storage_0 = memory.alloc_storage(12i64, 64i64);
          let %tensor_0 = memory.alloc_tensor(%storage_0, 0i64, meta[relay.Constant][0]);
          let %_ = vm.invoke_tvm_op(%kernel, (%x,), (%tensor_0,));
          %tensor_0
        }
    """

    host_virtual_device: VirtualDevice | None = None

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod = infer_module(ToANormalForm()(mod))
        device = self.host_virtual_device or VirtualDevice(cpu())
        functions = {var: _manifested(func, mod, device) for var, func in mod.items()}
        made = mod.with_functions(functions)
        define_storage(made)
        return infer_module(made)


def _manifested(func: BaseFunc, mod: IRModule, device: VirtualDevice) -> BaseFunc:
    """Return a function of the program with its memory written down; one that is compiled to a kernel as it is."""
    if not isinstance(func, Function) or is_primitive(func) or func.attrs.get("Compiler"):
        return func
    return rebuild(func, body=_Scope(mod, device, {}).block(func.body))


class _Scope:
    """Lines that are written one after the other, and what variables are of them are kernels."""

    def __init__(self, mod: IRModule, device: VirtualDevice, kernels: Mapping[Var, Function]) -> None:
        self._mod = mod
        self._device = device
        self._kernels: dict[Var, Function] = dict(kernels)
        self._lines: list[tuple[Var, RelayExpr]] = []

    def block(self, expr: RelayExpr) -> RelayExpr:
        """Return an expression that begins with lets, with its memory."""
        inner = expr
        while isinstance(inner, Let):
            if isinstance(inner.value, Function) and is_primitive(inner.value):
                self._kernels[inner.var] = inner.value
            self._lines.append((inner.var, self._value(inner.value)))
            inner = inner.body
        result = self._value(inner)
        for var, value in reversed(self._lines):
            result = Let(var, value, result)
        return result

    def _inner(self, expr: RelayExpr) -> RelayExpr:
        return _Scope(self._mod, self._device, self._kernels).block(expr)

    def _value(self, expr: RelayExpr) -> RelayExpr:
        match expr:
            case Call():
                kernel = self._kernel(expr.op)
                return expr if kernel is None else self._call(expr, kernel)
            case If():
                return rebuild(
                    expr, true_branch=self._inner(expr.true_branch), false_branch=self._inner(expr.false_branch)
                )
            case Match():
                return rebuild(expr, clauses=tuple(rebuild(c, rhs=self._inner(c.rhs)) for c in expr.clauses))
            case Function() if not is_primitive(expr):
                return rebuild(expr, body=self._inner(expr.body))
            case _:
                return expr

    def _kernel(self, callee: object) -> Function | None:
        if isinstance(callee, Var):
            return self._kernels.get(callee)
        if isinstance(callee, GlobalVar):
            function = self._mod[callee]
            return function if isinstance(function, Function) and function.attrs.get("Compiler") else None
        return callee if isinstance(callee, Function) and is_primitive(callee) else None

    def _let(self, name: str, value: RelayExpr) -> Var:
        var = Var(name)
        self._lines.append((var, value))
        return var

    def _call(self, call: Call, kernel: Function) -> RelayExpr:
        """Write the lines of a call, and return its result."""
        types = tensor_types([call.checked_type])
        if all(t.is_static for t in types):
            results = [self._static_tensor(i, t) for i, t in enumerate(types)]
        else:
            shapes = self._shapes(call, kernel, types)
            results = [
                self._dynamic_tensor(i, t, shape) for i, (t, shape) in enumerate(zip(types, shapes, strict=True))
            ]
        self._let("_", call_op("vm.invoke_tvm_op", call.op, Tuple(call.args), Tuple(tuple(results))))
        return _arranged(call.checked_type, iter(results))

    def _static_tensor(self, index: int, t: TensorType, name: str = "") -> Var:
        shape = t.concrete_shape
        size = _int64(math.prod(shape) * dt.storage_bytes(t.dtype))
        storage = self._storage(f"storage_{name}{index}", size, t.dtype)
        extents = array_const(np.asarray(shape, "int64"))
        made = call_op("memory.alloc_tensor", storage, _int64(0), extents, const_shape=extents, dtype=t.dtype)
        return self._let(f"tensor_{name}{index}", made)

    def _dynamic_tensor(self, index: int, t: TensorType, shape: Var) -> Var:
        size = call_op("multiply", call_op("prod", shape), _int64(dt.storage_bytes(t.dtype)))
        storage = self._storage(f"storage_{index}", self._let(f"size_{index}", size), t.dtype)
        made = call_op("memory.alloc_tensor", storage, _int64(0), shape, assert_shape=t.shape, dtype=t.dtype)
        return self._let(f"tensor_{index}", made)

    def _storage(self, name: str, size: RelayExpr, dtype: str) -> Var:
        made = call_op("memory.alloc_storage", size, _int64(_ALIGNMENT), dtype=dtype, virtual_device=self._device)
        return self._let(name, made)

    def _shapes(self, call: Call, kernel: Function, types: Sequence[TensorType]) -> list[Var]:
        """Write the lines that compute the shapes of a call's results."""
        by_value = _parameters_that_decide_shapes(kernel)
        flags: list[bool] = []
        inputs: list[RelayExpr] = []
        for arg, param in zip(call.args, kernel.params, strict=True):
            for part in _tensors(arg, param.checked_type):
                flags.append(param in by_value)
                shape = call_op("vm.shape_of", part, dtype="int64")
                inputs.append(part if flags[-1] else self._let(f"in_shape_{len(inputs)}", shape))
        vectors = [TensorType((len(t.shape),), "int64") for t in types]
        outputs = [self._static_tensor(i, t, "out_shape_") for i, t in enumerate(vectors)]
        computed = call_op("vm.shape_func", call.op, Tuple(tuple(inputs)), Tuple(tuple(outputs)), is_input=flags)
        self._let("shape_func", computed)
        return outputs


def _parameters_that_decide_shapes(kernel: Function) -> set[GraphExpr]:
    """Return the parameters whose values, not only their shapes, decide the shape of a result."""
    deciding: set[GraphExpr] = set()
    for expr in reversed(post_order(kernel.body)):
        if isinstance(expr, Call) and isinstance(expr.op, RelayOp):
            by_all = expr in deciding or expr.op.name in _BY_ALL_VALUES
            form = expr.op.static_form
            positions = range(len(expr.args)) if by_all else form.arguments if form is not None else ()
            deciding.update(expr.args[i] for i in positions)
    return deciding & set(kernel.params)


def _tensors(expr: RelayExpr, t: Type) -> list[RelayExpr]:
    """Return the tensors of a value; of a tuple those of its fields."""
    if not isinstance(t, TupleType):
        return [expr]
    fields = enumerate(t.fields)
    return [part for index, field in fields for part in _tensors(TupleGetItem(expr, index), field)]


def _arranged(t: Type, tensors: Iterator[Var]) -> RelayExpr:
    """Return tensors as a value of a type."""
    if not isinstance(t, TupleType):
        return next(tensors)
    return Tuple(tuple(_arranged(field, tensors) for field in t.fields))


def _int64(value: int) -> RelayExpr:
    return array_const(np.asarray(value, "int64"))
