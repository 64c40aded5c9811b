"""Natural numbers as a data type, for tests of programs over data types: ``tvm.relay.testing.nat``."""

from __future__ import annotations

from compiler.classic.relay.prelude import Prelude
from compiler.ir.error import ArgumentError
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.types import FuncType, TypeVar
from compiler.relay.adt import Clause, Constructor, Match, PatternConstructor, PatternVar, TypeData
from compiler.relay.expr import Call, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.interpreter import ConstructorValue
from compiler.relay.ty import GlobalTypeVar


def add_nat_definitions(prelude: Prelude) -> None:
    """Add the type ``nat``, of ``Z`` and ``S(nat)``, and functions of it to a prelude's module."""
    define_nat(prelude.mod)


def define_nat(mod: IRModule) -> None:
    """Add the type ``nat``, of ``Z`` and ``S(nat)``, and the functions of it to a module."""
    if any(var.name_hint == "nat" for var in mod.type_definitions):
        return
    nat = GlobalTypeVar("nat")
    zero, successor = Constructor("Z", (), nat), Constructor("S", (nat(),), nat)
    mod.type_definitions[nat] = TypeData(nat, (), (zero, successor))
    double, add = GlobalVar("nat_double"), GlobalVar("nat_add")
    x, y, smaller = Var("x", nat()), Var("y", nat()), Var("z")
    is_zero, is_more = PatternConstructor(zero), PatternConstructor(successor, (PatternVar(smaller),))
    doubled = Match(x, (Clause(is_zero, zero()), Clause(is_more, successor(successor(double(smaller))))))
    mod[double] = Function((x,), doubled, nat())
    a, less = Var("x", nat()), Var("z")
    added = Match(
        a,
        (
            Clause(PatternConstructor(zero), y),
            Clause(PatternConstructor(successor, (PatternVar(less),)), successor(add(less, y))),
        ),
    )
    mod[add] = Function((a, y), added, nat())
    _define_iteration(mod, nat, is_zero, successor)
    infer_module(mod)


def _define_iteration(mod: IRModule, nat: GlobalTypeVar, is_zero: PatternConstructor, successor: Constructor) -> None:
    """Add ``nat_iterate(f, n)``, the function that applies ``f`` ``n`` times."""
    iterate, t = GlobalVar("nat_iterate"), TypeVar("a")
    endo = FuncType((t,), t)
    f, n, smaller, x, y = Var("f", endo), Var("n", nat()), Var("y"), Var("x", t), Var("x", t)
    is_more = PatternConstructor(successor, (PatternVar(smaller),))
    once_more = Function((y,), Call(f, (Call(iterate(f, smaller), (y,)),)), t)
    body = Match(n, (Clause(is_zero, Function((x,), x, t)), Clause(is_more, once_more)))
    mod[iterate] = Function((f, n), body, endo, (t,))


def _constructors(prelude: Prelude) -> tuple[Constructor, Constructor]:
    add_nat_definitions(prelude)
    _, zero, successor = prelude.mod.get_type("nat")
    return zero, successor


def make_nat_value(prelude: Prelude, n: int) -> ConstructorValue:
    """Return a number that is not negative as a value of the interpreter; the prelude gets the type."""
    zero, successor = _constructors(prelude)
    value = ConstructorValue(zero.tag, (), zero)
    for _ in range(n):
        value = ConstructorValue(successor.tag, (value,), successor)
    return value


def make_nat_expr(prelude: Prelude, n: int) -> Call:
    """Return a number as an expression: ``S(S(Z()))`` is 2; the prelude gets the type, unless it has it.

    Raises ArgumentError if ``n`` is negative.
    """
    if n < 0:
        raise ArgumentError(f"make_nat_expr: n must not be negative, got {n}")
    zero, successor = _constructors(prelude)
    expr = zero()
    for _ in range(n):
        expr = successor(expr)
    return expr


def count(prelude: Prelude, n: Call | ConstructorValue) -> int:
    """Return the number that an expression or a value of the type ``nat`` is.

    Raises ArgumentError if it is neither.
    """
    zero, successor = _constructors(prelude)
    total = 0
    while True:
        constructor = n.op if isinstance(n, Call) else n.constructor
        if constructor is zero:
            return total
        if constructor is not successor:
            raise ArgumentError(f"count: n must be made of S and Z, got {n}")
        inner = n.args[0] if isinstance(n, Call) else n.fields[0]
        if not isinstance(inner, (Call, ConstructorValue)):
            raise ArgumentError(f"count: n must be made of S and Z, got {inner}")
        n, total = inner, total + 1
