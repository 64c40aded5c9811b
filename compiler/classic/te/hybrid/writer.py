"""Prints the statement of a schedule as a hybrid script."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import (
    BinaryOp,
    Call,
    Cast,
    Div,
    FloatImm,
    IntImm,
    Max,
    Min,
    Not,
    PrimExpr,
    ProducerLoad,
    Range,
    Select,
    Var,
)
from compiler.ir.functor import Functor
from compiler.ir.names import take_name
from compiler.te.definition.tensor import Tensor
from compiler.tir.statements.producer_stmt import ProducerRealize, ProducerStore
from compiler.tir.statements.stmt import (
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

_OPERATORS = {"+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"}
_FUNCTIONS = {
    "tir.sqrt": "sqrt",
    "tir.rsqrt": "rsqrt",
    "tir.log": "log",
    "tir.exp": "exp",
    "tir.tanh": "tanh",
    "tir.sigmoid": "sigmoid",
    "tir.pow": "power",
    "tir.popcount": "popcount",
    "tir.round": "round",
    "tir.likely": "likely",
}
_LOOPS = {
    ForKind.SERIAL: "range",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorize",
    ForKind.UNROLLED: "unroll",
}


def write_script(statement: Stmt, inputs: Sequence[Tensor | Var], outputs: Sequence[Tensor], name: str) -> str:
    """Return the hybrid script of a statement."""
    return _Writer(inputs, outputs).script(statement, name)


class _Writer(Functor):
    """Statements become lines, expressions text."""

    def __init__(self, inputs: Sequence[Tensor | Var], outputs: Sequence[Tensor]) -> None:
        self._names: dict[Tensor | Var, str] = {}
        self._taken: set[str] = set()
        self._begins: dict[Tensor, tuple[Range, ...]] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._analyzer = Analyzer()
        self._inputs, self._outputs = inputs, outputs

    def script(self, statement: Stmt, name: str) -> str:
        """Return the whole text."""
        self._taken.add(name)
        parameters = ", ".join(self._name(i, i.name) for i in self._inputs)
        for tensor in self._outputs:
            shape = self._shape(tensor.shape)
            self._line(f"{self._name(tensor, tensor.name)} = output_tensor({shape}, {tensor.dtype!r})")
        self.visit(statement)
        self._line(f"return {', '.join(self._names[t] for t in self._outputs)}")
        head = f"import tvm\n\n\n@tvm.te.hybrid.script\ndef {name}({parameters}):\n"
        return head + "\n".join(self._lines) + "\n"

    def _name(self, key: Tensor | Var, name: str) -> str:
        if key not in self._names:
            base = "".join(c if c.isalnum() else "_" for c in name)
            self._names[key] = take_name(base, self._taken)
        return self._names[key]

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _block(self, head: str, body: Stmt) -> None:
        self._line(head)
        self._depth += 1
        before = len(self._lines)
        self.visit(body)
        if len(self._lines) == before:
            self._line("pass")
        self._depth -= 1

    def _shape(self, extents: Sequence[PrimExpr]) -> str:
        return f"({''.join(f'{self.visit(e)}, ' for e in extents)})"

    def visit_Node(self, n: object) -> str:
        raise LoweringError(f"hybrid.build: hybrid script does not support {type(n).__name__}")

    # statements

    def visit_SeqStmt(self, n: SeqStmt) -> None:
        for s in n.seq:
            self.visit(s)

    def visit_For(self, n: For) -> None:
        word = _LOOPS.get(n.kind)
        if word is None:
            raise LoweringError(f"hybrid.build: hybrid script has no loops of kind {n.kind.name}")
        bounds = (n.extent,) if self._is_zero(n.min) else (n.min, n.min + n.extent)
        name = self._name(n.loop_var, n.loop_var.name)
        self._block(f"for {name} in {word}({', '.join(self.visit(e) for e in bounds)}):", n.body)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "thread_extent":
            name = self._name(n.node.var, n.node.var.name)
            self._block(f"for {name} in bind({n.node.thread_tag!r}, {self.visit(n.value)}):", n.body)
        else:
            self.visit(n.body)

    def visit_ProducerRealize(self, n: ProducerRealize) -> None:
        if n.producer not in self._outputs:
            scope = n.storage_scope or "global"
            shape = self._shape([r.extent for r in n.bounds])
            name = self._name(n.producer, n.producer.name)
            self._line(f"{name} = allocate({shape}, {n.producer.dtype!r}, {scope!r})")
            self._begins[n.producer] = n.bounds
        self.visit(n.body)

    def visit_ProducerStore(self, n: ProducerStore) -> None:
        self._line(f"{self._element(n.producer, n.indices)} = {self.visit(n.value)}")

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self._block(f"if {self.visit(n.condition)}:", n.then_case)
        if n.else_case is not None:
            self._block("else:", n.else_case)

    def visit_AssertStmt(self, n: AssertStmt) -> None:
        self._line(f"assert {self.visit(n.condition)}, {n.message.value!r}")  # type: ignore[attr-defined]
        self.visit(n.body)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._line(f"{self._name(n.var, n.var.name)} = {self.visit(n.value)}")
        self.visit(n.body)

    def visit_Evaluate(self, n: Evaluate) -> None:
        if not isinstance(n.value, IntImm):
            self._line(self.visit(n.value))

    # expressions

    def _element(self, tensor: Tensor, indices: Sequence[PrimExpr]) -> str:
        bounds = self._begins.get(tensor)
        if bounds is not None:
            indices = [self._analyzer.simplify(i - r.min) for i, r in zip(indices, bounds, strict=True)]
        name = self._names.get(tensor)
        if name is None:
            raise LoweringError(f"hybrid.build: tensor {tensor.name!r} must be among the inputs or outputs")
        return f"{name}[{', '.join(self.visit(i) for i in indices)}]"

    def _is_zero(self, e: PrimExpr) -> bool:
        return isinstance(e, IntImm) and e.value == 0

    def visit_ProducerLoad(self, n: ProducerLoad) -> str:
        return self._element(n.producer, n.indices)

    def visit_Var(self, n: Var) -> str:
        if n not in self._names:
            raise LoweringError(f"hybrid.build: variable {n.name!r} must be among the inputs")
        return self._names[n]

    visit_SizeVar = visit_Var

    def visit_IntImm(self, n: IntImm) -> str:
        if n.dtype == "bool":
            return str(bool(n.value))
        return str(n.value) if n.dtype == "int32" else f"{n.dtype}({n.value})"

    def visit_FloatImm(self, n: FloatImm) -> str:
        if math.isinf(n.value):
            return f"{n.dtype}({'inf' if n.value > 0 else 'ninf'})"
        return f"{n.dtype}({n.value!r})"

    def visit_BinaryOp(self, n: BinaryOp) -> str:
        if isinstance(n, (Min, Max)):
            return f"{type(n).__name__.lower()}({self.visit(n.a)}, {self.visit(n.b)})"
        if isinstance(n, Div) and not dt.is_integral(n.dtype):
            return f"({self.visit(n.a)} / {self.visit(n.b)})"
        if n.symbol not in _OPERATORS:
            raise LoweringError(f"hybrid.build: hybrid script does not support {type(n).__name__}")
        return f"({self.visit(n.a)} {n.symbol} {self.visit(n.b)})"

    def visit_Not(self, n: Not) -> str:
        return f"(not {self.visit(n.a)})"

    def visit_Select(self, n: Select) -> str:
        return f"({self.visit(n.true_value)} if {self.visit(n.condition)} else {self.visit(n.false_value)})"

    def visit_Cast(self, n: Cast) -> str:
        return f"{n.dtype}({self.visit(n.value)})"

    def visit_Call(self, n: Call) -> str:
        name = getattr(n.op, "name", str(n.op))
        if name == "tir.if_then_else":
            condition, then, other = (self.visit(a) for a in n.args)
            return f"({then} if {condition} else {other})"
        word = _FUNCTIONS.get(name)
        if word is None:
            raise LoweringError(f"hybrid.build: hybrid script does not support {name}")
        return f"{word}({', '.join(self.visit(a) for a in n.args)})"
