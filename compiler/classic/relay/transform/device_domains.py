"""Device domains: unification of the devices of expressions.

The domain of a tensor, and of a tuple or value of a data type as a whole, is one device, given or free.  That of a
function consists of the domains of its parameters and of its result.  Where both meet, as for a function in a tuple,
all parts of the one are the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.ir.error import BuildError
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.types import FuncType, Type
from compiler.relay.adt import Constructor, Match
from compiler.relay.analysis.traversal import operands, post_order, subexpressions
from compiler.relay.expr import Call, GraphExpr, If, Let, Tuple, TupleGetItem
from compiler.relay.expr_functor import bound_in_pattern
from compiler.relay.function import Function, is_primitive
from compiler.relay.function_devices import devices_of
from compiler.relay.operator import op_name
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.target.virtual_device import CompilationConfig, VirtualDevice

ON_HOST = {
    "memory.alloc_storage": (0, 1),
    "memory.alloc_tensor": (1, 2),
    "shape_of": (-1,),
    "vm.reshape_tensor": (1,),
    "vm.shape_func": (1, 2, -1),
    "vm.shape_of": (-1,),
}
"""Which arguments the host has, of operators about shapes; -1 is the result.  The others may be anywhere."""
_LIKE_FIRST = ("memory.alloc_tensor", "vm.reshape_tensor")
"""Of those, the operators whose result is where their first argument is."""


class Domain:
    """A device, or those of a function's parameters and result."""

    __slots__ = ("device", "parent", "parts")

    def __init__(self, device: VirtualDevice, parts: tuple[Domain, ...] = ()) -> None:
        self.device = device
        self.parts = parts
        self.parent: Domain | None = None

    @property
    def root(self) -> Domain:
        """The domain that stands for all that were unified with this one."""
        root = self
        while root.parent is not None:
            root = root.parent
        return root

    @property
    def result(self) -> Domain:
        """The domain of what calls finally return."""
        root = self.root
        while root.parts:
            root = root.parts[-1].root
        return root


class DeviceDomains:
    """The domains of all expressions of a module."""

    def __init__(self, mod: IRModule, config: CompilationConfig) -> None:
        self._config = config
        self._of: dict[GraphExpr, Domain] = {}
        self._functions = {var: func for var, func in mod.items() if isinstance(func, Function)}
        for var, func in self._functions.items():
            self._of[func] = self._of[var] = _free(func.checked_type)
        for func in self._functions.values():
            for expr in post_order(func, _planned_parts):
                self._constrain(expr)

    def domain(self, expr: GraphExpr) -> Domain:
        """Return the domain of an expression."""
        if expr not in self._of:
            assert not isinstance(expr, Op), "an operator is wherever it is called"
            self._of[expr] = _free(expr.checked_type)
        return self._of[expr].root

    def device(self, expr: GraphExpr) -> VirtualDevice:
        """Return the device of an expression; of a function that of its result."""
        return self.domain(expr).result.device

    def default_to(self, default: VirtualDevice) -> None:
        """Put what is free where its result is, and results that are free on a device."""
        for func in self._functions.values():
            for expr in reversed(post_order(func, _planned_parts)):
                for domain in self._to_default(expr):
                    _default(domain, default)

    def _to_default(self, expr: GraphExpr) -> Iterator[Domain]:
        if isinstance(expr, Call) and not isinstance(expr.op, (Op, Constructor)):
            yield self.domain(expr.op)
        if isinstance(expr, Let):
            yield self.domain(expr.var)
        if isinstance(expr, (Call, Function)) or operands(expr):
            yield self.domain(expr)

    # constraints

    def _constrain(self, expr: GraphExpr) -> None:
        match expr:
            case Call():
                self._call(expr)
            case Function() if not runs_anywhere(expr):
                self._function(expr)
            case Let():
                self._same(expr.var, expr.value)
                self._same(expr, expr.body)
            case If():
                self._at(expr.cond, self._config.host_virtual_device)
                self._same(expr, expr.true_branch)
                self._same(expr, expr.false_branch)
            case Match():
                self._same(expr, expr.data)
                for clause in expr.clauses:
                    for var in bound_in_pattern(clause.lhs):
                        self._same(expr.data, var)
                    self._same(expr, clause.rhs)
            case Tuple() | TupleGetItem() | RefCreate() | RefRead() | RefWrite():
                for part in operands(expr):
                    self._same(expr, part)

    def _call(self, call: Call) -> None:
        name = op_name(call)
        if name == "on_device":
            if call.attrs["constrain_body"]:
                self._at(call.args[0], call.attrs["virtual_device"])
            if call.attrs["constrain_result"]:
                self._at(call, call.attrs["virtual_device"])
        elif name == "device_copy":
            self._at(call.args[0], call.attrs["src_virtual_device"])
            self._at(call, call.attrs["dst_virtual_device"])
        elif name == "memory.alloc_storage":
            self._at(call, call.attrs["virtual_device"])
            self._on_host(call)
        elif name in ON_HOST:
            self._on_host(call)
        elif name == "call_lowered" and isinstance(call.args[1], Tuple):
            self._function_call(call, call.args[0], call.args[1].fields)
        elif isinstance(call.op, (Op, Constructor)):
            for arg in call.args:
                self._same(call, arg)
        else:
            self._function_call(call, call.op, call.args)

    def _function_call(self, call: Call, callee: GraphExpr, args: Sequence[GraphExpr]) -> None:
        *params, result = self._parts(callee, len(args))
        for param, arg in zip(params, args, strict=True):
            self._unify(param, self.domain(arg), call)
        self._unify(result, self.domain(call), call)

    def _on_host(self, call: Call) -> None:
        """Put what an operator about shapes has on the host there."""
        name = op_name(call)
        for at in ON_HOST[name]:
            self._at((*call.args, call)[at], self._config.host_virtual_device)
        if name in _LIKE_FIRST:
            self._same(call, call.args[0])

    def _function(self, func: Function) -> None:
        *params, result = self._parts(func, len(func.params))
        for param, var in zip(params, func.params, strict=True):
            self._unify(param, self.domain(var), func)
        self._unify(result, self.domain(func.body), func)
        given = devices_of(func)
        if given is not None:
            for expr, device in zip((*func.params, func.body), (*given[0], given[1]), strict=True):
                # Of a parameter that is a function, what it finally returns is meant.
                self._unify(self.domain(expr).result, Domain(self._config.canonical(device)), func)

    def _parts(self, callee: GraphExpr, count: int) -> tuple[Domain, ...]:
        domain = self.domain(callee)
        return domain.parts or (domain,) * (count + 1)

    def _same(self, first: GraphExpr, second: GraphExpr) -> None:
        self._unify(self.domain(first), self.domain(second), first)

    def _at(self, expr: GraphExpr, device: VirtualDevice) -> None:
        self._unify(self.domain(expr), Domain(self._config.canonical(device)), expr)

    def _unify(self, first: Domain, second: Domain, at: GraphExpr) -> None:
        waiting = [(first, second)]
        while waiting:
            one, other = (domain.root for domain in waiting.pop())
            if one is other:
                continue
            if one.parts and other.parts:
                waiting += zip(one.parts, other.parts, strict=True)
                other.parent = one
            elif one.parts or other.parts:
                simple, function = (other, one) if one.parts else (one, other)
                waiting += [(simple, part) for part in function.parts]
            else:
                joined = one.device.joined(other.device)
                if joined is None:
                    raise BuildError(
                        f"PlanDevices: {type(at).__name__} would have to be on both {one.device} and"
                        f" {other.device}; insert device_copy or on_device where it should be copied"
                    )
                one.device = joined
                other.parent = one


def runs_anywhere(expr: GraphExpr) -> bool:
    """Return whether an expression is a fused function or one that is compiled apart, which runs where it is called."""
    return is_primitive(expr) or (isinstance(expr, Function) and bool(expr.attrs.get("Extern")))


def _planned_parts(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return the parts of an expression; a function that runs wherever it is called has none."""
    return () if runs_anywhere(expr) else subexpressions(expr)


def _free(t: Type) -> Domain:
    """Return a domain of a type of which nothing is known."""
    if isinstance(t, FuncType):
        return Domain(VirtualDevice(), (*map(_free, t.arg_types), _free(t.ret_type)))
    return Domain(VirtualDevice())


def _default(domain: Domain, default: VirtualDevice) -> None:
    """Put what is free of a domain where its result is, or on a device where that is free too."""
    result = domain.result
    result.device = result.device.joined(default) or result.device
    waiting = [domain.root]
    while waiting:
        part = waiting.pop().root
        waiting += part.parts
        if not part.parts and part.device.device_type < 0:
            part.device = part.device.joined(result.device) or part.device
