"""Lists, options and trees, and the functions over them that functional programs begin with: ``relay.prelude``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.classic.relay.tensor_array import StaticTensorArrayOps, TensorArrayOps, define_by_name
from compiler.classic.relay.tensor_array_lookup import TensorArrayLookup
from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.types import FuncType, Type, TypeVar
from compiler.relay.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from compiler.relay.expr import If, Let, Tuple, TupleGetItem, Var, const
from compiler.relay.function import Function
from compiler.relay.ty import GlobalTypeVar, TupleType, TypeCall, scalar_type

__all__ = [
    "FUNCTIONS", "Prelude", "StaticTensorArrayOps", "TensorArrayOps",
]  # fmt: skip

INT = scalar_type("int32")


class Prelude(TensorArrayLookup):
    """Adds the data types and functions to a module; what it defines already under one of their names stays.

    What works on arrays of tensors is added when it is first asked for by its name, such as
    ``tensor_concatenate_int64``.

    Attributes
    ----------
    l, optional, tree : GlobalTypeVar
        ``List[a]`` is ``Cons(a, List[a])`` or ``Nil``; ``Option[a]`` is ``Some(a)`` or ``None``; ``Tree[a]`` is
        ``Rose(a, List[Tree[a]])``.
    hd, tl, nth, update, map, foldl, foldr, foldr1, sum, concat, filter, zip, rev, length, … : GlobalVar
        See :data:`FUNCTIONS`.
    """

    l: GlobalTypeVar  # noqa: E741 - TVM's name for it
    cons: Constructor
    nil: Constructor
    optional: GlobalTypeVar
    some: Constructor
    none: Constructor
    tree: GlobalTypeVar
    rose: Constructor

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = IRModule() if mod is None else mod
        self.l, (self.cons, self.nil) = self._type("List", lambda a, t: {"Cons": (a, t), "Nil": ()})
        self.optional, (self.some, self.none) = self._type("Option", lambda a, t: {"Some": (a,), "None": ()})
        self.tree, (self.rose,) = self._type("Tree", lambda a, t: {"Rose": (a, self.l(t))})
        self._functions = {name: self._variable(name) for name in FUNCTIONS}
        for name, build in FUNCTIONS.items():
            if self._functions[name] not in self.mod:
                self.mod[self._functions[name]] = build(self)
        self.mod.define_on_demand(define_by_name)

    def __getattr__(self, name: str) -> GlobalVar:
        function: GlobalVar | None = self.__dict__.get("_functions", {}).get(name)
        if function is None:
            raise AttributeError(f"Prelude has no function {name!r}")
        return function

    def _type(
        self, name: str, parts: Callable[[TypeVar, TypeCall], Mapping[str, Sequence[Type]]]
    ) -> tuple[GlobalTypeVar, tuple[Constructor, ...]]:
        for var, data in self.mod.type_definitions.items():
            if var.name_hint == name:
                return var, data.constructors
        header, a = GlobalTypeVar(name), TypeVar("A")
        made = [Constructor(con, tuple(inputs), header) for con, inputs in parts(a, header(a)).items()]
        self.mod.type_definitions[header] = TypeData(header, (a,), tuple(made))
        return header, tuple(made)

    def _variable(self, name: str) -> GlobalVar:
        return self.mod.get_global_var(name) if name in self.mod else GlobalVar(name)

    # how the functions below are written

    def on_list(self, xs: Var, nil: RelayExpr | None, cons: Callable[[Var, Var], RelayExpr]) -> Match:
        """Return the match of a list; ``nil`` is the value for an empty one, None if it is not covered.

        ``cons`` is a function from the variables of head and tail to the value for a longer one.
        """
        head, tail = Var("h"), Var("t")
        pattern = PatternConstructor(self.cons, (PatternVar(head), PatternVar(tail)))
        clauses = [] if nil is None else [Clause(PatternConstructor(self.nil), nil)]
        return Match(xs, (*clauses, Clause(pattern, cons(head, tail))), nil is not None)

    def on_pair(self, value: RelayExpr, body: Callable[[Var, Var], RelayExpr]) -> Match:
        """Return the match of a pair; ``body`` computes the value from the variables of the two fields."""
        a, b = Var("a"), Var("b")
        return Match(value, (Clause(PatternTuple((PatternVar(a), PatternVar(b))), body(a, b)),))


FUNCTIONS: dict[str, Callable[[Prelude], Function]] = {}
"""By name, how to make each function for a prelude."""


def _define(build: Callable[[Prelude], Function]) -> Callable[[Prelude], Function]:
    FUNCTIONS[build.__name__.strip("_")] = build
    return build


def _op(name: str, *args: object) -> RelayExpr:
    operator: Any = Op.get(name)
    call: RelayExpr = operator(*args)
    return call


def _types(names: str) -> tuple[TypeVar, ...]:
    return tuple(TypeVar(name) for name in names)


@_define
def _id(p: Prelude) -> Function:
    (a,) = _types("A")
    x = Var("x", a)
    return Function((x,), x, a, (a,))


@_define
def _compose(p: Prelude) -> Function:
    a, b, c = _types("ABC")
    f, g, x = Var("f", FuncType((b,), c)), Var("g", FuncType((a,), b)), Var("x", a)
    return Function((f, g), Function((x,), f(g(x))), FuncType((a,), c), (a, b, c))


@_define
def _flip(p: Prelude) -> Function:
    a, b, c = _types("ABC")
    f, x, y = Var("f", FuncType((a, b), c)), Var("x", a), Var("y", b)
    return Function((f,), Function((y, x), f(x, y)), FuncType((b, a), c), (a, b, c))


@_define
def _hd(p: Prelude) -> Function:
    (a,) = _types("A")
    xs = Var("xs", p.l(a))
    return Function((xs,), p.on_list(xs, None, lambda h, t: h), a, (a,))


@_define
def _tl(p: Prelude) -> Function:
    (a,) = _types("A")
    xs = Var("xs", p.l(a))
    return Function((xs,), p.on_list(xs, None, lambda h, t: t), p.l(a), (a,))


@_define
def _nth(p: Prelude) -> Function:
    (a,) = _types("A")
    xs, n = Var("xs", p.l(a)), Var("n", INT)
    further = p.nth(p.tl(xs), _op("subtract", n, const(1)))
    return Function((xs, n), If(_op("equal", n, const(0)), p.hd(xs), further), a, (a,))


@_define
def _update(p: Prelude) -> Function:
    (a,) = _types("A")
    xs, n, v = Var("xs", p.l(a)), Var("n", INT), Var("v", a)
    further = p.cons(p.hd(xs), p.update(p.tl(xs), _op("subtract", n, const(1)), v))
    return Function((xs, n, v), If(_op("equal", n, const(0)), p.cons(v, p.tl(xs)), further), p.l(a), (a,))


@_define
def _map(p: Prelude) -> Function:
    a, b = _types("AB")
    f, xs = Var("f", FuncType((a,), b)), Var("xs", p.l(a))
    body = p.on_list(xs, p.nil(), lambda h, t: p.cons(f(h), p.map(f, t)))
    return Function((f, xs), body, p.l(b), (a, b))


@_define
def _foldl(p: Prelude) -> Function:
    a, b = _types("AB")
    f, acc, xs = Var("f", FuncType((a, b), a)), Var("acc", a), Var("xs", p.l(b))
    body = p.on_list(xs, acc, lambda h, t: p.foldl(f, f(acc, h), t))
    return Function((f, acc, xs), body, a, (a, b))


@_define
def _foldr(p: Prelude) -> Function:
    a, b = _types("AB")
    f, z, xs = Var("f", FuncType((a, b), b)), Var("z", b), Var("xs", p.l(a))
    body = p.on_list(xs, z, lambda h, t: f(h, p.foldr(f, z, t)))
    return Function((f, z, xs), body, b, (a, b))


@_define
def _foldr1(p: Prelude) -> Function:
    (a,) = _types("A")
    f, xs, last, head, tail = Var("f", FuncType((a, a), a)), Var("xs", p.l(a)), Var("x"), Var("h"), Var("t")
    one = PatternConstructor(p.cons, (PatternVar(last), PatternConstructor(p.nil)))
    more = PatternConstructor(p.cons, (PatternVar(head), PatternVar(tail)))
    body = Match(xs, (Clause(one, last), Clause(more, f(head, p.foldr1(f, tail)))), False)
    return Function((f, xs), body, a, (a,))


@_define
def _sum(p: Prelude) -> Function:
    xs, acc, x = Var("xs", p.l(INT)), Var("acc", INT), Var("x", INT)
    return Function((xs,), p.foldl(Function((acc, x), _op("add", acc, x), INT), const(0), xs), INT)


@_define
def _length(p: Prelude) -> Function:
    (a,) = _types("A")
    xs = Var("xs", p.l(a))
    return Function((xs,), p.on_list(xs, const(0), lambda h, t: _op("add", const(1), p.length(t))), INT, (a,))


@_define
def _concat(p: Prelude) -> Function:
    (a,) = _types("A")
    xs, ys, h, acc = Var("xs", p.l(a)), Var("ys", p.l(a)), Var("h", a), Var("acc", p.l(a))
    return Function((xs, ys), p.foldr(Function((h, acc), p.cons(h, acc)), ys, xs), p.l(a), (a,))


@_define
def _filter(p: Prelude) -> Function:
    (a,) = _types("A")
    f, xs = Var("f", FuncType((a,), scalar_type("bool"))), Var("xs", p.l(a))
    body = p.on_list(xs, p.nil(), lambda h, t: If(f(h), p.cons(h, p.filter(f, t)), p.filter(f, t)))
    return Function((f, xs), body, p.l(a), (a,))


@_define
def _zip(p: Prelude) -> Function:
    a, b = _types("AB")
    xs, ys = Var("xs", p.l(a)), Var("ys", p.l(b))
    body = p.on_list(xs, p.nil(), lambda h, t: p.on_list(ys, p.nil(), lambda i, u: p.cons(Tuple((h, i)), p.zip(t, u))))
    return Function((xs, ys), body, p.l(TupleType((a, b))), (a, b))


@_define
def _rev(p: Prelude) -> Function:
    (a,) = _types("A")
    xs, acc, h = Var("xs", p.l(a)), Var("acc", p.l(a)), Var("h", a)
    return Function((xs,), p.foldl(Function((acc, h), p.cons(h, acc)), p.nil(), xs), p.l(a), (a,))


def _map_accumulated(p: Prelude, fold: GlobalVar, from_the_left: bool) -> Function:
    """``f`` maps an accumulator and an element to both.

    The result is the last accumulator and the list of the rest, whose head is what ``f`` made last.
    """
    a, b, c = _types("ABC")
    f, acc, xs = Var("f", FuncType((a, b), TupleType((a, c)))), Var("acc", a), Var("xs", p.l(b))
    state, x, pair = Var("state", TupleType((a, p.l(c)))), Var("x", b), Var("pair")
    both = Tuple((TupleGetItem(pair, 0), p.cons(TupleGetItem(pair, 1), TupleGetItem(state, 1))))
    step = Let(pair, f(TupleGetItem(state, 0), x), both)
    params = (state, x) if from_the_left else (x, state)
    folded = fold(Function(params, step), Tuple((acc, p.nil())), xs)
    return Function((f, acc, xs), folded, TupleType((a, p.l(c))), (a, b, c))


@_define
def _map_accumr(p: Prelude) -> Function:
    return _map_accumulated(p, p.foldr, from_the_left=False)


@_define
def _map_accuml(p: Prelude) -> Function:
    return _map_accumulated(p, p.foldl, from_the_left=True)


def _on_option(p: Prelude, value: RelayExpr, some: Callable[[Var], RelayExpr], none: RelayExpr) -> Match:
    content = Var("found")
    pattern: Pattern = PatternConstructor(p.some, (PatternVar(content),))
    return Match(value, (Clause(pattern, some(content)), Clause(PatternConstructor(p.none), none)))


@_define
def _unfoldr(p: Prelude) -> Function:
    a, b = _types("AB")
    f, seed = Var("f", FuncType((a,), p.optional(TupleType((a, b))))), Var("seed", a)
    more = lambda pair: p.on_pair(pair, lambda now, made: p.cons(made, p.unfoldr(f, now)))  # noqa: E731
    return Function((f, seed), _on_option(p, f(seed), more, p.nil()), p.l(b), (a, b))


@_define
def _unfoldl(p: Prelude) -> Function:
    a, b = _types("AB")
    f, seed = Var("f", FuncType((a,), p.optional(TupleType((a, b))))), Var("seed", a)
    return Function((f, seed), p.rev(p.unfoldr(f, seed)), p.l(b), (a, b))


@_define
def _tmap(p: Prelude) -> Function:
    a, b = _types("AB")
    f, tree, value, below = Var("f", FuncType((a,), b)), Var("tree", p.tree(a)), Var("v"), Var("below")
    x = Var("x", p.tree(a))
    mapped = p.rose(f(value), p.map(Function((x,), p.tmap(f, x)), below))
    clause = Clause(PatternConstructor(p.rose, (PatternVar(value), PatternVar(below))), mapped)
    return Function((f, tree), Match(tree, (clause,)), p.tree(b), (a, b))


@_define
def _size(p: Prelude) -> Function:
    (a,) = _types("A")
    tree, below, x = Var("tree", p.tree(a)), Var("below"), Var("x", p.tree(a))
    total = _op("add", const(1), p.sum(p.map(Function((x,), p.size(x)), below)))
    clause = Clause(PatternConstructor(p.rose, (PatternWildcard(), PatternVar(below))), total)
    return Function((tree,), Match(tree, (clause,)), INT, (a,))


@_define
def _iterate(p: Prelude) -> Function:
    (a,) = _types("A")
    step = FuncType((a,), a)
    f, n, x = Var("f", step), Var("n", INT), Var("x", a)
    once_more = p.compose(f, p.iterate(f, _op("subtract", n, const(1))))
    same = Function((x,), x, a)
    return Function((f, n), If(_op("equal", n, const(0)), same, once_more), step, (a,))
