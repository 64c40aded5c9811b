"""Products of matrices in x86's tile registers (AMX): the instructions that tensor intrinsics of both kinds are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import ExprLike, PrimExpr, Var, const
from compiler.target.codegen.llvm.selection.tile_products import LANES, REGISTERS, ROW_BYTES, row_parts
from compiler.tir.expressions.named_calls import call_intrin, call_llvm_intrin
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Evaluate, For, ForKind, Stmt, seq

SIGNS = {"int8": "s", "uint8": "u"}
_SHORT = {"int8": "s8", "uint8": "u8", "bfloat16": "bf16"}


@dataclass(frozen=True, slots=True)
class TileProductIntrin:
    """``C[i, j] += A[i, k] * B[j // 16, k // g, j % 16, k % g]``, ``g`` numbers of ``B`` in four bytes.

    Raises ArgumentError if the data types are not multiplied in tiles, or the sums, the tiles of ``A`` of one step and
    a tile of ``B`` do not fit into the registers.
    """

    rows: int
    columns: int
    depth: int
    left: str
    right: str

    def __post_init__(self) -> None:
        types = (self.left, self.right)
        if types != ("bfloat16", "bfloat16") and not set(types) <= set(SIGNS):
            raise ArgumentError(
                "AMX multiplies bfloat16 by bfloat16 and int8 or uint8 by int8 or uint8, "
                f"got {show(self.left)} by {show(self.right)}"
            )
        if min(self.rows, self.columns, self.depth) < 1 or self.columns % LANES or self.depth % self.group:
            raise ArgumentError(
                f"an AMX product has columns in blocks of {LANES} and a depth in groups of {self.group}, "
                f"got {self.rows} x {self.columns} x {self.depth}"
            )
        parts = len(row_parts(self.rows))
        needed = parts * self.blocks + parts + 1
        if needed > REGISTERS:
            raise ArgumentError(
                f"{self.rows} x {self.columns} sums need {needed} tile registers with their operands, and AMX has "
                f"{REGISTERS}: 32 x 32, 16 x 96 and 48 x 16 fit"
            )

    @property
    def result(self) -> str:
        """The data type of the sums."""
        return "float32" if self.left == "bfloat16" else "int32"

    @property
    def group(self) -> int:
        """How many products are added up for a sum at once."""
        return 4 // dt.storage_bytes(self.left)

    @property
    def blocks(self) -> int:
        """The blocks of columns, each a tile wide."""
        return self.columns // LANES

    @property
    def step(self) -> int:
        """The part of the depth that tiles hold: the largest one of equal parts."""
        longest = ROW_BYTES // dt.storage_bytes(self.left)
        return next(s for s in range(longest, 0, -self.group) if self.depth % s == 0)

    @property
    def packed(self) -> tuple[int, int, int, int]:
        """The shape of ``B``."""
        return (self.blocks, self.depth // self.group, LANES, self.group)

    @property
    def name(self) -> str:
        """A name for the registry: ``amx_32x32x64_u8s8s32``."""
        types = _SHORT[self.left] + _SHORT[self.right] + {"float32": "f32", "int32": "s32"}[self.result]
        return f"amx_{self.rows}x{self.columns}x{self.depth}_{types}"

    @property
    def instruction(self) -> str:
        """The instruction that multiplies two tiles."""
        return "tdpbf16ps" if self.left == "bfloat16" else f"tdpb{SIGNS[self.left]}{SIGNS[self.right]}d"

    def multiplied(self, a: Buffer, b: Buffer, c: Buffer, *, adds: bool) -> Stmt:
        """Return the statements that add the product to ``C``, or store it in its place."""
        first = self.sums("tileloadd64", c, "r") if adds else self.zeros()
        return seq([self.configuration(), first, self.steps(a, b), self.stored(c)])

    def cleared(self, c: Buffer) -> Stmt:
        """Return the statements that store zeros in ``C``."""
        return seq([self.configuration(), self.zeros(), self.stored(c)])

    def configuration(self) -> Stmt:
        """Return what makes the tiles: first those of the sums, then of ``A``, then one of ``B``."""
        heights = [end - begin for begin, end in row_parts(self.rows)]
        shapes = [(height, ROW_BYTES) for height in heights for _ in range(self.blocks)]
        shapes += [(height, self.step * dt.storage_bytes(self.left)) for height in heights]
        shapes.append((self.step // self.group, ROW_BYTES))
        return Evaluate(call_intrin("void", "tir.tile_configuration", *chain.from_iterable(shapes)))

    def zeros(self) -> Stmt:
        """Return what sets the sums to zero."""
        return seq([on_tiles("tilezero", register(t)) for t in range(len(row_parts(self.rows)) * self.blocks)])

    def stored(self, c: Buffer) -> Stmt:
        """Return what stores the sums and releases the tiles."""
        return seq([self.sums("tilestored64", c, "w"), on_tiles("tilerelease")])

    def sums(self, instruction: str, c: Buffer, mode: str) -> Stmt:
        """Return loads or stores of the sums."""
        moved = []
        for part, (row, _) in enumerate(row_parts(self.rows)):
            for block in range(self.blocks):
                number = part * self.blocks + block
                moved.append(move_tile(instruction, number, c, row * c.strides[0] + block * LANES, c.strides[0], mode))
        return seq(moved)

    def steps(self, a: Buffer, b: Buffer) -> Stmt:
        """Return the loop over the depth, of steps that load tiles and multiply them."""
        count = self.depth // self.step
        k = Var("k")
        return For(k, const(0), const(count), ForKind.SERIAL, self._step(a, b, k)) if count > 1 else self._step(a, b, 0)

    def _step(self, a: Buffer, b: Buffer, k: ExprLike) -> Stmt:
        parts = row_parts(self.rows)
        data = len(parts) * self.blocks
        weights = data + len(parts)
        done: list[Stmt] = [
            move_tile("tileloadd64", data + part, a, row * a.strides[0] + k * self.step, a.strides[0], "r")
            for part, (row, _) in enumerate(parts)
        ]
        for block in range(self.blocks):
            place = block * b.strides[0] + k * (self.step // self.group) * b.strides[1]
            done.append(move_tile("tileloadd64", weights, b, place, b.strides[1], "r"))
            done += [
                on_tiles(self.instruction, *map(register, (part * self.blocks + block, data + part, weights)))
                for part in range(len(parts))
            ]
        return seq(done)

    def buffers(self) -> tuple[Buffer, Buffer, Buffer]:
        """Return the buffers of ``A``, ``B`` and ``C``, with rows any number of elements apart."""
        return (
            _rows("A", (self.rows, self.depth), self.left, [Var("lda"), 1]),
            _rows("B", self.packed, self.right, [Var("ldb"), Var("ldk"), self.group, 1]),
            _rows("C", (self.rows, self.columns), self.result, [Var("ldc"), 1]),
        )


def _rows(name: str, shape: tuple[int, ...], dtype: str, strides: list[ExprLike]) -> Buffer:
    return decl_buffer(shape, dtype, name, strides=strides, offset_factor=1)


def register(number: int) -> PrimExpr:
    """Return the number of a tile register, as instructions take it."""
    return const(number, "uint8")


def on_tiles(instruction: str, *args: ExprLike) -> Stmt:
    """Return the call of an intrinsic of tile registers, named after ``llvm.x86.``."""
    return Evaluate(call_llvm_intrin("void", f"llvm.x86.{instruction}", const(len(args), "uint32"), *args))


def move_tile(instruction: str, number: int, buffer: Buffer, offset: ExprLike, stride: PrimExpr, mode: str) -> Stmt:
    """Return a load or a store of a tile, from an element on and with rows that are ``stride`` elements apart."""
    apart = (stride * dt.storage_bytes(buffer.dtype)).astype("int64")
    return on_tiles(instruction, register(number), buffer.access_ptr(mode, offset=offset), apart)
