"""``einsum``."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul

from compiler import te
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, dims, is_one
from compiler.topi.tag import Tag

__all__ = ["einsum"]


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of the axes of each operand and of the result, one letter an axis; ``...`` spelt out."""

    operands: tuple[str, ...]
    result: str

    @property
    def summed(self) -> str:
        """The names that the result lacks, in order."""
        return "".join(dict.fromkeys(c for o in self.operands for c in o if c not in self.result))


def read_equation(equation: str, ranks: Sequence[int]) -> Labels:
    """Read an equation such as ``ij,jk->ik``."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise ArgumentError(f"einsum: {show(equation)} names {len(parts)} operands, there are {len(ranks)}")
    free = [c for c in string.ascii_letters if c not in equation]
    widths = [rank - len(p.replace("...", "")) for p, rank in zip(parts, ranks, strict=True)]
    extra = max((w for p, w in zip(parts, widths, strict=True) if "..." in p), default=0)
    wide = "".join(free[:extra])
    operands = []
    for part, width, rank in zip(parts, widths, ranks, strict=True):
        named = part.replace("...", wide[extra - width :] if "..." in part and width >= 0 else "")
        if len(named) != rank or (not named.isalpha() and named):
            raise ArgumentError(f"einsum: {part!r} of {show(equation)} does not name the {rank} axes of its operand")
        operands.append(named)
    if arrow:
        result = right.replace("...", wide)
    else:
        every = "".join(operands)
        result = wide + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in wide))
    if len(set(result)) < len(result) or not set(result) <= set("".join(operands)):
        raise ArgumentError(f"einsum: the result of {show(equation)} must name axes of the operands, each once")
    return Labels(tuple(operands), result)


def label_extents(labels: Labels, shapes: Sequence[Sequence[Extent]]) -> dict[str, Extent]:
    """Return the extent of each named axis; 1 gives way to any other."""
    extents: dict[str, Extent] = {}
    for operand, shape in zip(labels.operands, shapes, strict=True):
        for c, e in zip(operand, shape, strict=True):
            before = extents.get(c, 1)
            if isinstance(before, int) and isinstance(e, int) and 1 not in (before, e) and before != e:
                raise ArgumentError(f"einsum: axis {c!r} has the extents {before} and {e}")
            if not (is_one(e) and c in extents):
                extents[c] = e
    return extents


def einsum(subscripts: str, *operand: Tensor) -> Tensor:
    """Return the sum of products that an equation describes, as ``numpy.einsum`` does.

    ``subscripts`` such as ``ij,jk->ik`` name each operand's axes, then those of the result; ``...`` stands for any
    further axes. Without ``->`` the result has the names that occur once, in alphabetical order. An axis of extent 1 is
    broadcast. Raises ArgumentError if the equation does not fit the operands, or two extents of one name differ.
    """
    labels = read_equation(subscripts, [len(t.shape) for t in operand])
    extents = label_extents(labels, [dims(t) for t in operand])
    ks = {c: te.reduce_axis((0, extents[c]), name=f"k_{c}") for c in labels.summed}

    def element(*i: Var) -> PrimExpr:
        at = dict(zip(labels.result, i, strict=True)) | {c: k.var for c, k in ks.items()}
        factors = [
            t(*[0 if is_one(e) else at[c] for c, e in zip(names, dims(t), strict=True)])
            for names, t in zip(labels.operands, operand, strict=True)
        ]
        value = reduce(mul, factors)
        return te.sum(value, axis=list(ks.values())) if ks else value

    shape = tuple(extents[c] for c in labels.result)
    return compute(shape, element, name="einsum", tag=Tag.COMM_REDUCE if ks else Tag.INJECTIVE)
