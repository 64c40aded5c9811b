"""Unification of types with variables, and of extents that are only partly known.

Type variables are :class:`IncompleteType` objects, bound by union-find.  Extents are gradual: ``?`` and symbolic
extents are consistent with every other, two different numbers never are; where two types are joined, an extent that
they disagree on becomes ``?``.  See Siek and Taha, "Gradual typing for functional languages" (2006).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.ir.expr.primexpr import IntImm, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.types import FuncType, Type, TypeVar
from compiler.relay.analysis import type_parts
from compiler.relay.inference.errors import UnificationError
from compiler.relay.ty import AnyDim, Dim, IncompleteType, RefType, TensorType, TupleType, TypeCall, same_dim

_LEAVES = frozenset({TensorType, TypeVar})


class Solver:
    """Bindings of type variables, and what waits for them."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._waiting: dict[Type, list[Any]] = {}
        self.ready: deque[Any] = deque()
        """What waited for a variable that has been bound since."""

    def shallow(self, t: Type) -> Type:
        """Return what a variable is bound to, or ``t`` itself."""
        bound = self._bound
        while type(t) is IncompleteType:
            binding = bound.get(t)
            if binding is None:
                break
            t = binding
        return t

    def resolve(self, t: Type) -> Type:
        """Return ``t`` with every bound variable replaced; the same object where there is none."""
        if type(t) in _LEAVES:
            return t
        if type(t) is IncompleteType:
            root = self.shallow(t)
            if root is t:
                return t
            resolved = self.resolve(root)
            self._bound[t] = resolved
            return resolved
        return map_parts(t, self.resolve)

    def unknown_in(self, t: Type) -> IncompleteType | None:
        """Return an unbound variable inside of ``t``, or None."""
        if type(t) in _LEAVES:
            return None
        t = self.shallow(t)
        if isinstance(t, IncompleteType):
            return t
        return next((v for part in type_parts(t) if (v := self.unknown_in(part)) is not None), None)

    def wait(self, variable: IncompleteType, task: Any) -> None:
        """Put ``task`` on :attr:`ready` once the variable is bound."""
        self._waiting.setdefault(variable, []).append(task)

    def unify(self, a: Type, b: Type) -> Type:
        """Make two types the same and return it."""
        if a is b:
            return a
        a, b = self.shallow(a), self.shallow(b)
        if a is b:
            return a
        if isinstance(a, IncompleteType):
            return self._bind(a, b)
        if isinstance(b, IncompleteType):
            return self._bind(b, a)
        if isinstance(a, FuncType) and isinstance(b, FuncType):
            return self._unify_functions(a, b)
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            return _join_tensors(a, b)
        ours, theirs = type_parts(a), type_parts(b)
        if type(a) is not type(b) or len(ours) != len(theirs) or (not ours and a != b):
            raise UnificationError(f"{self.resolve(a)} is not {self.resolve(b)}")
        joined = [self.unify(x, y) for x, y in zip(ours, theirs, strict=True)]
        parts = iter(joined)
        return map_parts(a, lambda _: next(parts))

    def _unify_functions(self, a: FuncType, b: FuncType) -> Type:
        if a.type_params and len(a.type_params) == len(b.type_params):
            b = instantiate(b, a.type_params)
        elif a.type_params or b.type_params:
            return self.unify(instantiate(a), instantiate(b))
        if len(a.arg_types) != len(b.arg_types):
            raise UnificationError(f"{self.resolve(a)} is not {self.resolve(b)}: the numbers of arguments differ")
        arguments = [self.unify(x, y) for x, y in zip(a.arg_types, b.arg_types, strict=True)]
        return FuncType(tuple(arguments), self.unify(a.ret_type, b.ret_type), a.type_params)

    def _bind(self, variable: IncompleteType, t: Type) -> Type:
        if self._occurs(variable, t):
            raise UnificationError(f"a type would contain itself: {self.resolve(t)}")
        self._bound[variable] = t
        tasks = self._waiting.pop(variable, ())
        if isinstance(t, IncompleteType):
            self._waiting.setdefault(t, []).extend(tasks)
        else:
            self.ready.extend(tasks)
        return t

    def _occurs(self, variable: IncompleteType, t: Type) -> bool:
        t = self.shallow(t)
        return t is variable or any(self._occurs(variable, part) for part in type_parts(t))


def map_parts(t: Type, change: Callable[[Type], Type]) -> Type:
    """Return ``t`` with its parts changed; the same object where none is."""
    old = type_parts(t)
    new = [change(part) for part in old]
    if all(a is b for a, b in zip(old, new, strict=True)):
        return t
    match t:
        case TupleType():
            return TupleType(tuple(new))
        case FuncType():
            return FuncType(tuple(new[:-1]), new[-1], t.type_params, t.type_constraints)
        case RefType():
            return RefType(new[0])
        case _:
            return TypeCall(new[0], tuple(new[1:]))


def substitute_types(t: Type, new: Mapping[Any, Type]) -> Type:
    """Return ``t`` with type variables replaced, those that a function type is generic in as well."""
    if isinstance(t, TypeVar):
        return new.get(t, t)
    if isinstance(t, FuncType) and any(p in new for p in t.type_params):
        params = tuple(p for p in (new.get(p, p) for p in t.type_params) if isinstance(p, TypeVar))
        args = tuple(substitute_types(a, new) for a in t.arg_types)
        return FuncType(args, substitute_types(t.ret_type, new), params)
    return map_parts(t, lambda part: substitute_types(part, new))


def instantiate(t: FuncType, type_args: Sequence[Type] = ()) -> FuncType:
    """Return a generic function's type for one use: with the types given, or fresh variables."""
    if not t.type_params:
        return t
    types = type_args or [IncompleteType() for _ in t.type_params]
    used = substitute_types(FuncType(t.arg_types, t.ret_type), dict(zip(t.type_params, types, strict=True)))
    assert isinstance(used, FuncType)
    return used


def _join_tensors(a: TensorType, b: TensorType) -> TensorType:
    if a.dtype != b.dtype:
        raise UnificationError(f"{a} is not {b}: the data types differ")
    if len(a.shape) != len(b.shape):
        raise UnificationError(f"{a} is not {b}: the numbers of dimensions differ")
    dims = tuple(_join_dims(x, y, a, b) for x, y in zip(a.shape, b.shape, strict=True))
    return a if all(x is y for x, y in zip(dims, a.shape, strict=True)) else TensorType(dims, a.dtype)


def _join_dims(x: Dim, y: Dim, a: TensorType, b: TensorType) -> Dim:
    if isinstance(x, IntImm) and isinstance(y, IntImm):
        if x.value == y.value:
            return x
        raise UnificationError(f"{a} is not {b}: extents {x.value} and {y.value} differ")
    return x if same_dim(x, y) else AnyDim()


def bind_dims(params: Sequence[Type], args: Sequence[Type], result: Type) -> Type:
    """Return a call's result type with the symbolic extents of the parameters replaced by those of the arguments."""
    dims: dict[Dim, Dim] = {}
    for param, arg in zip(params, args, strict=True):
        _collect_dims(param, arg, dims)
    return _substitute_dims(result, dims) if dims else result


def _collect_dims(param: Type, arg: Type, dims: dict[Dim, Dim]) -> None:
    if not isinstance(param, TensorType) or not isinstance(arg, TensorType):
        for x, y in zip(type_parts(param), type_parts(arg), strict=False):
            _collect_dims(x, y, dims)
        return
    if len(param.shape) != len(arg.shape):
        return  # no argument of that parameter, which is an error of its own
    for x, y in zip(param.shape, arg.shape, strict=True):
        if not isinstance(x, Var):
            continue
        old = dims.setdefault(x, y)
        if isinstance(old, IntImm) and isinstance(y, IntImm) and old.value != y.value:
            raise UnificationError(f"extent {x.name} is both {old.value} and {y.value}")
        if isinstance(y, IntImm):
            dims[x] = y


def _substitute_dims(t: Type, new: Mapping[Any, Any]) -> Type:
    if isinstance(t, TensorType):
        if t.is_static:
            return t
        return TensorType(tuple(substitute(d, new) for d in t.shape), t.dtype)
    return map_parts(t, lambda part: _substitute_dims(part, new))
