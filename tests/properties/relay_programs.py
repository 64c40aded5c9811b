"""Random modules of graphs, with every kind of expression, type and pattern; well-scoped, not well-typed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler import relay, tir
from compiler.ir.attrs.dict_attrs import NO_ATTRS, DictAttrs
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule

nn: Any = relay.op.nn

NAMES = ("x", "y", "x", "input.1", "t.0", "t", "a/b", "0", "", "w..1", "data")
DTYPES = ("float32", "int32", "bool", "int64", "uint8", "float16", "float64", "int8")


class Programs:
    """Makes modules.

    Parameters
    ----------
    seed : int
    size : int
        About how many expressions a function has.
    """

    def __init__(self, seed: int, size: int = 12) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.dims = [tir.Var("n", "int32"), tir.Var("n", "int64"), tir.Var("batch", "int64")]
        self.type_vars: list[relay.TypeVar] = []
        self.headers: list[Any] = []
        self.constructors: list[relay.Constructor] = []
        self.functions = [GlobalVar(f"f{i}") for i in range(3)]
        self.left = 0

    def module(self) -> IRModule:
        mod = IRModule()
        self.headers = [relay.GlobalTypeVar(name) for name in ("List", "Pair")]
        for header in self.headers:
            data = self._type_data(header)
            mod.type_definitions[header] = data
            self.constructors += data.constructors
        for var in self.functions:
            self.left = self.size
            mod[var] = self.function([])
        return mod

    def expression(self) -> Any:
        """Return an expression with free variables."""
        self.left = self.size
        return self._expr([self._var() for _ in range(3)])

    # --- types --------------------------------------------------------------------------------------------------------

    def _type_data(self, header: relay.GlobalTypeVar) -> relay.TypeData:
        variables = tuple(relay.TypeVar(name) for name in self.rng.choice(("", "A", "AB")))
        self.type_vars += variables
        constructors = tuple(
            relay.Constructor(f"{header.name_hint}{i}", tuple(self.type(2) for _ in range(i)), header) for i in range(3)
        )
        del self.type_vars[len(self.type_vars) - len(variables) :]
        return relay.TypeData(header, variables, constructors)

    def type(self, depth: int = 0) -> Any:
        rng = self.rng
        if depth > 2 or rng.random() < 0.5:
            return relay.TensorType(tuple(self._dim() for _ in range(rng.randrange(4))), rng.choice(DTYPES))
        match rng.randrange(6):
            case 0:
                return relay.TupleType(tuple(self.type(depth + 1) for _ in range(rng.randrange(3))))
            case 1:
                return relay.RefType(self.type(depth + 1))
            case 2:
                return self._function_type(depth + 1)
            case 3 if self.type_vars:
                return rng.choice(self.type_vars)
            case 4 if self.headers:
                return rng.choice(self.headers)(*[self.type(depth + 1) for _ in range(rng.randrange(3))])
            case _:
                return relay.scalar_type(rng.choice(DTYPES))

    def _function_type(self, depth: int) -> Any:
        params = tuple(relay.TypeVar(name) for name in self.rng.choice(("", "A", "BA")))
        self.type_vars += params
        made = relay.FuncType(tuple(self.type(depth) for _ in range(self.rng.randrange(3))), self.type(depth), params)
        del self.type_vars[len(self.type_vars) - len(params) :]
        return made

    def _dim(self) -> Any:
        rng = self.rng
        if rng.random() < 0.6:
            return rng.randrange(5)
        n = rng.choice(self.dims)
        return rng.choice((n, relay.Any(), n * 2 + 1, (n + 3) * 2, n // 2, n % 4 - 1, tir.min(n, 7)))

    # --- expressions --------------------------------------------------------------------------------------------------

    def function(self, pool: list[Any]) -> relay.Function:
        rng = self.rng
        type_params = tuple(relay.TypeVar(name) for name in rng.choice(("", "", "A", "AB")))
        self.type_vars += type_params
        params = tuple(self._var() for _ in range(rng.randrange(4)))
        body = self._expr([*pool, *params])
        ret_type = self.type() if rng.random() < 0.3 else None
        del self.type_vars[len(self.type_vars) - len(type_params) :]
        return relay.Function(params, body, ret_type, type_params, self._attrs() if rng.random() < 0.3 else NO_ATTRS)

    def _attrs(self) -> DictAttrs:
        values = (1, -7, True, None, 'a"b\\c\n', 0.1, -1.5, 1e20, (1, (2, 3)), ("x", "y"), {"a": 1, "b/c": (1.5,)})
        return DictAttrs({name: self.rng.choice(values) for name in ("Primitive", "Compiler", "global_symbol")})

    def _var(self) -> relay.Var:
        return relay.Var(self.rng.choice(NAMES), self.type() if self.rng.random() < 0.6 else None)

    def _expr(self, pool: list[Any]) -> Any:
        """Return an expression of what is in the pool, which it joins."""
        if self.left <= 0 or (pool and self.rng.random() < 0.15):
            return self._leaf(pool)
        self.left -= 1
        made = self.rng.choice(self.RULES)(self, pool)
        pool.append(made)
        return made

    def _leaf(self, pool: list[Any]) -> Any:
        rng = self.rng
        if pool and rng.random() < 0.6:
            return rng.choice(pool)
        match rng.randrange(5):
            case 0:
                return rng.choice(self.functions)
            case 1:
                return relay.const(rng.choice((0, 1, 7)), rng.choice(DTYPES))
            case 2:
                return relay.const(np.float32(rng.gauss(0, 10.0 ** rng.randrange(-8, 8))))
            case 3:
                return relay.const(np.arange(rng.randrange(1, 4)), rng.choice(DTYPES))
            case _:
                return relay.const(rng.choice((float("inf"), float("-inf"), float("nan"), -0.0, -3)))

    def _call(self, pool: list[Any]) -> Any:
        match self.rng.randrange(5):
            case 0:
                return nn.relu(self._expr(pool))
            case 1:
                return nn.softmax(self._expr(pool), axis=self.rng.choice((-1, 0, 1)))
            case 2:
                return nn.dense(self._expr(pool), self._expr(pool), units=self.rng.choice((None, 4)))
            case 3:
                return nn.conv2d(self._expr(pool), self._expr(pool), padding=(1, 1), data_layout="NHWC")
            case _:
                return nn.leaky_relu(self._expr(pool), alpha=self.rng.random())

    def _apply(self, pool: list[Any]) -> Any:
        return relay.Call(self._expr(pool), tuple(self._expr(pool) for _ in range(self.rng.randrange(3))))

    def _construct(self, pool: list[Any]) -> Any:
        if not self.constructors:
            return relay.Tuple(())
        constructor = self.rng.choice(self.constructors)
        if constructor.inputs and self.rng.random() < 0.2:
            return relay.Call(self._expr(pool), (constructor,))
        return constructor(*[self._expr(pool) for _ in constructor.inputs])

    def _let(self, pool: list[Any]) -> Any:
        var = self._var()
        value = self._expr(pool)
        return relay.Let(var, value, self._expr([*pool, var]))

    def _if(self, pool: list[Any]) -> Any:
        return relay.If(self._expr(pool), self._expr([*pool]), self._expr([*pool]))

    def _tuple(self, pool: list[Any]) -> Any:
        return relay.Tuple(tuple(self._expr(pool) for _ in range(self.rng.randrange(4))))

    def _item(self, pool: list[Any]) -> Any:
        return relay.TupleGetItem(self._expr(pool), self.rng.randrange(3))

    def _reference(self, pool: list[Any]) -> Any:
        match self.rng.randrange(3):
            case 0:
                return relay.RefCreate(self._expr(pool))
            case 1:
                return relay.RefRead(self._expr(pool))
            case _:
                return relay.RefWrite(self._expr(pool), self._expr(pool))

    def _match(self, pool: list[Any]) -> Any:
        data = self._expr(pool)
        clauses = []
        for _ in range(self.rng.randrange(1, 4)):
            bound: list[Any] = []
            pattern = self._pattern(bound)
            clauses.append(relay.Clause(pattern, self._expr([*pool, *bound])))
        return relay.Match(data, tuple(clauses), self.rng.random() < 0.5)

    def _pattern(self, bound: list[Any], depth: int = 0) -> Any:
        match self.rng.randrange(4 if depth < 2 else 2):
            case 0:
                return relay.PatternWildcard()
            case 1:
                bound.append(self._var())
                return relay.PatternVar(bound[-1])
            case 2 if self.constructors:
                constructor = self.rng.choice(self.constructors)
                parts = tuple(self._pattern(bound, depth + 1) for _ in constructor.inputs)
                return relay.PatternConstructor(constructor, parts)
            case _:
                count = self.rng.randrange(3)
                return relay.PatternTuple(tuple(self._pattern(bound, depth + 1) for _ in range(count)))

    RULES: tuple[Callable[[Programs, list[Any]], Any], ...] = (
        _call,
        _call,
        _apply,
        _construct,
        _let,
        _let,
        _if,
        _tuple,
        _item,
        _reference,
        _match,
        lambda self, pool: self.function(pool[:]),
    )
