"""Descriptions of dot product instructions: one or several rows, with an accumulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from compiler.classic.tir.intrinsics.program_text import parse_function
from compiler.tir.expressions.intrin_registry import register_to_be_made
from compiler.tir.statements.function import PrimFunc


@dataclass(frozen=True, slots=True)
class DotProduct:
    """``C[i] += A[k] * B[i, k]`` over all ``i`` and ``k``."""

    rows: int  # the number of results, the rows of `B`
    depth: int  # the number of products that are added up
    # the data types; products are of the type of `C`
    a: str
    b: str
    c: str
    scope: str = "global"

    @property
    def _head(self) -> str:
        memory = f'offset_factor=1, scope="{self.scope}"'
        return f"""def main(
    A: T.Buffer(({self.depth},), "{self.a}", {memory}),
    B: T.Buffer(({self.rows}, {self.depth}), "{self.b}", {memory}),
    C: T.Buffer(({self.rows},), "{self.c}", {memory}),
):
    with T.block("root"):
        T.reads(C[0:{self.rows}], A[0:{self.depth}], B[0:{self.rows}, 0:{self.depth}])
        T.writes(C[0:{self.rows}])
"""

    def description(self) -> PrimFunc:
        """Return the loops that the instruction stands for."""
        return parse_function(
            self._head
            + f"""
        for i in range({self.rows}):
            for k in range({self.depth}):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], "{self.c}") * T.cast(B[vi, vk], "{self.c}")
"""
        )

    def implementation(self, value: str, *lines: str) -> PrimFunc:
        """Return a function that computes the same by instructions."""
        body = [*lines, f"C[T.ramp(0, 1, {self.rows})] = {value}"]
        return parse_function(self._head + "".join(f"        {line}\n" for line in body))


def register_intrinsic(name: str, make: Callable[..., tuple[PrimFunc, PrimFunc]], *args: object) -> str:
    """Register an intrinsic and return its name; ``make`` gives its description and implementation once it is used."""
    register_to_be_made(name, partial(make, *args))
    return name
