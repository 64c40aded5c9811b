"""Reports on kernels without a GPU: faults, memory accesses, lower bounds on the cost of a launch."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

SanitizerResult = Literal["all", "part", "nothing"]
"""How much of a program the sanitizer ran."""


class FaultSite(Struct, frozen=True, kw_only=True):
    """What one thread does where the sanitizer reports a fault."""

    text: Annotated[str, Meta(max_length=2_000)]
    line: int | None = None
    thread: dict[str, int] = {}
    """Its position by axis, e.g. ``threadIdx.x``."""


class KernelFault(Struct, frozen=True, kw_only=True):
    """A fault of a kernel: a race, a barrier that not all threads come to, a wrong access."""

    kind: Annotated[str, Meta(max_length=40)]
    message: Annotated[str, Meta(max_length=4_000)]
    sites: Annotated[list[FaultSite], Meta(max_length=2)]


Lanes = Annotated[list[int], Meta(max_length=32)]
"""A number for each lane of a warp."""


class WarpSteps(Struct, frozen=True, kw_only=True):
    """An access followed through the first iterations of its loops, in some blocks and all of their warps."""

    blocks: Annotated[list[dict[str, int]], Meta(max_length=8)]
    """The position of each block by axis."""
    iterations: Annotated[list[dict[str, int]], Meta(max_length=64)]
    """The values of the loops of a thread."""
    all_iterations: int
    """How many there are; the first ones are here."""
    warps: int
    patterns: Annotated[list[Lanes], Meta(max_length=1024)]
    """Bytes between the first place of a warp and the place of each lane, -1 for idle lanes."""
    places: Annotated[list[tuple[int, int]], Meta(max_length=1024)]
    """The pattern and the first byte of each warp, by block, then iteration, then warp."""


class MemoryAccess(Struct, frozen=True, kw_only=True):
    """An access of memory as the warps of a kernel make it."""

    kernel: Annotated[str, Meta(max_length=400)]
    buffer: Annotated[str, Meta(max_length=400)]
    scope: Annotated[str, Meta(max_length=40)]
    writes: bool
    size: int
    """Bytes that a lane accesses."""
    pattern: Annotated[str, Meta(max_length=20)] = ""
    """``coalesced``, ``strided``, ``broadcast``, ``scattered``, ``idle``; empty if only a run knows, or the maker."""
    sectors: float = 0.0
    least_sectors: float = 0.0
    ways: int = 0
    """The worst bank conflict of shared memory; 0 of global memory."""
    executions: int = 0
    """How often warps make it in one launch."""
    moved: float = 0.0
    """Bytes that all executions move."""
    exact: bool = True
    """Whether all executions were looked at, not only some."""
    shape: Annotated[list[int], Meta(max_length=32)] = []
    """Of the argument that is accessed; empty of other memory."""
    element: int = 4
    """Bytes of an element."""
    instruction: Annotated[str, Meta(max_length=80)] = ""
    """Of tensor cores, such as ``ldmatrix.x4``; empty for an ordinary load or store."""
    matrices: Annotated[list[int], Meta(max_length=8)] = []
    """What such an instruction moves, as positions in :attr:`KernelReport.matrices`."""
    steps: WarpSteps | None = None
    """Where the lanes go; None if only a run knows.  Without a pattern, all are where a matrix begins."""
    line: int | None = None
    """The script's."""
    origins: list[int] = []


MAX_CELLS = 4_096
"""Elements of a matrix that is drawn."""
Cells = Annotated[list[int], Meta(max_length=MAX_CELLS)]
"""A number for each element of a matrix, row by row."""


class MatrixMap(Struct, frozen=True, kw_only=True):
    """A matrix of an instruction of tensor cores: which lane of a warp has which element."""

    name: Annotated[str, Meta(max_length=40)]
    rows: int
    columns: int
    dtype: Annotated[str, Meta(max_length=20)]
    letter: Annotated[str, Meta(max_length=1)] = ""
    """What the PTX ISA calls its elements: ``a``, ``b``, ``c``; a lane has ``a0``, ``a1``, …"""
    lanes: Cells = []
    numbers: Cells = []
    """Which one of the lane's elements each is."""
    per_register: int = 1
    """Elements in a register of 32 bits."""
    address_lane: int | None = None
    """The lane that gives the address of the first row in memory, where the next ones give those of the next rows."""
    strides: tuple[int, int] | None = None
    """Bytes from row to row and from column to column in memory, where the first lane gives the first address."""
    note: Annotated[str, Meta(max_length=400)] = ""
    """What is to be known of the source of the map."""


class MatrixProduct(Struct, frozen=True, kw_only=True):
    """A product of matrices by tensor cores."""

    kernel: Annotated[str, Meta(max_length=400)]
    instruction: Annotated[str, Meta(max_length=80)]
    matrices: Annotated[list[int], Meta(max_length=8)] = []
    """Positions in :attr:`KernelReport.matrices`; none if no map of the instruction is known."""
    executions: int = 0
    """How often warps execute it in one launch."""
    line: int | None = None
    """The script's."""
    origins: list[int] = []


class KernelLaunch(Struct, frozen=True, kw_only=True):
    """The launch of a kernel, and what it costs at least."""

    name: Annotated[str, Meta(max_length=400)]
    blocks: int
    threads: int
    flops: float
    moved: float
    """Bytes of all sectors that warps touch in global memory, caches left out."""
    least: float
    """Bytes that must be moved: each of the arguments once."""
    matrix_types: Annotated[str, Meta(max_length=80)] = ""
    """What most of its operations multiply and add up where tensor cores do them, e.g. ``float16 to float32``."""
    dynamic_bytes: int = 0
    """Shared memory of a block whose size the launch says, not the program."""
    resident_blocks: int = 0
    """Blocks that a processor holds at once, as registers, shared memory and threads allow; 0 if unknown."""


class KernelReport(Struct, frozen=True, kw_only=True):
    """What is known of a function's kernels without a GPU."""

    launches: Annotated[list[KernelLaunch], Meta(max_length=20)] = []
    accesses: Annotated[list[MemoryAccess], Meta(max_length=60)] = []
    products: Annotated[list[MatrixProduct], Meta(max_length=20)] = []
    matrices: Annotated[list[MatrixMap], Meta(max_length=60)] = []
    """What accesses and products refer to, each once."""
    emulated: Literal["ok", "wrong", "unchecked"] = "unchecked"
    """Whether the kernels, run on the CPU, compute what the unscheduled definition does."""
    error: float | None = None
    """Largest absolute difference in that check."""
    emulation: Annotated[str, Meta(max_length=2_000)] = ""
    """What was compared, or why nothing was."""
    faults: Annotated[list[KernelFault], Meta(max_length=50)] = []
    sanitized: SanitizerResult = "nothing"
    sanitizer: Annotated[str, Meta(max_length=2_000)] = ""
    """What the sanitizer ran, or why it did not."""
