"""Einstein's sums: products of tensors whose axes are named, summed over the names that the result lacks."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler import te
from compiler.ir.error import ArgumentError, show
from compiler.topi.tag import Tag
from compiler.topi.util import dims


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of the axes of each operand and of the result; ``...`` spelt out."""

    operands: tuple[str, ...]
    result: str

    @property
    def summed(self) -> str:
        """The names that the result lacks, in order."""
        return "".join(dict.fromkeys(c for o in self.operands for c in o if c not in self.result))


def read_equation(equation: str, ranks: Sequence[int]) -> Labels:
    """Read an equation such as ``ij,jk->ik`` for operands of these ranks.

    Raises
    ------
    ArgumentError
        If it does not fit.
    """
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


def label_extents(labels: Labels, shapes: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the extent of each named axis; 1 gives way to any other.

    Raises
    ------
    ArgumentError
        If two extents of one name differ and neither is 1.
    """
    found: dict[str, Any] = {}
    for operand, shape in zip(labels.operands, shapes, strict=True):
        for c, e in zip(operand, shape, strict=True):
            known = found.get(c, 1)
            if isinstance(known, int) and isinstance(e, int) and 1 not in (known, e) and known != e:
                raise ArgumentError(f"einsum: axis {c!r} has the extents {known} and {e}")
            if not (isinstance(e, int) and e == 1 and c in found):
                found[c] = e
    return found


def einsum(equation: str, *tensors: Any) -> Any:
    """Return the sum of products that an equation such as ``ij,jk->ik`` describes."""
    labels = read_equation(equation, [len(t.shape) for t in tensors])
    extents = label_extents(labels, [dims(t) for t in tensors])
    ks = {c: te.reduce_axis((0, extents[c]), name=f"k_{c}") for c in labels.summed}

    def element(*i: Any) -> Any:
        at = dict(zip(labels.result, i, strict=True)) | {c: k.var for c, k in ks.items()}
        value: Any = None
        for operand, t in zip(labels.operands, tensors, strict=True):
            own = dims(t)
            factor = t(*[0 if isinstance(e, int) and e == 1 else at[c] for c, e in zip(operand, own, strict=True)])
            value = factor if value is None else value * factor
        return te.sum(value, axis=list(ks.values())) if ks else value

    shape = tuple(extents[c] for c in labels.result)
    return te.compute(shape, element, name="einsum", tag=Tag.COMM_REDUCE if ks else Tag.INJECTIVE)
