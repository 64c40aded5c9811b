"""Sums of products in tile registers: x86's AMX.

A loop nest that the pragma ``tile_product`` marks, such as ::

    for k in range(24):
        for i in range(32):
            for j, lane in grid(2, 16):
                for p in range(16):
                    C[i * 32 + j * 16 + lane] += bf16(A[…, i, k * 32 + p * 2]) * bf16(B[…, j, k, p, lane, 0])
                                               + bf16(A[…, i, k * 32 + p * 2 + 1]) * bf16(B[…, j, k, p, lane, 1])

becomes loads of the tiles of ``C``, a loop over ``k`` that loads tiles of ``A`` and ``B`` and multiplies them, and
stores of the tiles of ``C``.  A tile has up to 16 rows of 64 bytes: rows of ``A`` are groups of two bfloat16 or four
bytes along the sum, those of ``B`` such groups of 16 lanes.

Sums of bytes wrap around like 32-bit arithmetic.  Those of bfloat16 are float32, each addition rounded to nearest, in
the order that the processor chooses within a tile; it takes denormal numbers for zeros.

References
----------
Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18: tiles, and what Linux asks of a
process before it uses them, ``arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)``.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llvmlite import ir

from compiler.arith import Analyzer
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, IntImm, PrimExpr, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.structural import structural_equal
from compiler.target.codegen.llvm.memory import Memory
from compiler.target.codegen.llvm.selection.pair_products import BF16_BITS, row, split_sum
from compiler.target.codegen.llvm.state import NOT_UNROLLED, FunctionState
from compiler.target.codegen.llvm.types import I8, I32, I64, POINTER, VOID
from compiler.target.cpu.cpu_features import tile_dtypes
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.stmt import AttrStmt, BufferStore, DeclBuffer, For, ForKind, LetStmt, Stmt

LANES, ROW_BYTES, REGISTERS = 16, 64, 8
_LOAD = "llvm.x86.tileloadd64"
_GROUPS = {"int32": (("int8", "uint8"), 4), "float32": ((BF16_BITS,), 2)}
"""What is multiplied for sums of a data type, and how many products are added in a group."""
_KINDS = {"int32": "int8", "float32": "bfloat16"}
_SIGNS = {"int8": "s", "uint8": "u"}
_REFUSED = (
    "the kernel multiplies in the processor's tile registers (AMX), and the system lets this process use none: compile"
    " for it with -mattr=-amx-tile"
)
_PERMISSION = "tiles_permitted"


@dataclass(frozen=True, slots=True)
class TileOperand:
    """Memory, the index of its first element in terms of loops around, and how far steps of loops move it."""

    buffer: Buffer
    base: PrimExpr
    steps: Mapping[Var, int]

    @property
    def bytes(self) -> int:
        return dt.storage_bytes(self.buffer.dtype)

    def at(self, position: Mapping[Var, int]) -> PrimExpr:
        """Return the index where loops are at some iterations; those that are not given are at their variables."""
        offset = sum(self.steps[var] * place for var, place in position.items())
        index = self.base + const(offset, self.base.dtype)
        for var, step in self.steps.items():
            if var not in position and step:
                index = index + var * const(step, var.dtype)
        return index


@dataclass(frozen=True, slots=True)
class TileProduct:
    """A product of tiles: the loops by what they are, and the operands.

    ``rows`` is None for a single row; ``blocks`` are the iterations of the loops over blocks of lanes.
    """

    outer: Sequence[Var]
    rows: Var | None
    blocks: Sequence[Mapping[Var, int]]
    lanes: Var
    depth: Var
    extents: Mapping[Var, int]
    sums: TileOperand
    left: TileOperand
    right: TileOperand
    instruction: str

    @property
    def height(self) -> int:
        """The number of rows."""
        return 1 if self.rows is None else self.extents[self.rows]

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The rows of each tile of data: the first one, and the first one after it."""
        return row_parts(self.height)

    def place(self, row_: int, block: int) -> dict[Var, int]:
        """Return the iterations of the loops that a tile covers at its first element."""
        rows = {} if self.rows is None else {self.rows: row_}
        return {self.lanes: 0, self.depth: 0, **rows, **self.blocks[block]}


def row_parts(height: int) -> list[tuple[int, int]]:
    """Return how rows are divided among tiles: the first one of each, and the first one after it."""
    count = -(-height // LANES)
    return list(itertools.pairwise(height * i // count for i in range(count + 1)))


def tile_product(state: FunctionState, memory: Memory, body: Stmt) -> bool:
    """Generate code for a nest of loops in tile registers; False for other nests and other targets."""
    target = state.shared.target
    known = tile_dtypes(target.triple, target.cpu, target.llvm_features)
    product = read_product(body, state.definitions, known) if known else None
    if product is None:
        return False
    _Writer(state, memory, product).write()
    return True


def read_product(body: Stmt, definitions: Mapping[Var, PrimExpr], known: frozenset[str]) -> TileProduct | None:
    """Read a nest of loops as a product of tiles; ``known`` are the data types that the processor multiplies."""
    extents: dict[Var, int] = {}
    definitions = dict(definitions)
    while not isinstance(body, BufferStore):
        if isinstance(body, For):
            begins_at_zero = isinstance(body.min, IntImm) and body.min.value == 0
            if body.kind is not ForKind.SERIAL or not begins_at_zero or not isinstance(body.extent, IntImm):
                return None
            extents[body.loop_var] = body.extent.value
        elif isinstance(body, LetStmt):
            definitions[body.var] = substitute(body.value, definitions)
        elif not isinstance(body, (AttrStmt, DeclBuffer)):
            return None
        body = body.body
    return _of_store(body, extents, definitions, known)


def _of_store(
    store: BufferStore, extents: Mapping[Var, int], definitions: Mapping[Var, PrimExpr], known: frozenset[str]
) -> TileProduct | None:
    dtype = store.buffer.dtype
    if dtype not in _GROUPS or store.predicate is not None or not isinstance(store.value, Add):
        return None
    dtypes, group = _GROUPS[dtype]
    value = substitute(store.value, definitions)
    found = split_sum(value, dtypes, group) if isinstance(value, Add) else None
    if found is None or _KINDS[dtype] not in known:
        return None
    rest, products = found
    place = [substitute(i, definitions) for i in store.indices]
    if not isinstance(rest, BufferLoad) or rest.buffer is not store.buffer or len(place) != 1:
        return None
    if not structural_equal(list(rest.indices), place):
        return None
    left, right = (row(side, {}) for side in zip(*products, strict=True))
    if left is None or right is None:
        return None
    loads = (BufferLoad(store.buffer, tuple(place)), left, right)
    operands = [_operand(load, list(extents)) for load in loads]
    swapped = [operands[0], operands[2], operands[1]]
    return _arranged(operands, extents, group) or _arranged(swapped, extents, group)


def _operand(load: BufferLoad, loops: list[Var]) -> TileOperand | None:
    """Return what is loaded where its index is linear in loops, of constant steps."""
    index = load.indices[0]
    found = detect_linear_equation(getattr(index, "base", index), loops)
    if not found or not all(isinstance(step, IntImm) for step in found[:-1]):
        return None
    steps = {var: step.value for var, step in zip(loops, found, strict=False) if isinstance(step, IntImm)}
    return TileOperand(load.buffer, Analyzer().simplify(found[-1]), steps)


def _arranged(operands: Sequence[TileOperand | None], extents: Mapping[Var, int], group: int) -> TileProduct | None:
    """Tell the loops of a product from each other by what they move."""
    sums, left, right = operands
    if sums is None or left is None or right is None:
        return None
    of_right = [v for v in extents if sums.steps[v] and right.steps[v] and not left.steps[v]]
    of_left = [v for v in extents if sums.steps[v] and left.steps[v] and not right.steps[v]]
    summed = [v for v in extents if not sums.steps[v]]
    lanes = next((v for v in of_right if sums.steps[v] == 1 and right.steps[v] == group), None)
    depth = next((v for v in reversed(summed) if left.steps[v] == group and right.steps[v]), None)
    if lanes is None or depth is None or max(extents[lanes], extents[depth]) > LANES or len(of_left) > 1:
        return None
    if len(of_left) + len(of_right) + len(summed) < len(extents):
        return None
    kind = "bf16ps" if sums.buffer.dtype == "float32" else f"b{_SIGNS[left.buffer.dtype]}{_SIGNS[right.buffer.dtype]}d"
    blocks = [v for v in of_right if v is not lanes]
    product = TileProduct(
        outer=[v for v in summed if v is not depth],
        rows=of_left[0] if of_left else None,
        blocks=[dict(zip(blocks, at, strict=True)) for at in itertools.product(*(range(extents[v]) for v in blocks))],
        lanes=lanes,
        depth=depth,
        extents=extents,
        sums=sums,
        left=left,
        right=right,
        instruction=f"llvm.x86.tdp{kind}",
    )
    parts = len(product.parts)
    return product if parts * len(product.blocks) + parts + 1 <= REGISTERS else None


class _Writer:
    """Writes a product of tiles: those of sums come first in the registers, then those of data, then one of weights."""

    def __init__(self, state: FunctionState, memory: Memory, product: TileProduct) -> None:
        self._state, self._memory, self._product = state, memory, product
        self._parts = product.parts
        self._data = len(self._parts) * len(product.blocks)
        self._weights = self._data + len(self._parts)

    def write(self) -> None:
        """Write the whole product."""
        configure_tiles(self._state, self._shapes())
        self._sums(_LOAD)
        self._loops(list(self._product.outer), self._step)
        self._sums("llvm.x86.tilestored64")
        self._call("llvm.x86.tilerelease")

    def _shapes(self) -> list[tuple[int, int]]:
        """Return the sizes of the tiles: rows, and bytes of a row."""
        product = self._product
        depth, width = product.extents[product.depth], 4 * product.extents[product.lanes]
        heights = [end - begin for begin, end in self._parts]
        shapes = [(height, width) for height in heights for _ in product.blocks]
        return shapes + [(height, 4 * depth) for height in heights] + [(depth, width)]

    def _sums(self, instruction: str) -> None:
        """Load or store the sums."""
        product, beginning = self._product, dict.fromkeys(self._product.outer, 0)
        for part, (row_, _) in enumerate(self._parts):
            for block in range(len(product.blocks)):
                at = product.place(row_, block) | beginning
                self._move(instruction, part * len(product.blocks) + block, product.sums, at, product.rows)

    def _step(self) -> None:
        """Multiply the tiles of one step."""
        product = self._product
        for part, (row_, _) in enumerate(self._parts):
            self._move(_LOAD, self._data + part, product.left, product.place(row_, 0), product.rows)
        for block in range(len(product.blocks)):
            self._move(_LOAD, self._weights, product.right, product.place(0, block), product.depth)
            for part in range(len(self._parts)):
                registers = (part * len(product.blocks) + block, self._data + part, self._weights)
                self._call(product.instruction, *(ir.Constant(I8, r) for r in registers))

    def _move(self, name: str, register: int, operand: TileOperand, at: Mapping[Var, int], rows: Var | None) -> None:
        """Load or store a tile."""
        address = self._memory.address(operand.buffer, operand.at(at))
        stride = operand.bytes * (operand.steps[rows] if rows is not None else 0)
        self._call(name, ir.Constant(I8, register), address, ir.Constant(I64, stride or ROW_BYTES))

    def _call(self, name: str, *args: ir.Value) -> None:
        call_on_tiles(self._state, name, args)

    def _loops(self, loops: list[Var], body: Callable[[], None]) -> None:
        """Write serial loops around a body, the first one outermost."""
        if not loops:
            body()
            return
        var, *inner = loops
        end = ir.Constant(I64, self._product.extents[var])
        with self._state.loop(var, ir.Constant(I64, 0), end, NOT_UNROLLED):
            self._loops(inner, body)


def configure_tiles(state: FunctionState, shapes: Sequence[tuple[int, int]]) -> None:
    """Write what makes tile registers of some rows, and bytes of a row: all zeros, in this thread, until released.

    The function is left with an error where the system lets this process use none.
    """
    builder = state.builder
    permitted = builder.icmp_signed("==", builder.call(_permission(state), []), ir.Constant(I32, 0))
    state.require(permitted, state.shared.message(_REFUSED))
    padded = [*shapes, *[(0, 0)] * (LANES - len(shapes))]
    sizes = struct.pack("<BB14x16H16B", 1, 0, *(row_bytes for _, row_bytes in padded), *(rows for rows, _ in padded))
    call_on_tiles(state, "llvm.x86.ldtilecfg", [state.shared.constant_bytes(sizes, "tiles", ROW_BYTES)])


def call_on_tiles(state: FunctionState, name: str, args: Sequence[ir.Value]) -> ir.Value:
    """Call an intrinsic of tile registers, none of which returns anything."""
    types = [POINTER if isinstance(a.type, ir.PointerType) else a.type for a in args]
    return state.builder.call(state.shared.declare(name, VOID, types), args)


def _permission(state: FunctionState) -> ir.Function:
    """Return the function that asks Linux, once, to let this process use tiles; it returns 0 if it may."""
    shared = state.shared
    if (known := shared.module.globals.get(_PERMISSION)) is not None:
        return known
    function = shared.define(_PERMISSION, I32, [])
    function.linkage = "internal"
    asked = shared.variable(I32, "tiles_asked")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    ask, answer = (function.append_basic_block(name) for name in ("ask", "answer"))
    # 0: nobody has asked; 1: permitted; 2: refused
    before = builder.load(asked)
    first = builder.block
    builder.cbranch(builder.icmp_signed("==", before, ir.Constant(I32, 0)), ask, answer)
    builder.position_at_end(ask)
    # of the C library: LLVM reads inline assembly of its own processor only
    call = shared.declare("syscall", I64, [I64, I64, I64])
    numbers = (158, 0x1023, 18)  # arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    result = builder.call(call, [ir.Constant(I64, number) for number in numbers])
    refused = builder.zext(builder.icmp_signed("!=", result, ir.Constant(I64, 0)), I32)
    now = builder.add(refused, ir.Constant(I32, 1))
    builder.store(now, asked)
    builder.branch(answer)
    builder.position_at_end(answer)
    state_of = builder.phi(I32)
    state_of.add_incoming(before, first)
    state_of.add_incoming(now, ask)
    builder.ret(builder.sub(state_of, ir.Constant(I32, 1)))
    return function
