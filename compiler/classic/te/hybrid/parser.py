"""Parses hybrid scripts: Python functions with loops over tensor elements."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from compiler.classic.te.hybrid.expressions import ExpressionReader
from compiler.classic.te.hybrid.scopes import LoopVariable, Scalar
from compiler.classic.te.hybrid.words import LOOPS, constant_int
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr.primexpr import (
    FloatImm,
    IntImm,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Range,
    StringImm,
    Var,
    as_exprs,
    const,
)
from compiler.ir.origin import derived_from, mint_location
from compiler.te.definition.axis import thread_axis
from compiler.te.definition.hybrid_op import HybridOp
from compiler.te.definition.mutator import TensorMutator
from compiler.te.definition.operation import placeholder
from compiler.te.definition.tensor import Tensor
from compiler.tir.script.source import ScriptError, Source
from compiler.tir.statements.producer_stmt import ProducerStore
from compiler.tir.statements.stmt import AssertStmt, AttrStmt, Evaluate, For, ForKind, IfThenElse, Stmt, seq

_AXIS_KIND = {
    ForKind.SERIAL: IterVar.DataPar,
    ForKind.UNROLLED: IterVar.Unrolled,
    ForKind.VECTORIZED: IterVar.Vectorized,
    ForKind.PARALLEL: IterVar.Parallelized,
}
_DECLARATIONS = ("allocate", "output_tensor")


def source_to_op(
    src: str, args: Sequence[object], symbols: Mapping[str, object], closure_vars: Mapping[str, object] | None = None
) -> Tensor | list[Tensor]:
    """Return the outputs of the operation that the text of a hybrid script describes, a list if there are several.

    ``closure_vars`` are the names of the functions around it.  A HybridError shows the line that is no hybrid script.
    """
    return parse_function(Source.of_text(src), args, {**symbols, **(closure_vars or {})})


def parse_function(source: Source, args: Sequence[object], captured: Mapping[str, object]) -> Tensor | list[Tensor]:
    """Return the outputs of the operation that a hybrid script describes."""
    definition = next((n for n in source.tree.body if isinstance(n, ast.FunctionDef)), None)
    if definition is None:
        raise ArgumentError("hybrid script: a function must be defined, got none")
    names = [a.arg for a in definition.args.args]
    if len(names) != len(args):
        raise TypeError(f"hybrid script: {definition.name} takes {len(names)} arguments, got {len(args)}")
    op = _Parser(source, definition, dict(zip(names, args, strict=True)), captured).operation()
    return list(op.outputs) if len(op.outputs) > 1 else op.output(0)


def _tensors_in(values: Sequence[object]) -> list[Tensor]:
    tensors: dict[Tensor, None] = {}
    for value in values:
        if isinstance(value, (tuple, list)):
            tensors.update(dict.fromkeys(_tensors_in(value)))
        elif isinstance(value, Tensor):
            tensors[value] = None
    return list(tensors)


class _Parser(ExpressionReader):
    """Reads the statements of one function."""

    def __init__(
        self,
        source: Source,
        definition: ast.FunctionDef,
        arguments: Mapping[str, object],
        captured: Mapping[str, object],
    ) -> None:
        super().__init__(source, arguments, captured)
        self._definition = definition
        self._inputs = _tensors_in(list(arguments.values()))
        self._declared_outputs: list[Tensor] = []
        self._returned: list[Tensor] | None = None
        self._axes: list[IterVar] = []
        names = (n for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self._assignments = Counter(n.id for n in names)

    def operation(self) -> HybridOp:
        """Return the operation that the function describes."""
        with self._origin(self._definition):
            body = self.scopes.close(self._block(self._definition.body))
            if self._returned is None:
                raise self.error(self._definition, f"function {self._definition.name!r} must return its outputs")
            for tensor in self._declared_outputs:
                if tensor not in self._returned:
                    raise self.error(self._definition, f"output {tensor.name!r} must be returned")
            outputs, axes = tuple(self._returned), tuple(self._axes)
            return HybridOp(self._definition.name, "", {}, tuple(self._inputs), outputs, axes, body)

    @contextmanager
    def _origin(self, n: ast.stmt) -> Iterator[None]:
        label = self.source.line(n).strip()
        with derived_from(mint_location(label, self.source.location(n))):
            yield

    def _word(self, n: ast.Name) -> object:
        if n.id in self._assignments:
            raise self.error(n, f"{n.id!r} is used before it is assigned")
        return super()._word(n)

    # statements

    def _block(self, statements: Sequence[ast.stmt]) -> Stmt:
        return seq([s for n in statements for s in self._statements(n)])

    def _statements(self, n: ast.stmt) -> list[Stmt]:
        read = getattr(self, f"_read_{type(n).__name__}", None)
        if read is None:
            raise self.error(n, f"{type(n).__name__} is not supported in hybrid script")
        if self._returned is not None:
            raise self.error(n, "nothing may follow the return of the outputs")
        try:
            with self._origin(n):
                result: list[Stmt] = read(n)
                return result
        except ScriptError:
            raise
        except (TVMError, TypeError, ValueError) as error:
            raise self.error(n, str(error)) from error

    def _read_Pass(self, n: ast.Pass) -> list[Stmt]:
        return []

    def _read_Expr(self, n: ast.Expr) -> list[Stmt]:
        if isinstance(n.value, ast.Constant) and isinstance(n.value.value, str):
            return []  # a docstring
        value = self.value(n.value)
        return [Evaluate(value)] if isinstance(value, PrimExpr) else []

    def _read_Assert(self, n: ast.Assert) -> list[Stmt]:
        message = self.value(n.msg) if n.msg is not None else "assertion failed"
        return [AssertStmt(self.condition(n.test), StringImm(str(message)), Evaluate(const(0)))]

    def _read_Return(self, n: ast.Return) -> list[Stmt]:
        if self.scopes.depth > 1 or n.value is None:
            raise self.error(n, "the outputs must be returned at the end of the function")
        values = self.value(n.value)
        outputs = values if isinstance(values, tuple) else (values,)
        for value in outputs:
            if not isinstance(value, Tensor) or value not in self._declared_outputs:
                raise self.error(n, f"outputs must be made by output_tensor, got {show(value)}")
        self._returned = list(outputs)
        return []

    def _read_If(self, n: ast.If) -> list[Stmt]:
        condition = self.condition(n.test)
        if isinstance(condition, IntImm):
            return [self._branch(n.body if condition.value else n.orelse)]
        then = self._branch(n.body)
        return [IfThenElse(condition, then, self._branch(n.orelse) if n.orelse else None)]

    def _branch(self, statements: Sequence[ast.stmt]) -> Stmt:
        self.scopes.open()
        return self.scopes.close(self._block(statements))

    # loops

    def _read_For(self, n: ast.For) -> list[Stmt]:
        call = n.iter
        if not isinstance(n.target, ast.Name) or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise self.error(n, "a loop must be `for i in range(…)` or use another of the loop keywords")
        if n.orelse:
            raise self.error(n.orelse[0], "the else of a loop is not supported in hybrid script")
        if self.scopes.has(n.target.id):
            raise self.error(n, f"loop variable {n.target.id!r} is a variable already")
        word = call.func.id
        if word == "bind":
            return [self._thread_loop(n, n.target.id, call)]
        low, extent = self._range(call)
        if word == "const_range":
            return self._repeated(n, n.target.id, low, extent)
        if word not in LOOPS:
            raise self.error(call, f"a loop must be one of {', '.join((*LOOPS, 'const_range', 'bind'))}, got {word!r}")
        return [self._loop(n, n.target.id, LOOPS[word], low, extent)]

    def _range(self, call: ast.Call) -> tuple[PrimExpr, PrimExpr]:
        if not 1 <= len(call.args) <= 2 or call.keywords:
            raise self.error(call, "a loop must have one argument or two: the end, or the beginning and the end")
        values = [self.scalar(a) for a in call.args]
        for value, n in zip(values, call.args, strict=True):
            if not dt.is_integral(value.dtype):
                raise self.error(n, f"the bounds of a loop must be integers, got {value.dtype}")
        low = values[0] if len(values) > 1 else const(0, values[0].dtype)
        return low, self.analyzer.simplify(values[-1] - low)

    def _loop(self, n: ast.For, name: str, kind: ForKind, low: PrimExpr, extent: PrimExpr) -> Stmt:
        var = Var(name, extent.dtype)
        axis = IterVar(Range.from_min_extent(const(0, extent.dtype), extent), var, _AXIS_KIND[kind])
        self._axes.append(axis)
        self.scopes.open()
        self.scopes.declare(name, LoopVariable(self.analyzer.simplify(var + low)))
        body = self.scopes.close(self._block(n.body))
        return For(var, const(0, extent.dtype), extent, kind, body)

    def _repeated(self, n: ast.For, name: str, low: PrimExpr, extent: PrimExpr) -> list[Stmt]:
        begin = constant_int(self.analyzer.simplify(low), "const_range: the beginning")
        statements: list[Stmt] = []
        for i in range(begin, begin + constant_int(extent, "const_range: the number of iterations")):
            self.scopes.open()
            self.scopes.declare(name, LoopVariable(const(i, low.dtype)))
            statements.append(self.scopes.close(self._block(n.body)))
        return statements

    def _thread_loop(self, n: ast.For, name: str, call: ast.Call) -> Stmt:
        if len(call.args) != 2:
            raise self.error(call, "bind: expected a thread axis and an extent, as in bind('threadIdx.x', 32)")
        tag, extent = self.value(call.args[0]), self.analyzer.simplify(self.scalar(call.args[1]))
        if not isinstance(tag, str):
            raise self.error(call, f"bind: expected the name of a thread axis, got {show(tag)}")
        axis = thread_axis((0, extent), tag)
        self.scopes.open()
        self.scopes.declare(name, LoopVariable(axis.var))
        body = self.scopes.close(self._block(n.body))
        return AttrStmt(axis, "thread_extent", extent, body)

    # assignments

    def _read_Assign(self, n: ast.Assign) -> list[Stmt]:
        if len(n.targets) != 1:
            raise self.error(n, "one target must be assigned at a time")
        target = n.targets[0]
        word = n.value.func.id if isinstance(n.value, ast.Call) and isinstance(n.value.func, ast.Name) else ""
        if isinstance(n.value, ast.Call) and word in _DECLARATIONS:
            return self._declare(target, n.value, word)
        value = self.value(n.value)
        computed = _tensors_in([value])
        if computed and all(isinstance(t.op, HybridOp) for t in computed) and isinstance(n.value, ast.Call):
            return self._inlined(target, computed)
        return self._assign(target, value)

    def _read_AugAssign(self, n: ast.AugAssign) -> list[Stmt]:
        before = ast.copy_location(ast.parse(ast.unparse(n.target), mode="eval").body, n.target)
        ast.fix_missing_locations(before)
        return self._assign(n.target, self.combined(n.op, self.value(before), self.value(n.value)))

    def _assign(self, target: ast.expr, value: object) -> list[Stmt]:
        if isinstance(target, ast.Name) and not self.scopes.has(target.id):
            if isinstance(value, PrimExpr) and not self._is_constant(target.id, value):
                self._declare_scalar(target.id, value)
            else:
                return self._name_value(target, value)
        elif isinstance(target, ast.Name) and isinstance(self.scopes.find(target.id), LoopVariable):
            raise self.error(target, f"loop variable {target.id!r} cannot be assigned")
        if not isinstance(value, PrimExpr):
            raise self.error(target, f"expected a scalar, got {show(value)}")
        place = self.value(target)
        if not isinstance(place, ProducerLoad):
            raise self.error(target, f"{ast.unparse(target)} cannot be assigned")
        return [ProducerStore(place.producer, self._converted(target, value, place.dtype), place.indices)]

    def _is_constant(self, name: str, value: PrimExpr) -> bool:
        return isinstance(value, (IntImm, FloatImm)) and self._assignments[name] == 1

    def _name_value(self, target: ast.Name, value: object) -> list[Stmt]:
        """Let a name stand for a value that does not change."""
        if self._assignments[target.id] > 1:
            raise self.error(target, f"{target.id!r} must be assigned once, as it is not a scalar")
        self.scopes.declare(target.id, value)
        return []

    def _declare_scalar(self, name: str, value: PrimExpr) -> None:
        tensor = placeholder((1,), value.dtype, name)
        self.scopes.declare(name, Scalar(tensor))
        self.scopes.allocate(tensor, "local")

    def _converted(self, target: ast.expr, value: PrimExpr, dtype: str) -> PrimExpr:
        """Return a value in the type of what it is assigned to."""
        if isinstance(target, ast.Name) and dt.is_integral(dtype) and not dt.is_integral(value.dtype):
            raise self.error(target, f"{target.id!r} holds {dtype}, and cannot be assigned {value.dtype}")
        return value.astype(dtype)

    def _declare(self, target: ast.expr, call: ast.Call, word: str) -> list[Stmt]:
        """Make memory: of an output, or what exists until the end of the loop or branch."""
        if not isinstance(target, ast.Name) or self._assignments[target.id] > 1:
            raise self.error(target, f"{word}: the tensor must be given a name of its own")
        given = dict(zip(("shape", "dtype", "scope"), (self.value(a) for a in call.args), strict=False))
        given |= {k.arg: self.value(k.value) for k in call.keywords if k.arg is not None}
        shape = given.pop("shape", None)
        extents = shape if isinstance(shape, tuple) else (shape,)
        dtype, where = given.pop("dtype", "float32"), given.pop("scope", "global")
        if shape is None or given or not isinstance(dtype, str) or not isinstance(where, str):
            raise self.error(call, f"{word}: expected a shape and a data type")
        tensor = placeholder(as_exprs(extents), dtype, target.id)
        if word == "allocate":
            self.scopes.allocate(tensor, where)
        elif self.scopes.depth > 1:
            raise self.error(call, "output_tensor: outputs must be made outside of loops and branches")
        else:
            self._declared_outputs.append(tensor)
        self.scopes.declare(target.id, tensor)
        return []

    def _inlined(self, target: ast.expr, computed: Sequence[Tensor]) -> list[Stmt]:
        """Put the statement of another script here; its outputs exist until the end of the loop or branch."""
        op = computed[0].op
        assert isinstance(op, HybridOp)
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(op.outputs):
            raise self.error(target, f"{op.name} has {len(op.outputs)} outputs, which need a name each")
        outputs: dict[Tensor, Tensor] = {}
        for name, output in zip(targets, op.output_placeholders, strict=True):
            if not isinstance(name, ast.Name) or self._assignments[name.id] > 1:
                raise self.error(name, f"{op.name}: each output must be given a name of its own")
            outputs[output] = placeholder(output.shape, output.dtype, name.id)
            self.scopes.allocate(outputs[output], "global")
            self.scopes.declare(name.id, outputs[output])
        self._axes += op.loop_axes
        return [TensorMutator(outputs).visit(op.body)]
