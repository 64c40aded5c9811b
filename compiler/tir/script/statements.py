"""Parsing of the statements of a TVMScript function."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import reduce

from compiler.ir import dtype as dt
from compiler.ir.error import counted, show
from compiler.ir.expr.primexpr import Call, FloatImm, IntImm, IterVar, PrimExpr, Range, Var, cast, convert
from compiler.tir.expressions.builtin import RET
from compiler.tir.script.block_statements import BlockStatements
from compiler.tir.script.blocks import AllocatedBuffer, AxisDeclaration, BlockFact, BlockScope, InitScope
from compiler.tir.script.definitions import (
    Branch,
    BufferSlice,
    DataType,
    Declaration,
    FunctionAttributes,
    Loop,
    MatchedBuffer,
    ParameterLayout,
    Scope,
    Wrap,
    sequence_of,
)
from compiler.tir.script.expressions import described
from compiler.tir.script.loops import serial
from compiler.tir.script.macros import Macro, MetaVariable
from compiler.tir.script.operators import Value
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import AssertStmt, BufferStore, Evaluate, IfThenElse, LetStmt, SeqStmt, Stmt, While

_MAX_EXPANSIONS = 64
"""How deep macros may use each other."""


class Statements(BlockStatements):
    """Reads statements; what holds for the rest of a block is put around what follows."""

    attrs: dict[str, Value]
    _free: set[Var]
    _expansions = 0

    def block(self, body: Sequence[ast.stmt]) -> Stmt:
        """Return statements that have names of their own as one."""
        with self.scope():
            return self.sequence(body)

    def sequence(self, body: Sequence[ast.stmt]) -> Stmt:
        """Return statements as one."""
        stmts: list[Stmt] = []
        for index, n in enumerate(body):
            with self.at(n):
                read = self.statement(n)
            if isinstance(read, Stmt):
                stmts.extend(read.seq if isinstance(read, SeqStmt) else [read])
            elif read is not None:
                if index + 1 == len(body) and not isinstance(n, (ast.Assert, ast.Assign, ast.AnnAssign)):
                    raise self.source.error(n, "this applies to the rest of its block, and nothing follows")
                rest = self.sequence(body[index + 1 :])
                with self.at(n):
                    stmts.append(read(rest))
                break
        return sequence_of(stmts)

    def statement(self, n: ast.stmt) -> Stmt | Wrap | None:
        """Return a statement, what puts one around the rest of the block, or None if nothing is computed."""
        method = getattr(self, f"_{type(n).__name__}", None)
        if method is None:
            raise self.source.error(n, f"{described(n)} is not part of TVMScript")
        read: Stmt | Wrap | None = method(n)
        return read

    # definitions

    def _Assign(self, n: ast.Assign) -> Stmt | Wrap | None:
        if len(n.targets) != 1:
            raise self.source.error(n, "an assignment must have one target")
        target = n.targets[0]
        if isinstance(target, ast.Subscript):
            return self._store(target, self.value(n.value))
        if isinstance(target, (ast.Tuple, ast.List)):
            values = self.value(n.value)
            if isinstance(values, MetaVariable):
                values = [MetaVariable(part) for part in values.value]
            return self._bind_each(n, target.elts, values)
        return self._bind(target, self.value(n.value))

    def _bind_each(self, n: ast.AST, targets: Sequence[ast.expr], values: object) -> Wrap | None:
        """Give a name to each of several definitions or values."""
        return _nested([self._bind(target, value) for target, value in self._shares(n, targets, values)])

    def _shares(self, n: ast.AST, targets: Sequence[ast.expr], values: object) -> list[tuple[ast.expr, Value]]:
        """Return what each of several targets gets; one with a star gets a list of what the others leave."""
        star = next((index for index, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        if isinstance(values, (tuple, list)) and star is not None and len(values) >= len(targets) - 1:
            end = len(values) - (len(targets) - star - 1)
            values = [*values[:star], list(values[star:end]), *values[end:]]
        if not isinstance(values, (tuple, list)) or len(values) != len(targets):
            got = len(values) if isinstance(values, (tuple, list)) else show(values)
            raise self.source.error(n, f"expected {counted(len(targets), 'value')}, got {got}")
        return list(zip(targets, values, strict=True))

    def _bind(self, target: ast.expr, value: Value) -> Wrap | None:
        """Give names to what a target gets: one, one for each part of a tuple, or a list of them."""
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._bind_each(target, target.elts, value)
        if isinstance(target, ast.Starred):
            return self._bind_items(target, self._target(target.value), value)
        return self._bind_name(target, self._target(target), value)

    def _bind_items(self, target: ast.AST, name: str, values: Sequence[object]) -> Wrap | None:
        """Let a name stand for several definitions or values, which are called after it: ``name_0``, ``name_1``."""
        names = [f"{name}_{index}" for index in range(len(values))]
        wrap = _nested([self._bind_name(target, part, value) for part, value in zip(names, values, strict=True)])
        self.names[name] = [self.names[part] for part in names]
        return wrap

    def _bind_name(self, target: ast.AST, name: str, value: object) -> Wrap | None:
        """Give a name to what a definition defines, or bind a variable to a value."""
        if isinstance(value, MetaVariable):
            self.names[name] = value.value
            return None
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], AxisDeclaration):
            value = value[0]
        if isinstance(value, Scope):
            self.names[name], wrap = value.enter(name)
            self.declare_memory(self.names[name], value.extents)
            return wrap
        if isinstance(value, AxisDeclaration):
            self.declare_axis(target, name, value)
            return None
        if isinstance(value, Declaration):
            self._declare(target, name, value)
            return None
        if isinstance(value, Buffer):
            self.names[name] = value
            return None
        if isinstance(value, Var) and not isinstance(value, IterVar) and self._is_new(value):
            self.names[name] = value
            self._free.add(value)
            return None
        if isinstance(value, (tuple, list)):
            return self._bind_items(target, name, value)
        bound = self._converted(target, value)
        return self._let_statement(name, Var(name, bound.dtype), bound)

    def _is_new(self, var: Var) -> bool:
        """Return whether a function of Python has just made a variable, which is then a free one."""
        return var not in self._free and not any(var is known for known in self.names.values())

    def _declare(self, target: ast.AST, name: str, value: Declaration) -> None:
        """Make the variable or buffer of a name."""
        if isinstance(value, AllocatedBuffer) and isinstance(self.names.get(name), Buffer):
            raise self.source.error(target, f"there is already a buffer {name!r}")
        declared = self.names[name] = value.make(name)
        self._declared(target, value, declared)

    def declare_unnamed(self, declaration: Declaration, name: str) -> Var | IterVar | Buffer:
        """Make what a function of Python declares that the program calls."""
        made = declaration.make(name)
        self._declared(self._called, declaration, made)
        return made

    def _declared(self, target: ast.AST, value: Declaration, declared: object) -> None:
        """Note a variable or buffer that was declared."""
        if isinstance(declared, Var):
            self._free.add(declared)
            return
        if not isinstance(declared, Buffer):
            return
        self.declare_buffer(declared)
        if isinstance(value, AllocatedBuffer):
            self.allocate_buffer(declared)
        elif isinstance(value, MatchedBuffer):
            if isinstance(value.source, BufferRegion):
                self.match_region(target, declared, value.source)
            else:
                self.buffer_map[value.source] = declared

    def _let_statement(self, name: str, var: Var, value: PrimExpr) -> Wrap:
        self.names[name] = var
        return lambda body: LetStmt(var, value, body)

    def _target(self, n: ast.expr) -> str:
        if not isinstance(n, ast.Name):
            raise self.source.error(n, "expected a name")
        return n.id

    def _AnnAssign(self, n: ast.AnnAssign) -> Wrap:
        if n.value is None:
            raise self.source.error(n, "a variable needs a value; declare a free variable with `n = T.int32()`")
        value = self.expr(n.value)
        var = self.variable(n.annotation, self._target(n.target), n)
        if not isinstance(var, Var):
            raise self.source.error(n, "expected the type of a variable, such as T.int32")
        if dt.is_integral(var.dtype) and dt.is_float(value.dtype):
            raise self.source.error(n.value, f"{var.name!r} is of type {var.dtype}, got a value of type {value.dtype}")
        if dt.is_float(var.dtype) or dt.is_integral(var.dtype):
            value = cast(var.dtype, value)
        return self._let_statement(self._target(n.target), var, value)

    def variable(self, annotation: ast.expr | None, name: str, at: ast.AST) -> Var | Buffer:
        """Return the variable or buffer of a name that an annotation describes."""
        described_by = None if annotation is None else self.value(annotation)
        if isinstance(described_by, DataType):
            return described_by.variable(name)
        if isinstance(described_by, Declaration):
            declared = described_by.make(name)
            if isinstance(declared, (Var, Buffer)):
                return declared
        raise self.source.error(annotation or at, f"{name!r} needs a type such as T.int32, T.handle or T.Buffer((16,))")

    # stores and effects

    def _store(self, target: ast.Subscript, value: object) -> Stmt:
        memory = self.value(target.value)
        if isinstance(memory, Var):
            element: Value = self.stored_behind_pointer(target, memory, self.expr(target.slice), convert(value))
        else:
            element = self.value(target)
        if isinstance(element, BufferSlice):
            element = element.asobject()
        buffer = element.buffer
        if isinstance(value, (bool, int, float)):
            value = cast(element.dtype, value)
        stored = self._converted(target, value)
        if stored.dtype != element.dtype and dt.lanes(stored.dtype) == dt.lanes(element.dtype):
            stored = cast(element.dtype, stored)
        if stored.dtype != element.dtype:
            raise self.source.error(target, f"{buffer.name!r} has elements of {element.dtype}, got {stored.dtype}")
        return BufferStore(buffer, stored, element.indices)

    def _converted(self, n: ast.AST, value: object) -> PrimExpr:
        try:
            return convert(value)
        except TypeError as error:
            raise self.source.error(n, str(error)) from error

    def _AugAssign(self, n: ast.AugAssign) -> Stmt:
        if not isinstance(n.target, ast.Subscript):
            raise self.source.error(n, "variables are immutable; store to a buffer instead, as in `A[i] += 1`")
        return self._store(n.target, self.operated(n, self.expr(n.target), self.value(n.value)))

    def _Expr(self, n: ast.Expr) -> Stmt | Wrap | None:
        value = self.value(n.value)
        match value:
            case str() | None:
                return None  # a docstring
            case Stmt():
                return value
            case Scope():
                return value.enter("")[1]
            case BlockFact():
                self.state(n, value)
                return None
            case FunctionAttributes():
                self.attrs.update(value.attrs)
                return None
            case ParameterLayout():
                self._lay_out_parameter(n, value)
                return None
            case PrimExpr() if not isinstance(value, (IntImm, FloatImm)):
                return Evaluate(value)
        raise self.source.error(n, f"this statement has no effect: {show(value)}")

    def _lay_out_parameter(self, n: ast.Expr, layout: ParameterLayout) -> None:
        """Let the parameter of a buffer have another shape, of which the buffer is a view."""
        for param, buffer in self.buffer_map.items():
            if buffer is layout.buffer:
                self.buffer_map[param] = layout.original
                self.declare_buffer(layout.original)
                return
        raise self.source.error(n, f"buffer {layout.buffer.name!r} is not that of a parameter")

    def _Pass(self, n: ast.Pass) -> None:
        return None

    def _Return(self, n: ast.Return) -> Stmt:
        if n.value is None:
            raise self.source.error(n, "expected a value to return")
        value = self.expr(n.value)
        return Evaluate(Call(value.dtype, RET, (value,)))

    def expanded(self, n: ast.AST, macro: Macro, args: Sequence[object], options: Mapping[str, object]) -> Stmt:
        with self.errors(n):
            arguments = macro.bound(args, options)
        if self._expansions == _MAX_EXPANSIONS:
            raise self.source.error(n, f"macros are nested more than {_MAX_EXPANSIONS} deep")
        around = self.source, self._environment, self.names
        self._expansions += 1
        self.source = macro.source
        if macro.hygienic:
            self._environment, self.names = macro.environment, arguments
        else:
            self._environment = {**macro.environment, **self._environment}
            self.names = {**self.names, **arguments}
        try:
            return self.sequence(macro.definition.body)
        finally:
            self.source, self._environment, self.names = around
            self._expansions -= 1

    def _Assert(self, n: ast.Assert) -> Wrap:
        condition = self.expr(n.test)
        message = self.expr(n.msg) if n.msg is not None else convert("")
        return lambda body: AssertStmt(condition, message, body)

    # blocks

    def _For(self, n: ast.For) -> Stmt:
        if n.orelse:
            raise self.source.error(n.orelse[0], "a loop cannot have an else")
        loops = self._loops(n.iter)
        targets = n.target.elts if isinstance(n.target, ast.Tuple) else [n.target]
        if len(targets) != len(loops) and not any(isinstance(target, ast.Starred) for target in targets):
            raise self.source.error(n.target, f"expected {len(loops)} loop variables, got {len(targets)}")
        with self.scope():
            variables: list[Var] = []
            for target, part in self._shares(n.target, targets, loops):
                variables += self._loop_variables(target, part)
            body = self.sequence(n.body)
            for var, loop in reversed(list(zip(variables, loops, strict=True))):
                body = loop.around(var, body)
        return body

    def _loop_variables(self, target: ast.expr, part: Loop | list[Loop]) -> list[Var]:
        """Return the variable of a loop, or of each of those that a target with a star stands for."""
        name = self._target(target.value if isinstance(target, ast.Starred) else target)
        parts = part if isinstance(part, list) else [part]
        names = [f"{name}_{index}" for index in range(len(parts))] if isinstance(part, list) else [name]
        variables = [self._loop_variable(text, p.extent.dtype) for text, p in zip(names, parts, strict=True)]
        for var, loop in zip(variables, parts, strict=True):
            self.loop_range(var, Range.from_fields(loop.min, loop.extent))
        if isinstance(part, list):
            self.names[name] = variables
        return variables

    def _loop_variable(self, name: str, dtype: str) -> Var:
        """Return a loop's variable: one that was declared before, for attributes that name it, or a new one."""
        declared = self.names.get(name)
        if not isinstance(declared, Var) or declared not in self._free or declared.dtype != dtype:
            declared = self.names[name] = Var(name, dtype)
        return declared

    def _loops(self, n: ast.expr) -> list[Loop]:
        """Return the loops that a ``for`` runs over."""
        over: Value
        if isinstance(n, ast.Call) and self.value(n.func) is range:
            given = {k.arg: k.value for k in n.keywords}
            if not 1 <= len(n.args) <= 2 or given.keys() - {"annotations"}:
                expected = "expected range(stop) or range(start, stop), with annotations={…} if there are any"
                raise self.source.error(n, f"{expected}; the step of a loop must be 1")
            notes = self.value(given["annotations"]) if given else None
            over = serial(*[self.value(a) for a in n.args], annotations=notes)
        else:
            over = self.value(n)
        loops = over if isinstance(over, list) else [over]
        if not loops or not all(isinstance(loop, Loop) for loop in loops):
            raise self.source.error(n, "expected range, T.serial, T.parallel, T.vectorized, T.unroll or T.grid")
        return loops

    def _While(self, n: ast.While) -> Stmt:
        if n.orelse:
            raise self.source.error(n.orelse[0], "a loop cannot have an else")
        return While(self.expr(n.test), self.block(n.body))

    def _If(self, n: ast.If) -> Stmt | None:
        condition = self.value(n.test)
        if isinstance(condition, (bool, int)):  # known while the program is read: only one branch is part of it
            taken = n.body if condition else n.orelse
            return self.sequence(taken) if taken else None
        then = self.block(n.body)
        return IfThenElse(self.expr(n.test), then, self.block(n.orelse) if n.orelse else None)

    def _With(self, n: ast.With) -> Stmt | None:
        values = [self.value(item.context_expr) for item in n.items]
        match values:
            case [BlockScope() as scope]:
                return self.read_block(n, scope, n.items[0].optional_vars)
            case [InitScope()]:
                self.read_init(n)
                return None
            case [Branch(word="If", condition=PrimExpr() as condition)]:
                return self._branches(n, condition)
        return self._with_scopes(n, values)

    def _branches(self, n: ast.With, condition: PrimExpr) -> Stmt:
        """Return what ``T.Then`` and ``T.Else`` in a ``T.If`` say."""
        cases: dict[str, Stmt] = {}
        for inner in n.body:
            one = inner.items if isinstance(inner, ast.With) else []
            branch = self.value(one[0].context_expr) if len(one) == 1 else None
            if not isinstance(inner, ast.With) or not isinstance(branch, Branch) or branch.condition is not None:
                raise self.source.error(inner, "expected with T.Then(): or with T.Else(): in a T.If")
            if branch.word in cases:
                raise self.source.error(inner, f"the T.If has a T.{branch.word} already")
            cases[branch.word] = self.block(inner.body)
        if "Then" not in cases:
            raise self.source.error(n, "expected a T.Then in the T.If, got none")
        return IfThenElse(condition, cases["Then"], cases.get("Else"))

    def _with_scopes(self, n: ast.With, values: Sequence[object]) -> Stmt:
        with self.scope():
            wraps: list[Wrap] = []
            for item, value in zip(n.items, values, strict=True):
                if not isinstance(value, Scope):
                    raise self.source.error(item.context_expr, f"this applies to no block: {show(value)}")
                name = "" if item.optional_vars is None else self._target(item.optional_vars)
                bound, wrap = value.enter(name)
                wraps.append(wrap)
                if name:
                    self.names[name] = bound
                    self.declare_memory(bound, value.extents)
            body = self.sequence(n.body)
            for wrap in reversed(wraps):
                body = wrap(body)
        return body


def _nested(wraps: Sequence[Wrap | None]) -> Wrap | None:
    """Return what puts several statements around the rest of a block, the first outermost."""
    present = [wrap for wrap in wraps if wrap is not None]
    return (lambda rest: reduce(lambda body, wrap: wrap(body), reversed(present), rest)) if present else None
