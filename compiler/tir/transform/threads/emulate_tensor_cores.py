"""Emulates tensor-core products with ordinary threads and shared memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, IntImm, Max, Min, PrimExpr, StringImm, Var, cast, const
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.arithmetic import bitwise_and
from compiler.tir.expressions.builtin import ACCESS_PTR, storage_sync
from compiler.tir.expressions.tensor_core_ops import MATRIX_OPS
from compiler.tir.layout.matrix_fragments import GROUP, NIBBLES, WARP, MatrixProduct, fragment_element, matrix_product
from compiler.tir.statements.allocations import allocated, element_count, pointer_scope
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Allocate, AttrStmt, DeclBuffer, Evaluate, For, ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator

_FRAGMENT_SCOPE = "wmma."
_LDMATRIX_BYTES = 16
"""Bytes of a row that ``ldmatrix`` loads."""


class EmulateTensorCores(StmtExprMutator):
    """Replaces the operators of tensor cores by loops of each thread of a warp, with barriers of the warp between.

    Operands in registers go through memory that the block shares, in the places that the published layout gives them;
    a fragment of ``wmma``, whose layout is not published, is a matrix in shared memory.  For example, for a thread
    ``tx`` of 32::

        T.ptx_mma("float32", "m16n8k16", "row",          for i in range(8):
            "col", "fp16", "fp16", "fp32",                   matrix_a[row(tx, i) * 16 + column(tx, i)] = a[i]
            a, 0, b, 0, c, 0, False)              →      for i in range(4):
                                                             matrix_b[column(tx, i) * 16 + row(tx, i)] = b[i]
                                                         T.tvm_storage_sync("warp")
                                                         for i in range(4):
                                                             c[i] = c[i] + matrix_a[…] * matrix_b[…] + …
                                                         T.tvm_storage_sync("warp")

    Sums of half-precision numbers are rounded once, at the end of an instruction. ``thread`` is the position of a
    thread in its block of ``threads``, which must be full warps. Raises LoweringError if a block has no full warps, or
    nothing is said of the layout of an instruction's operands.
    """

    def __init__(self, thread: PrimExpr, threads: PrimExpr) -> None:
        self._thread, self._threads = thread, threads
        self._lane, self._warp = thread % WARP, thread // WARP
        self._buffers: dict[Var, Buffer] = {}
        """The memory that pointers lead to, as the kernel accesses it."""
        self._fragments: dict[Var, Buffer] = {}
        self._extents: dict[Var, tuple[int, int, int]] = {}
        self._exchanges: dict[tuple[str, str, int], Buffer] = {}
        self._rules: Mapping[str, Callable[[Call], list[Stmt]]] = {
            "tir.ptx_mma": self._multiply_registers,
            "tir.ptx_ldmatrix": self._load_registers,
            "tir.mma_fill": self._fill_registers,
            "tir.mma_store": self._store_registers,
            "tir.tvm_fill_fragment": self._fill_fragment,
            "tir.tvm_load_matrix_sync": self._load_fragment,
            "tir.tvm_store_matrix_sync": self._store_fragment,
            "tir.tvm_mma_sync": self._multiply_fragments,
        }

    def lowered(self, code: Stmt) -> Stmt:
        """Return what a thread does, without operators of tensor cores."""
        code = self.visit(code)
        for buffer in self._exchanges.values():
            code = allocated(buffer, code)
        return code

    # Memory

    def visit_DeclBuffer(self, n: DeclBuffer) -> Stmt:
        self._buffers.setdefault(n.buffer.data, n.buffer)
        return self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key not in ("fragment_shape", "fragment_layout"):
            return self.visit_Node(n)
        if n.attr_key == "fragment_shape" and isinstance(n.value, StringImm) and isinstance(n.node, Var):
            m, n_extent, k = (int(extent) for extent in n.value.value.split(","))
            self._extents[n.node] = (m, n_extent, k)
        return self.visit(n.body)

    def visit_Allocate(self, n: Allocate) -> Stmt:
        elements = element_count(cast("int32", extent) for extent in n.extents)
        scope = pointer_scope(n.buffer_var)
        if not scope.startswith(_FRAGMENT_SCOPE):
            self._buffers[n.buffer_var] = Buffer(n.buffer_var, n.dtype, (elements,), (), const(0), n.buffer_var.name)
            return self.visit_Node(n)
        data = Var(n.buffer_var.name, "handle", PointerType(PrimType(n.dtype), "shared"))
        shape = (self._threads // WARP * elements,)
        self._fragments[n.buffer_var] = Buffer(data, n.dtype, shape, (), const(0), data.name)
        body = self.visit(n.body)
        return rebuild(n, buffer_var=data, extents=shape, body=body)

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        call = n.value
        if not isinstance(call, Call) or not isinstance(call.op, Op) or call.op.name not in MATRIX_OPS:
            return self.visit_Node(n)
        rule, name = self._rules.get(call.op.name), call.op.name.removeprefix("tir.")
        if rule is None:
            raise LoweringError(f"emulation: {name}{user_place(call.span)} is an instruction that only devices support")
        if isinstance(self._threads, IntImm) and self._threads.value % WARP:
            raise LoweringError(
                f"emulation: {name}{user_place(call.span)} is an instruction of {WARP} threads, but a block has "
                f"{self._threads.value}, which are not full warps"
            )
        return seq(rule(call))

    def _exchange(self, name: str, dtype: str, elements: int) -> tuple[Buffer, PrimExpr]:
        """Return memory of a warp for a matrix, and where this warp's begins."""
        key = (name, dtype, elements)
        if key not in self._exchanges:
            self._exchanges[key] = decl_buffer((self._threads // WARP * elements,), dtype, name, scope="shared")
        return self._exchanges[key], self._warp * elements

    def _registers(self, pointer: PrimExpr, dtype: str) -> Buffer:
        """Return the memory of a pointer as elements of a type."""
        assert isinstance(pointer, Var)
        buffer = self._buffers[pointer]
        if buffer.dtype == dtype:
            return buffer
        size = dt.storage_bytes(buffer.dtype)
        return rebuild(buffer, dtype=dtype, shape=(buffer.shape[0] * size // dt.storage_bytes(dtype),))

    def _address(self, access: PrimExpr, stride: PrimExpr, rows: int) -> tuple[Buffer, PrimExpr]:
        """Return the memory that ``tvm_access_ptr`` leads to, and the place in it."""
        if not isinstance(access, Call) or access.op is not ACCESS_PTR or not isinstance(access.args[1], Var):
            raise LoweringError(f"emulation: cannot tell the memory of a matrix from {access}; pass Buffer.access_ptr")
        kind, data, offset = access.args[0], access.args[1], access.args[2]
        buffer = self._buffers.get(data)
        if buffer is None or len(buffer.shape) != 1:
            buffer = Buffer(data, kind.dtype, (offset + stride * rows,), (), const(0), data.name)
        return (buffer if buffer.dtype == kind.dtype else self._registers(data, kind.dtype)), offset

    # Instructions of PTX, whose operands are in registers

    def _own_elements(self, pointer: PrimExpr, offset: PrimExpr, elements: int) -> PrimExpr:
        """Return where a thread's elements of an accumulator begin; memory of a warp has those of all threads."""
        if getattr(getattr(pointer, "type_annotation", None), "storage_scope", "") != "warp":
            return offset
        return offset + self._lane * elements

    def _fill_registers(self, n: Call) -> list[Stmt]:
        elements, pointer, offset = n.args
        assert isinstance(elements, IntImm)
        begin = self._own_elements(pointer, offset, elements.value)
        target, zero = self._registers(pointer, n.dtype), const(0, n.dtype)
        return [_each(elements.value, lambda i: BufferStore(target, zero, (begin + i,)))]

    def _store_registers(self, n: Call) -> list[Stmt]:
        rows, columns, access, pointer, offset, stride = n.args
        assert isinstance(rows, IntImm)
        assert isinstance(columns, IntImm)
        elements = rows.value * columns.value // WARP
        begin = self._own_elements(pointer, offset, elements)
        source = self._registers(pointer, n.dtype)
        target, place = self._address(access, stride, rows.value)

        def store(i: PrimExpr) -> Stmt:
            row, column = fragment_element(self._lane, i, rows.value, 2)
            return BufferStore(target, BufferLoad(source, (begin + i,)), (place + row * stride + column,))

        return [_each(elements, store)]

    def _load_registers(self, n: Call) -> list[Stmt]:
        transposed, matrices, _, pointer, offset, access, row = n.args
        size = dt.storage_bytes(n.dtype)
        per_row, is_transposed = _LDMATRIX_BYTES // size, bool(getattr(transposed, "value", 0))
        assert isinstance(matrices, IntImm)
        if is_transposed and size != 2:
            raise LoweringError(f"emulation: ldmatrix{user_place(n.span)} only transposes 16-bit elements")
        own = per_row * GROUP // WARP
        addresses, first = self._exchange("addresses", "int32", WARP)
        source, place = self._address(access, row, 1)
        target = self._registers(pointer, n.dtype)

        def load(i: PrimExpr) -> Stmt:
            line, column = fragment_element(self._lane, i % own, GROUP, own)
            if is_transposed:
                line, column = column, line
            begin = BufferLoad(addresses, (first + i // own * GROUP + line,))
            return BufferStore(target, BufferLoad(source, (begin + column,)), (offset + i,))

        address = BufferStore(addresses, cast("int32", place + row), (first + self._lane,))
        return [address, _wait(), _each(matrices.value * own, load), _wait()]

    def _multiply_registers(self, n: Call) -> list[Stmt]:
        words = [word.value if isinstance(word, StringImm) else "" for word in n.args[:6]]
        product = matrix_product(words[0], *words[3:])
        if product is None or words[1:3] != ["row", "col"]:
            raise LoweringError(
                f"emulation: ptx_mma{user_place(n.span)} of {' '.join(words)} has a fragment layout that is not"
                f" supported: only row-by-column m8n8 and m16n8 products are"
            )
        left = self._operand(n.args[6], n.args[7], words[3], product.a)
        right = self._operand(n.args[8], n.args[9], words[4], product.b)
        a, a_first = self._exchange("matrix_a", product.a, product.m * product.k)
        b, b_first = self._exchange("matrix_b", product.b, product.n * product.k)
        saturates = bool(getattr(n.args[12], "value", 0))
        accumulator, begin = self._registers(n.args[10], product.c), n.args[11]

        def multiply(i: PrimExpr) -> Stmt:
            row, column = fragment_element(self._lane, i, product.m, 2)
            total = _Sum(product, saturates)
            return BufferStore(
                accumulator,
                total.of(
                    BufferLoad(accumulator, (begin + i,)),
                    lambda k: BufferLoad(a, (a_first + row * product.k + k,)),
                    lambda k: BufferLoad(b, (b_first + column * product.k + k,)),
                ),
                (begin + i,),
            )

        return [
            self._exchanged(a, a_first, left, product.m, product.k, product.a_row),
            self._exchanged(b, b_first, right, product.n, product.k, product.b_row),
            _wait(),
            _each(product.m * product.n // WARP, multiply),
            _wait(),
        ]

    def _operand(self, pointer: PrimExpr, offset: PrimExpr, word: str, dtype: str) -> Callable[[PrimExpr], PrimExpr]:
        """Return what gives an element of a thread by its number."""
        if word not in NIBBLES:
            registers = self._registers(pointer, dtype)
            return lambda i: BufferLoad(registers, (offset + i,))
        registers = self._registers(pointer, "uint8")
        assert isinstance(pointer, Var)
        begin = offset * dt.storage_bytes(self._buffers[pointer].dtype)

        def nibble(i: PrimExpr) -> PrimExpr:
            bits = bitwise_and(cast("int32", BufferLoad(registers, (begin + i // 2,))) >> (i % 2 * 4), 15)
            return cast(dtype, bits - bits // 8 * 16 if word == "int4" else bits)

        return nibble

    def _exchanged(
        self,
        matrix: Buffer,
        first: PrimExpr,
        element: Callable[[PrimExpr], PrimExpr],
        rows: int,
        columns: int,
        row: int,
    ) -> Stmt:
        """Return the stores of a thread's elements to a matrix."""

        def store(i: PrimExpr) -> Stmt:
            at, column = fragment_element(self._lane, i, rows, row)
            return BufferStore(matrix, element(i), (first + at * columns + column,))

        return _each(rows * columns // WARP, store)

    # Fragments of wmma

    def _fragment(self, pointer: PrimExpr, index: PrimExpr, elements: int) -> tuple[Buffer, PrimExpr]:
        """Return the memory of a warp's fragment, and where it begins."""
        assert isinstance(pointer, Var)
        buffer = self._fragments[pointer]
        return buffer, self._warp * (buffer.shape[0] // (self._threads // WARP)) + index * elements

    def _shape(self, pointer: PrimExpr) -> tuple[int, int]:
        """Return the rows and columns of a fragment."""
        assert isinstance(pointer, Var)
        m, n, k = self._extents[pointer]
        scope = pointer_scope(pointer)
        return {"wmma.matrix_a": (m, k), "wmma.matrix_b": (k, n)}.get(scope, (m, n))

    def _elements(self, rows: int, columns: int, element: Callable[[PrimExpr], Stmt]) -> list[Stmt]:
        """Return what a thread does with its share of the elements of a fragment, given their numbers."""
        return [_each(rows * columns // WARP, lambda i: element(i * WARP + self._lane))]

    def _fill_fragment(self, n: Call) -> list[Stmt]:
        pointer, *_, index, value = n.args
        rows, columns = self._shape(pointer)
        target, first = self._fragment(pointer, index, rows * columns)
        filled = cast(target.dtype, value)
        return self._elements(rows, columns, lambda e: BufferStore(target, filled, (first + e,)))

    def _copied(self, n: Call, loads: bool) -> list[Stmt]:
        """Return the copy of a thread's elements between a fragment and other memory."""
        pointer, *_, index, access, stride, layout = n.args
        rows, columns = self._shape(pointer)
        fragment, first = self._fragment(pointer, index, rows * columns)
        is_rows = isinstance(layout, StringImm) and layout.value == "row_major"
        memory, begin = self._address(access, stride, rows if is_rows else columns)

        def copy(e: PrimExpr) -> Stmt:
            row, column = e // columns, e % columns
            place = begin + (row * stride + column if is_rows else column * stride + row)
            if loads:
                return BufferStore(fragment, BufferLoad(memory, (place,)), (first + e,))
            return BufferStore(memory, BufferLoad(fragment, (first + e,)), (place,))

        return self._elements(rows, columns, copy)

    def _load_fragment(self, n: Call) -> list[Stmt]:
        return self._copied(n, loads=True)

    def _store_fragment(self, n: Call) -> list[Stmt]:
        return self._copied(n, loads=False)

    def _multiply_fragments(self, n: Call) -> list[Stmt]:
        target, a, b, c = (n.args[at] for at in range(0, 8, 2))
        assert isinstance(target, Var)
        m, columns, depth = self._extents[target]
        sizes = (m * columns, m * depth, depth * columns, m * columns)
        parts = [
            self._fragment(pointer, index, size)
            for pointer, index, size in zip((target, a, b, c), n.args[1::2], sizes, strict=True)
        ]
        (d, d_first), (left, left_first), (right, right_first), (before, before_first) = parts
        product = MatrixProduct(m, columns, depth, left.dtype, right.dtype, d.dtype, 1, 1)

        def multiply(e: PrimExpr) -> Stmt:
            total = _Sum(product, False).of(
                BufferLoad(before, (before_first + e,)),
                lambda k: BufferLoad(left, (left_first + e // columns * depth + k,)),
                lambda k: BufferLoad(right, (right_first + k * columns + e % columns,)),
            )
            return BufferStore(d, total, (d_first + e,))

        return [_wait(), *self._elements(m, columns, multiply), _wait()]


class _Sum:
    """A sum of products, in a type that loses nothing before the end of an instruction."""

    def __init__(self, product: MatrixProduct, saturates: bool) -> None:
        self._depth, self._result = product.k, product.c
        is_short = dt.is_float(product.c) and dt.bits(product.c) < 32
        self._saturates = saturates and product.c == "int32"
        self._dtype = "float32" if is_short else "int64" if self._saturates else product.c

    def of(self, total: PrimExpr, a: Callable[[int], PrimExpr], b: Callable[[int], PrimExpr]) -> PrimExpr:
        """Return an element with all products added."""
        total = cast(self._dtype, total)
        for k in range(self._depth):
            total = total + cast(self._dtype, a(k)) * cast(self._dtype, b(k))
        if self._saturates:
            total = Max(Min(total, const(2**31 - 1, "int64")), const(-(2**31), "int64"))
        return cast(self._result, total)


def _each(elements: int, body: Callable[[PrimExpr], Stmt]) -> Stmt:
    """Return a loop over a thread's elements."""
    if elements == 1:
        return body(const(0))
    var = Var("i", "int32")
    return For(var, const(0), const(elements), ForKind.SERIAL, body(var))


def _wait() -> Stmt:
    return Evaluate(storage_sync("warp"))
