"""PlanDevices: infers the device of every expression, and inserts copies between devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from compiler.classic.relay.transform.device_domains import ON_HOST, DeviceDomains, runs_anywhere
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.transform import ModulePass, PassContext, register_config_option
from compiler.relay.adt import Clause, Constructor, Match
from compiler.relay.expr import Call, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.function_devices import with_devices
from compiler.relay.inference import infer_module
from compiler.relay.op.annotation.markers import OnDeviceAttrs, on_device
from compiler.relay.operator import call_op, op_name
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.transform.rewriter import GraphMutator, is_primitive
from compiler.runtime.device import Device
from compiler.target.virtual_device import FALLBACK, CompilationConfig, VirtualDevice

register_config_option(FALLBACK, int)


class PlanDevices(ModulePass, required=("InferType",)):
    """Find out on which device each expression is, from ``on_device`` and ``device_copy``, and insert copies.

    Level 0; requires InferType.  What an operator takes and returns is on one device; functions say afterwards on which
    devices their parameters and their result are, ``on_device`` says where another device begins, and ``device_copy``
    stands wherever devices meet.  What nothing is said of is on the default device of ``config``, which may be that
    device itself, as in programs before 0.9.

    Examples
    --------
    ``PlanDevices(tvm.cuda())``::

        def @main(%x: Tensor[(3), float32]) {
          %0 = exp(%x);
          log(on_device(%0, device_type=1))
        }
        ->
        def @main(%x: Tensor[(3), float32], param_device_types=[1], result_device_type=2) {
          %0 = on_device(exp(%x), device_type=1, is_fixed=True);
          log(device_copy(%0, src_dev_type=1, dst_dev_type=2))
        }
    """

    config: CompilationConfig | Device

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        config = self.config
        older = isinstance(config, Device)
        if isinstance(config, Device):
            config = CompilationConfig((), None, config.device_type)
        mod = infer_module(_over_functions(mod, lambda: _DeviceFixer()))
        domains = DeviceDomains(mod, config)
        domains.default_to(config.default_primitive_virtual_device)
        return infer_module(_over_functions(mod, lambda: _DeviceAnnotator(domains, older)))


def _over_functions(mod: IRModule, mutator: Any) -> IRModule:
    functions = {v: mutator().rewrite(f) if isinstance(f, Function) else f for v, f in mod.items()}
    return mod.with_functions(functions)


class _DeviceFixer(GraphMutator):
    """Fixes results of functions and values of variables that are on a device; takes elements before ``on_device``."""

    def visit_function(self, fn: Function) -> RelayExpr:
        if is_primitive(fn):
            return fn
        return rebuild(fn, body=_fixed(self.visit(fn.body)))

    def visit_let(self, let: Let) -> RelayExpr:
        return rebuild(let, value=_fixed(self.visit(let.value)), body=self.visit(let.body))

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        value = self.visit(op.tuple_value)
        if _is_loose(value):
            return rebuild(value, args=(rebuild(op, tuple_value=value.args[0]),))
        return rebuild(op, tuple_value=value)


def _is_loose(expr: GraphExpr) -> TypeGuard[Call]:
    """Return whether an expression is an ``on_device`` whose result may be elsewhere."""
    if not isinstance(expr, Call) or op_name(expr) != "on_device":
        return False
    attrs = OnDeviceAttrs.of(expr)
    return attrs.constrain_body and not attrs.constrain_result


def _fixed(expr: GraphExpr) -> GraphExpr:
    if not _is_loose(expr):
        return expr
    return rebuild(expr, attrs=OnDeviceAttrs(**{**expr.attrs, "constrain_result": True}))


class _DeviceAnnotator(GraphMutator):
    """Writes down what is known of devices: attributes of functions, ``on_device`` and ``device_copy``."""

    def __init__(self, domains: DeviceDomains, older: bool) -> None:
        super().__init__()
        self._domains = domains
        self._older = older

    def _on(self, lexical: VirtualDevice, expr: GraphExpr, expected: VirtualDevice | None = None) -> RelayExpr:
        """Return an expression as it stands in another that is on a device."""
        result, own = self.visit(expr), self._domains.device(expr)
        expected = lexical if expected is None else expected
        if own != expected:
            result = _marked(result, own) if own != lexical else result
            result = call_op("device_copy", result, src_virtual_device=own, dst_virtual_device=expected)
        return _marked(result, expected) if expected != lexical else result

    def visit_call(self, call: Call) -> RelayExpr:
        here = self._domains.device(call)
        if op_name(call) in ("on_device", "device_copy"):
            return self._on(here, call.args[0])
        callee = call.op
        if op_name(call) in ON_HOST:
            return rebuild(call, args=tuple(self._on(here, arg, self._domains.device(arg)) for arg in call.args))
        if op_name(call) == "call_lowered" and isinstance(inputs := call.args[1], Tuple):
            args = self._arguments(here, call.args[0], inputs.fields)
            return rebuild(call, args=(call.args[0], rebuild(inputs, fields=args)))
        if isinstance(callee, (Op, Constructor)):
            return rebuild(call, args=tuple(self._on(here, arg) for arg in call.args))
        return rebuild(call, op=self.visit(callee), args=self._arguments(here, callee, call.args))

    def _arguments(self, here: VirtualDevice, callee: GraphExpr, args: Sequence[GraphExpr]) -> tuple[RelayExpr, ...]:
        """Return the arguments of a function where it needs them."""
        parts = self._domains.domain(callee).parts
        needed = [part.result.device for part in parts[:-1]] or [here] * len(args)
        return tuple(self._on(here, arg, device) for arg, device in zip(args, needed, strict=True))

    def visit_function(self, fn: Function) -> RelayExpr:
        if runs_anywhere(fn):
            return fn
        result = self._domains.device(fn.body)
        params = [self._domains.device(param) for param in fn.params]
        return with_devices(rebuild(fn, body=self._on(result, fn.body)), params, result, self._older)

    def visit_let(self, let: Let) -> RelayExpr:
        here, own = self._domains.device(let), self._domains.device(let.var)
        value = self._on(here, let.value, own)
        if not self._older:
            value = _marked(value, own)  # Programs before 0.9 only mark values on another device than the let.
        return rebuild(let, value=value, body=self._on(here, let.body))

    def visit_if(self, i: If) -> RelayExpr:
        here = self._domains.device(i)
        first, second = self._on(here, i.true_branch), self._on(here, i.false_branch)
        cond = self._on(here, i.cond, self._domains.device(i.cond))
        return rebuild(i, cond=cond, true_branch=first, false_branch=second)

    def visit_match(self, m: Match) -> RelayExpr:
        here = self._domains.device(m)
        clauses = tuple(Clause(clause.lhs, self._on(here, clause.rhs)) for clause in m.clauses)
        return rebuild(m, data=self._on(here, m.data, self._domains.device(m.data)), clauses=clauses)

    def visit_tuple(self, tup: Tuple) -> RelayExpr:
        here = self._domains.device(tup)
        return rebuild(tup, fields=tuple(self._on(here, part) for part in tup.fields))

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        return rebuild(op, tuple_value=self._on(self._domains.device(op), op.tuple_value))

    def visit_ref_create(self, r: RefCreate) -> RelayExpr:
        return rebuild(r, value=self._on(self._domains.device(r), r.value))

    def visit_ref_read(self, r: RefRead) -> RelayExpr:
        return rebuild(r, ref=self._on(self._domains.device(r), r.ref))

    def visit_ref_write(self, r: RefWrite) -> RelayExpr:
        here = self._domains.device(r)
        return rebuild(r, ref=self._on(here, r.ref), value=self._on(here, r.value))


def _marked(expr: RelayExpr, device: VirtualDevice) -> RelayExpr:
    """Say that an expression is on a device, unless it says so itself."""
    if isinstance(expr, (Var, GlobalVar, Op, Constructor, Function)) or op_name(expr) == "on_device":
        return expr
    return on_device(expr, device, constrain_result=True)
