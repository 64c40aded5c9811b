"""Code generation for kernels."""

from __future__ import annotations

from contextlib import ExitStack

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError, TargetError
from compiler.ir.expr.primexpr import Call, IntImm, IterVar, PrimExpr, StringImm, Var
from compiler.ir.origin import user_place
from compiler.ir.printing.text import TextBuilder
from compiler.ir.types import PointerType, PrimType
from compiler.target.codegen.source.device import DeviceRules, Head, Kernel, KernelParameter
from compiler.target.codegen.source.lanes import without_vectors
from compiler.target.codegen.source.program import DeclaredFunction, Program
from compiler.target.codegen.source.statements import Statements
from compiler.target.codegen.source.tensor_cores import ACCUMULATOR, FRAGMENTS, elements_of_fragment
from compiler.tir.expressions import builtin
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, AssertStmt, AttrStmt, BufferStore, DeclBuffer, Evaluate
from compiler.tir.statements.stmt_functor import StmtVisitor

_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
_BLOCK_SCOPES = ("shared", "shared.dyn")
"""Scopes of shared memory, which is declared at the top level of a kernel."""
_FRAGMENT_KEYS = ("fragment_shape", "fragment_layout")


def is_kernel(func: PrimFunc) -> bool:
    """Return whether a function is a kernel, i.e. launches threads."""
    facts = _KernelFacts()
    facts.visit(func.body)
    return bool(facts.extents)


def write_kernel(program: Program, out: TextBuilder, function: DeclaredFunction) -> None:
    """Emit a kernel."""
    rules, func = program.language.device, function.func
    if rules is None:
        raise TargetError(f"build: {function.signature.name!r} launches threads; {program.language.name!r} has none")
    facts = _KernelFacts()
    facts.visit(func.body)
    statements = KernelStatements(program, out, rules)
    kernel = Kernel(
        symbol=function.signature.symbol,
        parameters=_parameters(statements, function, facts),
        threads=facts.threads(function.signature.name, rules),
        noalias=function.signature.noalias,
    )
    head = rules.head(kernel)
    if head.before:
        program.globals.update(parameter.name for parameter in kernel.parameters)
        program.definitions[f"parameters of {kernel.symbol}"] = head.before
    _write(statements, head, function, facts)


def _write(statements: KernelStatements, head: Head, function: DeclaredFunction, facts: _KernelFacts) -> None:
    out = statements.out
    with ExitStack() as of:
        for node in (function.func, *facts.launches):
            of.enter_context(out.at(node))
        out.line(head.line)
    with out.indented():
        for line in head.first:
            out.line(line)
        for allocation in facts.of_blocks:
            with out.at(allocation):
                statements.declare(allocation)
        statements.visit(without_vectors(function.func.body, statements.rules.vectors))
    with out.at(function.func):
        out.line("}")


def _parameters(statements: KernelStatements, function: DeclaredFunction, facts: _KernelFacts) -> list[KernelParameter]:
    language, names = statements.program.language, statements.names
    parameters = []
    for var, described in zip(function.func.params, function.signature.parameters, strict=True):
        is_pointer = var.dtype == "handle"
        dtype = facts.element(var) if is_pointer else var.dtype
        if is_pointer:
            dtype = statements.rules.stored.get(dtype, dtype)
        name = names.define(var)
        if is_pointer:
            statements.expressions.elements[var] = dtype
            if not described.written and function.signature.noalias:
                statements.expressions.read_only.add(var)
        written = described.written or not is_pointer
        parameters.append(KernelParameter(name, dtype, language.type(dtype), is_pointer, written))
    return parameters


class _KernelFacts(StmtVisitor):
    """Collects the facts that the head of a kernel depends on."""

    def __init__(self) -> None:
        self.launches: list[AttrStmt] = []
        """The thread launches, which the head of the kernel depends on."""
        self.extents: dict[str, PrimExpr] = {}
        self.of_blocks: list[Allocate] = []
        self._elements: dict[Var, str] = {}

    def element(self, pointer: Var) -> str:
        """Return the element type of a pointer parameter."""
        kind = pointer.type_annotation
        if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType) and kind.element_type.dtype:
            return dt.element(kind.element_type.dtype)
        return dt.element(self._elements.get(pointer, "float32"))

    def threads(self, name: str, rules: DeviceRules) -> tuple[int, int, int] | None:
        """Return the threads per block along x, y and z; None if they are not constant."""
        extents = [self.extents.get(axis, IntImm("int32", 1)) for axis in _AXES]
        counts = [e.value for e in extents if isinstance(e, IntImm)]
        if len(counts) == len(_AXES):
            return counts[0], counts[1], counts[2]
        if rules.needs_constant_threads:
            raise TargetError(
                f"build: kernel {name!r} has {', '.join(map(str, extents))} threads per block, and the number"
                f" must be constant; split the axis by a constant and bind the inner part to threadIdx"
            )
        return None

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            self.launches.append(n)
            self.extents.setdefault(n.node.thread_tag, n.value)
        self.visit_Node(n)

    def visit_Allocate(self, n: Allocate) -> None:
        if pointer_scope(n.buffer_var) in _BLOCK_SCOPES:
            self.of_blocks.append(n)
        self.visit_Node(n)

    def visit_DeclBuffer(self, n: DeclBuffer) -> None:
        self._elements.setdefault(n.buffer.data, n.buffer.dtype)
        self.visit_Node(n)


class KernelStatements(Statements):
    """Emits the statements of a kernel."""

    def __init__(self, program: Program, out: TextBuilder, rules: DeviceRules) -> None:
        super().__init__(program, out, "")
        self.rules = rules
        self._fragments: dict[Var, dict[str, str]] = {}

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        """Bind a thread axis to its expression in the language."""
        if n.attr_key == "thread_extent" and isinstance(n.node, IterVar):
            axis = self.rules.axes.get(n.node.thread_tag)
            if axis is None:
                raise TargetError(
                    f"build: target {self.program.language.name!r} has no thread axis {n.node.thread_tag!r}"
                    f"{user_place(n.span)}; it has "
                    f"{', '.join(self.rules.axes)}"
                )
            index = self.program.language.cast(n.node.var.dtype, axis)
            self.names.bind(n.node.var, f"({index})" if index.startswith("(") else index)
        elif n.attr_key in _FRAGMENT_KEYS and isinstance(n.node, Var) and isinstance(n.value, StringImm):
            self._fragments.setdefault(n.node, {})[n.attr_key] = n.value.value
        self._inside(n.body)

    # memory

    def visit_Allocate(self, n: Allocate) -> None:
        if pointer_scope(n.buffer_var) not in _BLOCK_SCOPES:
            self.declare(n)
        self._inside(n.body)

    def declare(self, n: Allocate) -> None:
        """Emit the declaration of an array where the language requires it for its scope."""
        scope, element = pointer_scope(n.buffer_var), dt.element(n.dtype)
        scope = "local" if scope == "global" else scope
        template = self.rules.memory.get(scope)
        if template is None:
            raise BuildError(
                f"build: target {self.program.language.name!r} has no memory of scope {scope!r}, which "
                f"{n.buffer_var.name}{user_place(n.span)} is of; it has {', '.join(self.rules.memory)}"
            )
        name = self.names.define(n.buffer_var)
        self.expressions.elements[n.buffer_var] = element
        parts = {"type": self.program.language.type(element), "name": name, "count": _count(n, scope)}
        if scope in FRAGMENTS:
            parts |= self._fragment(n, scope, int(parts["count"]))
        line = template.format(**parts)
        if scope in self.rules.module_memory:
            self.program.globals.add(name)
            self.program.definitions[f"memory {name}"] = [line]
        else:
            self._line(line)

    def _fragment(self, n: Allocate, scope: str, elements: int) -> dict[str, str]:
        """Return the fields of the declaration of an array of tensor core fragments."""
        said = self._fragments.get(n.buffer_var, {})
        shape, layout = (said.get(key, "") for key in _FRAGMENT_KEYS)
        if not shape or (not layout and scope != ACCUMULATOR):
            raise BuildError(
                f"build: the shape and layout are unknown for the fragments {n.buffer_var.name} of scope {scope!r}"
                f"{user_place(n.span)}; load and store them by intrinsics of tensor cores"
            )
        count = elements // elements_of_fragment(scope, shape)
        return {"shape": shape, "layout": layout, "count": str(max(count, 1))}

    def visit_BufferStore(self, n: BufferStore) -> None:
        if dt.lanes(n.value.dtype) == 1:
            super().visit_BufferStore(n)
            return
        vectors, value = self.rules.vectors, n.value
        assert vectors is not None
        assert isinstance(value, BufferLoad)
        before, after = self._vector(vectors.store, n).split("{value}")
        self._at(before, n)
        self._load(value)
        self._at(after, n)
        self.out.newline()

    def _load(self, n: BufferLoad) -> None:
        assert self.rules.vectors is not None
        with self.out.at(n):
            template = self._vector(self.rules.vectors.load, n)
            read_only = self.rules.read_only.get(dt.element(n.dtype))
            if read_only is not None and n.buffer.data in self.expressions.read_only:
                template = read_only.format(template.removeprefix("*")).replace("&(", "(", 1)
            self._at(template, n)

    def _vector(self, template: str, n: BufferLoad | BufferStore) -> str:
        """Return the template of a vector access, with the pointer and the value left open."""
        assert self.rules.vectors is not None
        dtype = n.dtype if isinstance(n, BufferLoad) else n.value.dtype
        vector = self.rules.vectors.type_of(dtype)
        space = self.expressions.space(n.buffer.data)
        return template.format(vector=vector, lanes=dt.lanes(dtype), space=space, pointer="{pointer}", value="{value}")

    def _at(self, template: str, n: BufferLoad | BufferStore) -> None:
        """Emit a piece of a template, with the address of the first lane as the pointer."""
        before, *after = template.split("{pointer}")
        self.out.write(before)
        for text in after:
            start = n.indices[0].base + n.buffer.elem_offset  # type: ignore[attr-defined]
            self.expressions.write(f"{self.expressions.pointer(n.buffer)} + ", start, text)

    # calls

    def visit_Evaluate(self, n: Evaluate) -> None:
        value = n.value
        if isinstance(value, Call) and value.op is builtin.STORAGE_SYNC:
            self._barrier(value)
        elif isinstance(value, Call) and value.op is builtin.RET:
            self._line("return;")
        elif not isinstance(value, IntImm):
            super().visit_Evaluate(n)

    def _barrier(self, n: Call) -> None:
        scope = n.args[0].value if isinstance(n.args[0], StringImm) else str(n.args[0])
        statement = self.rules.barriers.get(scope)
        if statement is None:
            raise BuildError(
                f"build: target {self.program.language.name!r} has no barrier for memory of scope {scope!r}"
                f"{user_place(n.span)}; it has them for {', '.join(self.rules.barriers)}"
            )
        if statement:
            self._line(statement)

    def visit_AssertStmt(self, n: AssertStmt) -> None:
        raise BuildError(
            f"build: a kernel cannot fail, and this one asserts {n.condition}{user_place(n.span)}; the pass context's "
            "tir.disable_assert leaves assertions out"
        )


def _count(n: Allocate, scope: str) -> str:
    """Return the number of elements of an array."""
    count = dt.lanes(n.dtype)
    for extent in n.extents:
        if not isinstance(extent, IntImm):
            if scope == "shared.dyn":
                return ""
            raise BuildError(
                f"build: {n.buffer_var.name} of scope {scope!r}{user_place(n.span)} has {extent} elements, and arrays "
                "of a kernel are of constant size; split the axes that it is computed at by constants"
            )
        count *= extent.value
    return str(count)
