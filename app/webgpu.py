"""Programs for the visitor's GPU: WGSL kernels, launches and expected results.

Nothing comes back: what a browser computes and measures stays in the browser.  Long arrays are base64 of little-endian
numbers.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

MAX_COMPARED = 4 << 20
"""Elements of all outputs together that are compared one by one; of more, a sample is."""
MAX_SAMPLE = 1 << 20
"""Elements of a sample."""
MAX_PREPARED_BYTES = 28 << 20
"""Of a program with its results, in JSON: as many elements of four bytes in base64, and a margin."""
Packed = Annotated[str, Meta(max_length=(MAX_COMPARED * 8 // 3) + 4)]
"""Base64 of an array of numbers of at most eight bytes each."""
Name = Annotated[str, Meta(max_length=1_000)]
Extents = tuple[int, int, int]
"""Along x, y and z."""
Range = tuple[float, float]
"""Least number, and the one above all others."""


class GPUArgument(Struct, frozen=True, kw_only=True):
    """An argument of the function, which the page fills with random numbers of the seed."""

    name: Name
    dtype: str
    shape: list[int]
    range: Range | None = None
    """Of its numbers, if it is a weight of a model; of type float32."""


class GPUMemory(Struct, frozen=True, kw_only=True):
    """Memory of the device: of an argument, or what the function allocates."""

    name: Name
    dtype: str
    elements: int
    argument: int | None = None
    values: Packed = ""
    """What it holds from the beginning, such as weights; empty of all other memory."""


class GPULaunch(Struct, frozen=True, kw_only=True):
    """A launch of a kernel; its bindings are its memory in order, then a uniform of its numbers if it has any."""

    kernel: Name
    memory: list[int]
    """Positions in the memory of the step."""
    numbers: list[tuple[str, float]] = []
    """Data type and value."""
    blocks: Extents
    threads: Extents
    shared_bytes: int = 0


class GPUStep(Struct, frozen=True, kw_only=True):
    """The function after some primitives of its schedule: launches, or why there are none."""

    step: int
    label: Annotated[str, Meta(max_length=10_000)]
    line: int | None = None
    """The script's line of the last of the primitives."""
    source: str = ""
    """The kernels in WGSL."""
    memory: list[GPUMemory] = []
    launches: list[GPULaunch] = []
    same_as: int | None = None
    """An earlier step with the same loops."""
    problem: Annotated[str, Meta(max_length=10_000)] = ""


class GPUResult(Struct, frozen=True, kw_only=True):
    """What an argument should hold afterwards."""

    argument: int
    dtype: str
    indices: Packed = ""
    """Of a sample: flat positions as 32-bit integers; empty if all elements are here."""
    values: Packed
    tolerance: float
    """Largest difference that rounding explains, relative to the largest magnitude; 0 of integers."""
    scale: float
    """Largest finite magnitude of all elements."""


class GPUProgram(Struct, frozen=True, kw_only=True):
    """A function for the visitor's GPU."""

    name: Name
    seed: int
    arguments: list[GPUArgument]
    steps: list[GPUStep]
    results: list[GPUResult]
    reference: Annotated[str, Meta(max_length=200)]
    """What the results were computed by."""
    flops: float | None = None
    """Floating-point operations a call."""


class GPUPrepared(Struct, frozen=True, kw_only=True, tag="webgpu"):
    """Sent when a program was prepared."""

    program: GPUProgram
