"""Programs for the visitor's GPU: WGSL kernels, launches and expected results.

The browser sends nothing back: results and measurements stay there.  Long arrays are little-endian numbers in base64.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

MAX_COMPARED = 4 << 20
"""Maximum total number of output elements for a full comparison; beyond it, a sample is compared."""
MAX_SAMPLE = 1 << 20
"""Size of the sample, in elements."""
MAX_PREPARED_BYTES = 28 << 20
"""Maximum size of a program with its results in JSON: the compared elements in base64, and a margin."""
Packed = Annotated[str, Meta(max_length=(MAX_COMPARED * 8 // 3) + 4)]
"""An array in base64, with elements of at most eight bytes."""
Name = Annotated[str, Meta(max_length=1_000)]
Extents = tuple[int, int, int]
"""Extents along x, y and z."""
Range = tuple[float, float]
"""Half-open range: lower and upper bound."""


class GPUArgument(Struct, frozen=True, kw_only=True):
    """An argument of the function, filled with random numbers from the seed."""

    name: Name
    dtype: str
    shape: list[int]
    range: Range | None = None
    """Range of the numbers, for float32 weights of a model."""


class GPUMemory(Struct, frozen=True, kw_only=True):
    """Device memory of an argument or an allocation of the function."""

    name: Name
    dtype: str
    elements: int
    argument: int | None = None
    values: Packed = ""
    """Initial contents, such as weights; empty for other memory."""


class GPULaunch(Struct, frozen=True, kw_only=True):
    """A kernel launch; its bindings are its memory in order, followed by a uniform with its scalars, if any."""

    kernel: Name
    memory: list[int]
    """Indices into the memory of the step."""
    numbers: list[tuple[str, float]] = []
    """The scalar arguments, as data type and value."""
    blocks: Extents
    threads: Extents
    shared_bytes: int = 0


class GPUStep(Struct, frozen=True, kw_only=True):
    """The function after a prefix of its schedule: its launches, or why there are none."""

    step: int
    label: Annotated[str, Meta(max_length=10_000)]
    line: int | None = None
    """The line of the script with the last primitive."""
    source: str = ""
    """WGSL source of the kernels."""
    memory: list[GPUMemory] = []
    launches: list[GPULaunch] = []
    same_as: int | None = None
    """Index of an earlier step with equal loops."""
    problem: Annotated[str, Meta(max_length=10_000)] = ""


class GPUResult(Struct, frozen=True, kw_only=True):
    """The expected contents of an argument after the run."""

    argument: int
    dtype: str
    indices: Packed = ""
    """Flat indices of the sample as 32-bit integers; empty if all elements are included."""
    values: Packed
    tolerance: float
    """Maximum difference explained by rounding, relative to the largest magnitude; 0 for integers."""
    scale: float
    """The largest finite magnitude of the elements."""


class GPUProgram(Struct, frozen=True, kw_only=True):
    """A function to run on the visitor's GPU."""

    name: Name
    seed: int
    arguments: list[GPUArgument]
    steps: list[GPUStep]
    results: list[GPUResult]
    reference: Annotated[str, Meta(max_length=200)]
    """Name of the implementation that computed the results."""
    flops: float | None = None
    """Floating-point operations per call."""


class GPUPrepared(Struct, frozen=True, kw_only=True, tag="webgpu"):
    """Sent after a program was prepared."""

    program: GPUProgram
