"""Evaluation of TVMScript expressions: Python for Python values, nodes otherwise."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType, ModuleType

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, TVMError, counted, did_you_mean
from compiler.ir.expr.primexpr import (
    And,
    Call,
    CommReducer,
    ExprLike,
    Let,
    Not,
    Or,
    PrimExpr,
    StringImm,
    Var,
    as_exprs,
    bitwise,
    const,
    convert,
    is_const_int,
)
from compiler.ir.op import Op
from compiler.ir.origin import derived_from, mint_location
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.script import expression_words
from compiler.tir.script.definitions import BufferSlice, Declaration, Scope
from compiler.tir.script.macros import Macro
from compiler.tir.script.operators import (
    BINARY,
    BITWISE,
    COMPARISONS,
    PYTHON_COMPARISONS,
    PYTHON_OPERATORS,
    Value,
    binary_node,
    call_op,
    folded_binary,
    is_symbolic,
)
from compiler.tir.script.source import ScriptError, Source
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import Stmt

__all__ = ["Expressions", "described"]

_MAX_ITEMS = 1 << 16
"""How many items a program may look through at once while it is read."""
_MAX_BITS = 4096
"""Largest size of an integer that a program may compute while it is read."""


def _bounded(function: Callable[..., object]) -> Callable[..., Value]:
    """Return a function of sequences that refuses long ones."""

    def call(*args: object, **options: object) -> Value:
        for value in args:
            if isinstance(value, range) and not -_MAX_ITEMS <= value.stop - value.start <= _MAX_ITEMS:
                raise ArgumentError(f"{function.__name__}: {value} has more than {_MAX_ITEMS} items")
        return function(*args, **options)

    return call


_BUILTINS = {
    **{name: getattr(builtins, name) for name in ["bool", "float", "int", "len", "range", "round", "str"]},
    **{
        name: _bounded(getattr(builtins, name))
        for name in (
            *("abs", "all", "any", "dict", "enumerate", "list", "max", "min"),
            *("reversed", "set", "sorted", "sum", "tuple", "zip"),
        )
    },
}
"""What programs may use of Python: what computes with values and reaches nothing else."""


_PACKAGE = "compiler."
_SCRIPT_ROOM = __name__.rpartition(".")[0]
"""The modules ``T`` and ``I``, of which a program sees only what is public."""


class Expressions:
    """Evaluates expressions with the names that are visible."""

    def __init__(self, source: Source, environment: Mapping[str, object]) -> None:
        self.source = source
        self.names: dict[str, Value] = {}  # what the program defines, as far as it is visible
        self.calls_python = False  # whether a function of Python runs that the program calls
        self._environment = environment
        self._called: ast.AST = source.tree

    @contextmanager
    def at(self, n: ast.AST) -> Iterator[None]:
        """Let what is built inside come from the line of ``n``, and let errors say it."""
        try:
            with derived_from(mint_location(self.source.line(n).strip(), self.source.location(n))):
                yield
        except ScriptError:
            raise
        except (TVMError, TypeError, ValueError, AttributeError, LookupError) as error:
            raise self.source.error(n, str(error)) from error

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end what is defined inside."""
        saved = dict(self.names)
        try:
            yield
        finally:
            self.names = saved

    def expr(self, n: ast.expr) -> PrimExpr:
        """Return the value of ``n`` as an expression."""
        value = self.value(n)
        if isinstance(value, (Declaration, Scope)):
            raise self.source.error(n, "expected an expression; assign what this declares to a name: `x = …`")
        try:
            return StringImm(value) if isinstance(value, str) else convert(value)
        except TVMError as error:
            raise self.source.error(n, str(error)) from error

    def value(self, n: ast.expr) -> Value:
        """Return the value of ``n``: an expression, a buffer, or whatever Python object it is."""
        method = getattr(self, f"_{type(n).__name__}", None)
        if method is None:
            raise self.source.error(n, f"{described(n)} is not part of TVMScript")
        return method(n)

    # names and literals

    def _Constant(self, n: ast.Constant) -> Value:
        return n.value

    def _Name(self, n: ast.Name) -> Value:
        for table in (self.names, self._environment, _BUILTINS):
            if n.id in table:
                return table[n.id]
        raise self.source.error(n, f"the name {n.id!r} is not defined{did_you_mean(n.id, self.names)}")

    def _Attribute(self, n: ast.Attribute) -> Value:
        if n.attr.startswith("_"):
            raise self.source.error(n, f"{n.attr!r} is private")
        value = self.value(n.value)
        if isinstance(value, ModuleType) and value.__name__.startswith(_SCRIPT_ROOM):
            public = n.attr in value.__all__
        else:
            public = not (isinstance(value, str) and n.attr in ("format", "format_map"))  # they read attributes
        try:
            return getattr(value, n.attr) if public else value.__getattr__(n.attr)
        except AttributeError as error:
            raise self.source.error(n, str(error)) from None

    def _Tuple(self, n: ast.Tuple) -> tuple[Value, ...]:
        return tuple(self._items(n.elts))

    def _List(self, n: ast.List) -> list[Value]:
        return self._items(n.elts)

    def _items(self, parts: Sequence[ast.expr]) -> list[Value]:
        """Return the items of a list or call; ``*values`` stands for several."""
        items: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                with self.errors(part):
                    items.extend(self.value(part.value))
            else:
                items.append(self.value(part))
        return items

    def _JoinedStr(self, n: ast.JoinedStr) -> str:
        return "".join(str(self.value(part)) for part in n.values)

    def _FormattedValue(self, n: ast.FormattedValue) -> str:
        spec = "" if n.format_spec is None else self.value(n.format_spec)
        if any(len(digits) > 2 for digits in re.findall(r"\d+", spec)):
            raise self.source.error(n, f"the width {spec!r} is too large")
        with self.errors(n):
            return format(self.value(n.value), spec)

    def _ListComp(self, n: ast.ListComp) -> list[Value]:
        return list(self._comprehended(n.elt, n.generators))

    def _GeneratorExp(self, n: ast.GeneratorExp) -> list[Value]:
        return list(self._comprehended(n.elt, n.generators))

    def _comprehended(self, item: ast.expr, generators: Sequence[ast.comprehension]) -> Iterator[Value]:
        """Yield the items of a comprehension over Python values."""
        if not generators:
            yield self.value(item)
            return
        first = generators[0]
        with self.scope(), self.errors(first.iter):
            for count, value in enumerate(self.value(first.iter)):
                if count == _MAX_ITEMS:
                    raise ArgumentError(f"the comprehension has more than {_MAX_ITEMS} items")
                self._name_parts(first.target, value)
                if all(self.value(condition) for condition in first.ifs):
                    yield from self._comprehended(item, generators[1:])

    def _name_parts(self, target: ast.expr, value: Value) -> None:
        """Let a name, or each of several, stand for a Python value."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part, item in zip(target.elts, value, strict=True):
                self._name_parts(part, item)
        else:
            raise self.source.error(target, "expected a name")

    def _Dict(self, n: ast.Dict) -> dict[Value, Value]:
        if any(key is None for key in n.keys):
            raise self.source.error(n, "`**` in a dictionary is not part of TVMScript")
        return {self.value(key): self.value(value) for key, value in zip(n.keys, n.values, strict=True) if key}

    # operators

    def _BinOp(self, n: ast.BinOp) -> Value:
        return self.operated(n, self.value(n.left), self.value(n.right))

    def operated(self, n: ast.BinOp | ast.AugAssign, a: ExprLike, b: ExprLike) -> Value:
        """Return what an operator makes of two values."""
        kind = type(n.op)
        if not (is_symbolic(a) or is_symbolic(b)):
            if kind not in PYTHON_OPERATORS:
                raise self.source.error(n, f"{described(n.op)} is not part of TVMScript")
            return self._python(n, PYTHON_OPERATORS[kind], a, b)
        with self.errors(n):
            if kind in BITWISE:
                return bitwise(BITWISE[kind], a, b)
            if kind not in BINARY:
                raise self.source.error(n, f"{described(n.op)} is not part of TVMScript")
            return folded_binary(BINARY[kind], a, b)

    def _UnaryOp(self, n: ast.UnaryOp) -> Value:
        value = self.value(n.operand)
        symbolic = is_symbolic(value)
        match n.op:
            case ast.Not():
                return Not(convert(value)) if symbolic else not value
            case ast.Invert():
                return call_op(Op.get("tir.bitwise_not"), value) if symbolic else ~value
            case ast.USub():
                return -value
        return value

    def _BoolOp(self, n: ast.BoolOp) -> Value:
        kind = And if isinstance(n.op, ast.And) else Or
        result = self.value(n.values[0])
        for operand in n.values[1:]:
            other = self.value(operand)
            with self.errors(n):
                if is_symbolic(result) or is_symbolic(other):
                    result = binary_node(kind, result, other)
                else:
                    result = (result and other) if kind is And else (result or other)
        return result

    def _Compare(self, n: ast.Compare) -> Value:
        if len(n.ops) > 1:
            raise self.source.error(n, "comparisons do not chain: write `a < b and b < c`")
        a, b = self.value(n.left), self.value(n.comparators[0])
        kind = type(n.ops[0])
        if kind in PYTHON_COMPARISONS:
            return self._python(n, PYTHON_COMPARISONS[kind], a, b)
        python, node = COMPARISONS[kind]
        if not (is_symbolic(a) or is_symbolic(b)):
            return self._python(n, python, a, b)
        with self.errors(n):
            return binary_node(node, a, b)

    def _IfExp(self, n: ast.IfExp) -> Value:
        condition = self.value(n.test)
        if not is_symbolic(condition):
            return self.value(n.body if condition else n.orelse)
        then, other = self.expr(n.body), self.expr(n.orelse)
        return Call(then.dtype, IF_THEN_ELSE, (convert(condition), then, other))

    # memory and calls

    def _Subscript(self, n: ast.Subscript) -> Value:
        target = self.value(n.value)
        if not isinstance(target, Buffer):
            if isinstance(target, Var):
                return self.behind_pointer(n, target, self.expr(n.slice), None)
            with self.errors(n):
                return target[self.value(n.slice)]
        indices = self._completed_indices(n, target)
        if any(isinstance(i, slice) for i in indices):
            return BufferSlice(target, indices)
        return BufferLoad(target, indices)

    def _completed_indices(self, n: ast.Subscript, target: Buffer) -> tuple[Value, ...]:
        """Return an index for each dimension; trailing dimensions of one element need none."""
        indices = self.indices(n.slice)
        count = len(target.shape)
        if len(indices) > count or not all(is_const_int(dim, 1) for dim in target.shape[len(indices) :]):
            raise self.source.error(
                n, f"{target.name!r} has {counted(count, 'dimension')}, got {counted(len(indices), 'index', 'indices')}"
            )
        ended = tuple([_ended(index, dim) for index, dim in zip(indices, target.shape, strict=False)])
        return ended + tuple([const(0, dim.dtype) for dim in target.shape[len(indices) :]])

    def indices(self, n: ast.expr) -> tuple[Value, ...]:
        """Return the indices of a subscript: expressions, and slices of them."""
        parts = n.elts if isinstance(n, ast.Tuple) else [n]
        indices: list[Value] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                indices += [self._index(part, convert(item)) for item in self._items([part])]
            else:
                indices.append(self._slice(part) if isinstance(part, ast.Slice) else self._index(part, self.expr(part)))
        return tuple(indices)

    def _index(self, n: ast.expr, index: PrimExpr) -> PrimExpr:
        if dt.is_float(dt.element(index.dtype)):
            raise self.source.error(n, f"an index must be an integer, got {index.dtype}")
        return index

    def _slice(self, n: ast.Slice) -> slice:
        low = convert(0) if n.lower is None else self.expr(n.lower)
        high = None if n.upper is None else self.expr(n.upper)
        return slice(low, high, None if n.step is None else self.value(n.step))

    def _Call(self, n: ast.Call) -> Value:
        function = self.value(n.func)
        if function is expression_words.Let:
            return self._let_expression(n)
        if function is expression_words.comm_reducer:
            return self._reducer(n)
        args, options = self._items(n.args), self._options(n)
        if isinstance(function, Macro):
            return self.expanded(n, function, args, options)
        with self.errors(n), self._calling(n, function):
            if function in (expression_words.load, expression_words.store):
                return self.pointer_access(n, function, args, options)
            return function(*args, **options)

    @contextmanager
    def _calling(self, n: ast.Call, function: object) -> Iterator[None]:
        """Note that a function of Python runs, which may declare variables and buffers of the program."""
        around = self.calls_python, self._called
        self.calls_python, self._called = _is_users_own(function), n
        try:
            yield
        finally:
            self.calls_python, self._called = around

    def _options(self, n: ast.Call) -> dict[str, Value]:
        """Return the arguments of a call that have names."""
        options: dict[str, Value] = {}
        for keyword in n.keywords:
            value = self.value(keyword.value)
            with self.errors(n):
                options.update(value if keyword.arg is None else {keyword.arg: value})
        return options

    @abstractmethod
    def expanded(self, n: ast.AST, macro: Macro, args: Sequence[object], options: Mapping[str, object]) -> Stmt:
        """Return the statements of a macro."""

    @abstractmethod
    def behind_pointer(self, n: ast.AST, pointer: Var, index: PrimExpr, dtype: str | None) -> BufferLoad:
        """Return the element that a pointer and an index stand for."""

    @abstractmethod
    def pointer_access(
        self, n: ast.AST, word: Callable[..., object], args: Sequence[object], options: Mapping[str, object]
    ) -> Value:
        """Return what ``T.load`` or ``T.store`` mean."""

    def _reducer(self, n: ast.Call) -> CommReducer:
        """``T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`` combines values."""
        if len(n.args) != 2 or not isinstance(n.args[0], ast.Lambda):
            raise self.source.error(n, "expected T.comm_reducer(lambda x, y: …, [identity])")
        function, given = n.args[0], self.value(n.args[1])
        identity = as_exprs(given)
        names = [argument.arg for argument in function.args.args]
        if len(names) != 2 * len(identity):
            raise self.source.error(function, f"expected {2 * len(identity)} parameters, got {len(names)}")
        with self.scope():
            variables = [Var(name, value.dtype) for name, value in zip(names, identity * 2, strict=True)]
            self.names.update(zip(names, variables, strict=True))
            body = function.body.elts if isinstance(function.body, ast.Tuple) else [function.body]
            results = tuple([self.expr(part) for part in body])
        half = len(identity)
        return CommReducer(tuple(variables[:half]), tuple(variables[half:]), results, identity)

    def _Lambda(self, n: ast.Lambda) -> Callable[..., Value]:
        """Return a function of expressions, such as the one of ``T.index_map(lambda i, j: (j, i))``."""
        names = [argument.arg for argument in n.args.args]
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        variadic = n.args.vararg.arg if n.args.vararg else ""
        if variadic:
            parameters.append(inspect.Parameter(variadic, inspect.Parameter.VAR_POSITIONAL))

        def call(*args: object) -> Value:
            with self.scope():
                self.names.update(zip(names, args, strict=not variadic))
                if variadic:
                    self.names[variadic] = args[len(names) :]
                return self.value(n.body)

        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return call

    def _let_expression(self, n: ast.Call) -> PrimExpr:
        """``T.Let(body, where={name: value})`` defines the name for the body, a declared variable's or a new one."""
        where = n.keywords[0].value if n.keywords else n.args[-1]
        names = where.keys if isinstance(where, ast.Dict) else []
        if len(names) != 1 or not isinstance(names[0], ast.Name) or not isinstance(where, ast.Dict):
            raise self.source.error(n, "expected T.Let(body, where={name: value})")
        value = self.expr(where.values[0])
        declared = self.names.get(names[0].id)
        if not isinstance(declared, Var) or declared.dtype != value.dtype:
            declared = Var(names[0].id, value.dtype)
        with self.scope():
            var = self.names[names[0].id] = declared
            return Let(var, value, self.expr(n.args[0]))

    def _python(self, n: ast.AST, python: Value, a: Value, b: Value) -> Value:
        with self.errors(n):
            _check_size(n, a, b)
            return python(a, b)

    @contextmanager
    def errors(self, n: ast.AST) -> Iterator[None]:
        """Let errors say the line of ``n``."""
        try:
            yield
        except ScriptError:
            raise
        except (TVMError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self.source.error(n, str(error)) from error


def _is_users_own(function: object) -> bool:
    """Return whether a function, method or class is one of the user's program."""
    is_python = isinstance(function, (FunctionType, MethodType, type))
    return is_python and not str(function.__module__).startswith((_PACKAGE, "builtins"))


def _check_size(n: ast.AST, a: object, b: object) -> None:
    """Refuse to compute what would not fit into memory: long repetitions, large powers and shifts."""
    kind = type(getattr(n, "op", None))
    if not isinstance(b, int):
        a, b = b, a
    if not isinstance(b, int):
        return
    if isinstance(a, int):
        bits = a.bit_length() * b if kind is ast.Pow else a.bit_length() + b if kind is ast.LShift else 0
    else:
        bits = len(a) * b if kind is ast.Mult and isinstance(a, (str, list, tuple)) else 0
    if bits > (_MAX_BITS if isinstance(a, int) else _MAX_ITEMS):
        raise ArgumentError("the result is too large to be computed by the parser")


def described(n: ast.AST) -> str:
    """Return what a part of Python's grammar is called."""
    names = {
        "AugAssign": "an augmented assignment",
        "Await": "await",
        "ClassDef": "a class",
        "FunctionDef": "a function inside of a function",
        "MatMult": "@",
        "NamedExpr": ":=",
        "Pow": "**",
        "Try": "try",
    }
    name = type(n).__name__
    return names.get(name, name.lower())


def _ended(index: object, extent: PrimExpr) -> Value:
    """Return an index; a slice without an end goes as far as its dimension does."""
    if isinstance(index, slice) and index.stop is None:
        return slice(index.start, extent, index.step)
    return index
