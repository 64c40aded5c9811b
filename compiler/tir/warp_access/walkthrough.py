"""Follows an access through the loops of its kernel, for all warps of some blocks."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.tir.warp_access.site import AccessSite
from compiler.tir.warp_access.transactions import Addresses

MAX_PLACES = 1024
"""Warps of all blocks and iterations together."""
MAX_ITERATIONS = 64
ENOUGH_ITERATIONS = 16
"""More blocks are taken only where each can still be followed for so long."""


@dataclass(frozen=True, slots=True)
class Walkthrough:
    """What an access does in some blocks, iteration by iteration."""

    blocks: list[dict[str, int]]  # the position of each block by axis
    iterations: list[dict[str, int]]  # the values of the loops of a thread: the first iterations in their order
    all_iterations: int
    # shape (blocks, iterations, warps, lanes); bytes from the beginning of the buffer, -1 for idle lanes
    addresses: Addresses


def walk_through(site: AccessSite) -> Walkthrough:
    """Follow an access through its first iterations.

    The blocks are the first one, its neighbour along each axis, and the last.
    """
    around = site.surroundings
    blocks = _blocks([extent for _, extent in around.blocks])
    blocks = blocks[: max(1, MAX_PLACES // (around.warps * ENOUGH_ITERATIONS))]
    extents = [extent for _, extent in around.loops]
    total = prod(extents)
    count = max(1, min(total, MAX_ITERATIONS, MAX_PLACES // (around.warps * len(blocks))))
    iterations = np.stack(np.unravel_index(np.arange(count), extents), axis=1) if extents else np.zeros((1, 0), int)
    block, iteration, warp = (
        grid.reshape(-1)
        for grid in np.meshgrid(np.arange(len(blocks)), np.arange(count), np.arange(around.warps), indexing="ij")
    )
    chosen = np.array(blocks).reshape(len(blocks), len(around.blocks))
    addresses = site.addresses([*chosen[block].T, warp, *iterations[iteration].T])
    names = [var.name for var, _ in around.blocks], [var.name for var, _ in around.loops]
    return Walkthrough(
        blocks=[dict(zip(names[0], map(int, position), strict=True)) for position in blocks],
        iterations=[dict(zip(names[1], map(int, position), strict=True)) for position in iterations],
        all_iterations=total,
        addresses=addresses.reshape(len(blocks), count, around.warps, -1),
    )


def _blocks(extents: list[int]) -> list[tuple[int, ...]]:
    """Return the positions of some blocks, without repetitions."""
    first = [0] * len(extents)
    neighbours = [
        tuple(int(at == axis) for at in range(len(extents))) for axis, extent in enumerate(extents) if extent > 1
    ]
    return list(dict.fromkeys([tuple(first), *neighbours, tuple(extent - 1 for extent in extents)]))
