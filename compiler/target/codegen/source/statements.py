"""Code generation for statements in C-like languages.

The calling convention of packed functions is the same as in machine code:
:mod:`compiler.target.codegen.llvm.packed_calls`.
"""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, PrimExpr, StringImm, const
from compiler.ir.expr.substitute import post_order_visit
from compiler.ir.function import GlobalVar
from compiler.ir.functor import Functor, parts_of
from compiler.ir.memory import ALIGNMENT
from compiler.ir.node import Node
from compiler.ir.printing.text import TextBuilder
from compiler.runtime.arrays.c_types import ArgTypeCode
from compiler.runtime.modules.packed_call import FAILED, VARIABLE, dtype_bits
from compiler.target.codegen.signatures import returned_type
from compiler.target.codegen.source.expressions import Expressions, quoted
from compiler.target.codegen.source.program import DeclaredFunction, Program
from compiler.tir.expressions import builtin
from compiler.tir.expressions.builtin import STACK_MAKE_ARRAY, STACK_MAKE_SHAPE
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.allocations import constant_count
from compiler.tir.statements.producer_stmt import Prefetch
from compiler.tir.statements.stmt import COPROC_UOP_SCOPE, RUN_ONCE, THREAD_KEYS, Stmt

_DECLARATION = [
    f"__attribute__((weak)) int32_t (*{VARIABLE})(const char*, int64_t*, int32_t*, int32_t, int64_t*) = NULL;"
]
_ARRAY = [
    "struct array {",
    "    void* data;",
    "    int32_t device_type, device_id, ndim, dtype;",
    "    int64_t *shape, *strides;",
    "    uint64_t byte_offset;",
    "};",
]


def write_packed_call(e: Expressions, n: Call) -> str:
    """Emit the call of a packed function, before the current statement; return the variable that holds the result.

    That with the suffix ``_status`` is nonzero if the call failed.
    """
    name, *args = n.args
    if not isinstance(name, StringImm):
        raise BuildError(f"code generation: call_packed takes the name of a function first, got {name}")
    e.program.definitions.setdefault(VARIABLE, _DECLARATION)
    call = e.names.fresh("packed")
    kinds = [_kind(a) for a in args]
    arrays = [_array(e, a) if kind is ArgTypeCode.DLTENSOR_HANDLE else "" for a, kind in zip(args, kinds, strict=True)]
    e.out.write(f"int64_t {call}_values[] = {{")
    for number, (argument, kind) in enumerate(zip(args, kinds, strict=True)):
        e.out.write(", " if number else "")
        _value(e, argument, kind, arrays[number])
    e.out.line("};" if args else "0};")
    codes = ", ".join(str(int(kind)) for kind in kinds) or "0"
    e.out.line(f"int32_t {call}_codes[] = {{{codes}}};")
    e.out.line(f"int64_t {call}_result[2] = {{0, {int(ArgTypeCode.INT)}}};")
    values = f"{quoted(name.value)}, {call}_values, {call}_codes, {len(args)}, {call}_result"
    failed = e.program.message(FAILED)
    e.out.line(f"int32_t {call}_status = {VARIABLE}({values}) != 0 ? {failed} : 0;")
    e.out.line(f"int64_t {call} = {call}_result[0];")
    return call


def _kind(a: PrimExpr) -> ArgTypeCode:
    if isinstance(a, StringImm):
        return ArgTypeCode.STR
    if isinstance(a, Call) and a.op is STACK_MAKE_ARRAY:
        return ArgTypeCode.DLTENSOR_HANDLE
    if a.dtype.startswith("handle"):
        return ArgTypeCode.HANDLE
    return ArgTypeCode.FLOAT if dt.is_float(a.dtype) else ArgTypeCode.INT


def _value(e: Expressions, a: PrimExpr, kind: ArgTypeCode, array: str) -> None:
    """Emit the 64 bits of an argument."""
    if kind is ArgTypeCode.DLTENSOR_HANDLE:
        e.out.write(f"(int64_t)(intptr_t)&{array}")
    elif kind is ArgTypeCode.FLOAT:
        e.write(e.program.reinterpretation("float64", "int64"), "((double)(", a, "))")
    elif kind is ArgTypeCode.INT:
        e.write("(int64_t)(", a, ")")
    else:
        e.write("(int64_t)(intptr_t)(", a, ")")


def _array(e: Expressions, n: PrimExpr) -> str:
    """Emit a variable that describes an array, and return its name."""
    assert isinstance(n, Call)
    data, shape, strides, rank, kind, offset = n.args
    e.program.definitions.setdefault("struct array", _ARRAY)
    name = e.names.fresh("array")
    extents, steps = _extents(e, shape, f"{name}_shape"), _extents(e, strides, f"{name}_strides")
    size = dt.storage_bytes(kind.dtype)
    e.write(f"struct array {name} = {{", data, ", 1, 0, ", rank, f", {dtype_bits(kind.dtype)}, {extents}, {steps}, ")
    e.write("(uint64_t)(", offset, f") * {size}}};")
    e.out.newline()
    return name


def _extents(e: Expressions, n: PrimExpr, name: str) -> str:
    if not isinstance(n, Call) or n.op is not STACK_MAKE_SHAPE:
        return "NULL"
    e.out.write(f"int64_t {name}[] = {{")
    for number, extent in enumerate(n.args):
        e.write(", " if number else "", extent)
    e.out.line("};" if n.args else "0};")
    return name


MAX_STACK_BYTES = 16 << 10
"""The size in bytes of the largest array on the stack; larger ones are allocated on the heap."""


class Statements(Functor):
    """Emits the statements of a function; ``returns`` is the data type of ``tir.ret``, empty if there is none."""

    def __init__(self, program: Program, out: TextBuilder, returns: str) -> None:
        self.program = program
        self.out = out
        self.spelling = program.language.spelling
        self.expressions = Expressions(program, out)
        self.names = self.expressions.names
        self._returns = returns
        self._heap: list[str] = []

    def visit(self, n: Stmt, *args: object) -> None:
        """Emit a statement, after the function calls within its expressions."""
        with self.out.at(n):
            for part in parts_of(n, PrimExpr):
                self._make_calls(part)
            Functor.visit(self, n)

    def visit_Node(self, n: Stmt) -> None:
        raise BuildError(f"code generation: {type(n).__name__} must be lowered before code generation")

    def _line(self, *parts: str | PrimExpr) -> None:
        self.expressions.write(*parts)
        self.out.newline()

    def _fill(self, template: str, **parts: str | PrimExpr) -> None:
        """Emit a line from a template."""
        self.expressions.fill(template, **parts)
        self.out.newline()

    def _braces(self, body: Stmt) -> None:
        with self.out.indented(), self.names.braces():
            self.visit(body)

    def _inside(self, *statements: Stmt) -> None:
        """Emit the statements within another one, indented, without attributing their lines to it."""
        with self.out.apart():
            for statement in statements:
                self.visit(statement)

    def visit_SeqStmt(self, n: tir.SeqStmt) -> None:
        self._inside(*n.seq)

    def visit_DeclBuffer(self, n: tir.DeclBuffer) -> None:
        self._inside(n.body)

    def visit_Prefetch(self, n: Prefetch) -> None:
        """Ignore the hint, as the buffer has no address yet."""

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        self.expressions.element(n.buffer, n.indices)
        self._line(" = ", n.value, ";")

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        value = n.value
        if isinstance(value, Call) and value.op is builtin.RET:
            self._return(value)
        elif isinstance(value, Call) and value not in self.expressions.results:
            self._line(value, ";")

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        typ = self.program.language.type(n.var.dtype)
        name = self.names.fresh(n.var.name)
        self._fill(self.spelling.declaration, type=typ, name=name, value=n.value)
        self.names.bind(n.var, name)
        self._inside(n.body)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> None:
        if n.attr_key in THREAD_KEYS:
            raise BuildError(f"build: {n.node} is bound to a thread axis, and {self.program.language.name!r} has none")
        if n.attr_key == COPROC_UOP_SCOPE:
            self._once(n)
        else:
            self._inside(n.body)

    def _once(self, n: tir.AttrStmt) -> None:
        """Emit statements that are executed by the first call only."""
        name = n.value.value if isinstance(n.value, StringImm) else str(n.value)
        if name != RUN_ONCE:
            raise BuildError(f"build: {COPROC_UOP_SCOPE} {name!r} is for a coprocessor; a CPU only has {RUN_ONCE!r}")
        done = self.names.fresh("done")
        self._line(f"static bool {done} = false;")
        self._line(f"if (!{done}) {{")
        with self.out.indented():
            self._line(f"{done} = true;")
        self._braces(n.body)
        self._line("}")

    # control

    def visit_For(self, n: tir.For) -> None:
        if n.kind is tir.ForKind.THREAD_BINDING:
            raise BuildError(f"build: the loop over {n.loop_var.name} is bound to a thread axis; a CPU has none")
        typ = self.program.language.type(n.loop_var.dtype)
        with self.names.braces():
            if n.kind is tir.ForKind.UNROLLED and self.spelling.unrolled:
                self._line(self.spelling.unrolled)
            name = self.names.define(n.loop_var)
            self._fill(self.spelling.loop, type=typ, name=name, min=n.min, end=n.min + n.extent)
            self._braces(n.body)
            self._line("}")

    def visit_While(self, n: tir.While) -> None:
        self._line("while (", n.condition, ") {")
        self._braces(n.body)
        self._line("}")

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        self._line("if (", n.condition, ") {")
        self._braces(n.then_case)
        if n.else_case is not None:
            self._line("} else {")
            self._braces(n.else_case)
        self._line("}")

    def visit_AssertStmt(self, n: tir.AssertStmt) -> None:
        text = n.message.value if isinstance(n.message, StringImm) else str(n.message)
        self.expressions.write("if (!(", n.condition, "))")
        self._fail(str(self.program.message(text)))
        self._inside(n.body)

    def _fail(self, status: str) -> None:
        """Complete a line that is a condition with a return from the function."""
        self._line(" {")
        with self.out.indented():
            self._leave(status)
        self._line("}")

    def _leave(self, status: str) -> None:
        for pointer in reversed(self._heap):
            self._line(f"free({pointer});")
        self._line(f"return {status};")

    def _return(self, n: Call) -> None:
        if self._returns and n.args:
            (value,) = n.args
            kind = returned_type(value.dtype)
            if kind != self._returns:
                raise BuildError(
                    f"code generation: a function returns values of different types, {self._returns} and {value.dtype}"
                )
            passed = "int64" if dt.is_bool(kind) else kind
            self._line(f"*result = ({self.program.language.type(passed)})(", value, ");")
        self._leave("0")

    # memory

    def visit_Allocate(self, n: tir.Allocate) -> None:
        var, typ = n.buffer_var, self.program.language.type(n.dtype)
        self.expressions.elements[var] = n.dtype
        count = constant_count(n.extents)
        name = self.names.define(var)
        if count and (self.program.is_static or count * dt.storage_bytes(n.dtype) <= MAX_STACK_BYTES):
            static = "static " * self.program.is_static
            self._line(f"{static}_Alignas({ALIGNMENT}) {typ} {name}[{count}];")
            self._inside(n.body)
            return
        self._allocate_on_heap(n, name, typ)
        self._heap.append(name)
        self._inside(n.body)
        self._line(f"free({self._heap.pop()});")

    def visit_AllocateConst(self, n: tir.AllocateConst) -> None:
        if n.data is None:
            raise BuildError(f"code generation: the contents of {n.buffer_var.name} are constants of its module")
        self.expressions.elements[n.buffer_var] = n.dtype
        typ, name = self.program.language.type(n.dtype), self.names.define(n.buffer_var)
        numbers = n.data.view().reshape(-1).tolist()
        parts = [part for number in numbers for part in (const(number, n.dtype), ", ")]
        self._line(f"static const {typ} {name}[{len(numbers)}] = {{", *parts[:-1], "};")
        self._inside(n.body)

    def _allocate_on_heap(self, n: tir.Allocate, name: str, typ: str) -> None:
        self.expressions.write(f"{typ}* {name} = aligned_alloc({ALIGNMENT}, ((size_t)sizeof({typ})")
        for extent in n.extents:
            self.expressions.write(" * (size_t)(", extent, ")")
        self._line(f" + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT});")
        self.out.write(f"if ({name} == NULL)")
        self._fail(str(self.program.message(f"not enough memory for {n.buffer_var.name}")))

    # calls

    def _make_calls(self, e: PrimExpr) -> None:
        """Emit the function calls within an expression, and store their results in variables."""

        def make(n: Node) -> None:
            if not isinstance(n, Call) or n in self.expressions.results:
                return
            if n.op is builtin.CALL_PACKED:
                self.expressions.results[n] = write_packed_call(self.expressions, n)
                self._check(self.expressions.results[n] + "_status")
            elif (callee := self._callee(n)) is not None:
                args = n.args if isinstance(n.op, GlobalVar) else n.args[1:]
                self.expressions.results[n] = self._call(callee, args)

        post_order_visit(e, make)

    def _callee(self, n: Call) -> DeclaredFunction | None:
        if isinstance(n.op, GlobalVar):
            callee = self.program.functions.get(n.op.name_hint)
            if callee is None:
                raise BuildError(f"code generation: the module has no function {n.op.name_hint!r}")
            return callee
        if n.op in (builtin.CALL_EXTERN, builtin.CALL_PURE_EXTERN) and isinstance(n.args[0], StringImm):
            return self.program.functions.get(n.args[0].value)
        return None

    def _call(self, callee: DeclaredFunction, args: tuple[PrimExpr, ...]) -> str:
        """Emit the call of a function of the program; return the variable that holds its result."""
        signature = callee.signature
        if callee.func.buffer_map or len(args) != len(callee.func.params):
            raise BuildError(
                f"code generation: {signature.name} is called with {len(args)} numbers and pointers, which do not"
                f" match its parameters"
            )
        value = self.names.fresh("value")
        if signature.returns:
            kind = "int64" if dt.is_bool(signature.returns) else signature.returns
            self._line(f"{self.program.language.type(kind)} {value} = 0;")
        status = self.names.fresh("status")
        self.expressions.write(f"int32_t {status} = {signature.symbol}(")
        for number, argument in enumerate(args):
            self.expressions.write(", " if number else "", argument)
        if signature.returns:
            self.out.write(f"{', ' if args else ''}&{value}")
        self._line(");")
        self._check(status)
        return value if signature.returns else "0"

    def _check(self, status: str) -> None:
        """Return from the function if a callee failed."""
        self.out.write(f"if ({status} != 0)")
        self._fail(status)
