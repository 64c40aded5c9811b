"""Sums of products of small matrices: AArch64's ``smmla``, ``ummla``, ``usmmla`` and ``bfmmla``.

A nest of loops that the pragma ``tile_product`` marks (see :mod:`~.tile_products`) is computed in blocks of two rows by
two columns, each in one register.  An instruction adds the products of two groups of four bytes, or of two bfloat16,
along the sum to each of the four::

    | a[0, 0:8] |     | b[0:8, 0]  b[0:8, 1] |      | c[0, 0]  c[0, 1] |
    | a[1, 0:8] |  ×  |                      |   +  | c[1, 0]  c[1, 1] |

Sums of bytes wrap around like 32-bit arithmetic.  Those of bfloat16 are float32, in the order and with the rounding of
the instruction, which takes denormal numbers for zeros.
"""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from compiler.ir.expr.primexpr import Var
from compiler.target.codegen.llvm.memory import Memory
from compiler.target.codegen.llvm.selection.tile_products import TileOperand, TileProduct, read_product
from compiler.target.codegen.llvm.state import NOT_UNROLLED, FunctionState, suffix
from compiler.target.codegen.llvm.types import I8, I32, I64, BFloatType, lane_mask
from compiler.target.cpu.cpu_features import matrix_dtypes
from compiler.tir.statements.stmt import Stmt

_LANES = 4
_WORDS = ir.VectorType(I32, _LANES)
_HALVES = ir.VectorType(I64, 2)
_FIRST, _SECOND = [0, 1, 4, 5], [2, 3, 6, 7]
_EVEN, _ODD = [0, 4, 1, 5], [2, 6, 3, 7]
_NAMES = {("int8", "int8"): "smmla", ("uint8", "uint8"): "ummla", ("uint8", "int8"): "usmmla"}


def matrix_product(state: FunctionState, memory: Memory, body: Stmt) -> bool:
    """Generate code for a nest of loops in blocks of two by two sums; False for other nests and other targets."""
    target = state.shared.target
    known = matrix_dtypes(target.triple, target.cpu, target.llvm_features)
    product = read_product(body, state.definitions, known) if known else None
    if product is None or len(product.outer) > 1 or len(product.blocks) > 1:
        return False
    dtypes = (product.left.buffer.dtype, product.right.buffer.dtype)
    if product.extents[product.depth] % 2 or product.extents[product.lanes] % _LANES:
        return False
    if product.sums.buffer.dtype == "int32" and dtypes not in _NAMES:
        return False
    _Writer(state, memory, product).write()
    return True


class _Writer:
    """Writes a product; its sums are vectors in the order of pairs of rows, then of pairs of columns."""

    def __init__(self, state: FunctionState, memory: Memory, product: TileProduct) -> None:
        self._state, self._memory, self._product = state, memory, product
        is_half = product.sums.buffer.dtype == "float32"
        self._vector = ir.VectorType(ir.FloatType() if is_half else I32, _LANES)
        self._factor = ir.VectorType(BFloatType(), 8) if is_half else ir.VectorType(I8, 16)
        dtypes = (product.left.buffer.dtype, product.right.buffer.dtype)
        name = "bfmmla" if is_half else f"{_NAMES[dtypes]}.{suffix(self._vector)}.v16i8"
        self._function = state.shared.declare(
            f"llvm.aarch64.neon.{name}", self._vector, [self._vector, self._factor, self._factor]
        )
        # A last row without a neighbour is multiplied twice.
        self._pairs = [(i, min(i + 1, product.height - 1)) for i in range(0, product.height, 2)]
        self._columns = range(0, product.extents[product.lanes], _LANES)

    def write(self) -> None:
        """Write the whole product."""
        sums = self._sums()
        if self._product.outer:
            sums = self._loop(self._product.outer[0], sums)
        else:
            sums = self._step(sums)
        self._store(sums)

    def _sums(self) -> list[ir.Value]:
        sums = []
        for pair in self._pairs:
            for column in self._columns:
                upper, lower = (self._load(self._product.sums, self._place(i, column), self._vector) for i in pair)
                sums += [self._shuffled(upper, lower, lanes) for lanes in (_FIRST, _SECOND)]
        return sums

    def _store(self, sums: list[ir.Value]) -> None:
        blocks = iter(sums)
        for pair in self._pairs:
            for column in self._columns:
                left, right = next(blocks), next(blocks)
                for row, lanes in zip(dict.fromkeys(pair), (_FIRST, _SECOND), strict=False):
                    address = self._address(self._product.sums, self._place(row, column))
                    self._state.builder.store(self._shuffled(left, right, lanes), address, align=4)

    def _loop(self, var: Var, sums: list[ir.Value]) -> list[ir.Value]:
        """Write the loop over steps, whose sums stay in registers, and return them after it."""
        builder, before, end = self._state.builder, self._state.builder.block, self._product.extents[var]
        with self._state.loop(var, ir.Constant(I64, 0), ir.Constant(I64, end), NOT_UNROLLED):
            kept = [builder.phi(self._vector) for _ in sums]
            results = self._step(list(kept))
            for phi, first, value in zip(kept, sums, results, strict=True):
                phi.add_incoming(first, before)
                phi.add_incoming(value, builder.block)
        return results

    def _step(self, sums: list[ir.Value]) -> list[ir.Value]:
        """Add the products of one step to the sums."""
        product, builder = self._product, self._state.builder
        for depth in range(0, product.extents[product.depth], 2):
            data = [self._rows(pair, depth) for pair in self._pairs]
            for column in self._columns:
                places = (self._place(0, column) | {product.depth: depth + i} for i in range(2))
                one, two = (self._load(product.right, place, _WORDS) for place in places)
                weights = [builder.bitcast(self._shuffled(one, two, lanes), self._factor) for lanes in (_EVEN, _ODD)]
                for at, rows in enumerate(data):
                    first = 2 * (at * len(self._columns) + column // _LANES)
                    for block, weight in enumerate(weights, first):
                        sums[block] = builder.call(self._function, [sums[block], rows, weight])
        return sums

    def _rows(self, pair: tuple[int, int], depth: int) -> ir.Value:
        """Return what two rows have of two groups."""
        builder, value = self._state.builder, ir.Constant(_HALVES, ir.Undefined)
        for i, row in enumerate(pair):
            half = self._load(self._product.left, self._place(row, 0) | {self._product.depth: depth}, I64)
            value = builder.insert_element(value, half, ir.Constant(I32, i))
        return builder.bitcast(value, self._factor)

    def _place(self, row: int, column: int) -> dict[Var, int]:
        return self._product.place(row, 0) | {self._product.lanes: column}

    def _address(self, operand: TileOperand, place: Mapping[Var, int]) -> ir.Value:
        at_first = dict.fromkeys(self._product.outer, 0) if operand is self._product.sums else {}
        return self._memory.address(operand.buffer, operand.at({**place, **at_first}))

    def _load(self, operand: TileOperand, place: Mapping[Var, int], kind: ir.Type) -> ir.Value:
        return self._state.builder.load(self._address(operand, place), align=operand.bytes, typ=kind)

    def _shuffled(self, a: ir.Value, b: ir.Value, lanes: list[int]) -> ir.Value:
        return self._state.builder.shuffle_vector(a, b, lane_mask(lanes))
