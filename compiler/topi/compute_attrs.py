"""What a definition tells its schedule beside the tag, as the attributes of its ``te.compute``, typed.

A definition writes ``attrs=RowVectors(vector=16, groups=1).as_dict()``, and a schedule reads ``RowVectors.of(op)``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Self

from compiler.te import ComputeOp

__all__ = ["ComputeAttrs", "PanelProduct", "RowVectors"]


@dataclass(frozen=True, slots=True)
class ComputeAttrs:
    """Base of the attributes of computations."""

    @classmethod
    def of(cls, op: ComputeOp) -> Self:
        """Read the attributes of an operation that was declared with them.

        Parameters
        ----------
        op : ComputeOp
            With exactly these attributes.

        Returns
        -------
        ComputeAttrs
            Of the class that this is called on.
        """
        return cls(**op.attrs)

    def as_dict(self) -> dict[str, object]:
        """Return the attributes as ``te.compute`` takes them.

        Returns
        -------
        dict of str to object
        """
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RowVectors(ComputeAttrs):
    """Of a convolution with its columns last (``Tag.CONV_ROWS``, ``Tag.CONV_ROWS_DEPTHWISE``).

    Attributes
    ----------
    vector : int
        Columns that are computed together; it divides the extent of the last axis.
    groups : int
        Groups of channels.
    """

    vector: int
    groups: int


@dataclass(frozen=True, slots=True)
class PanelProduct(ComputeAttrs):
    """Of a product of matrices whose columns stand in panels (``Tag.MATMUL_PANELS``).

    Attributes
    ----------
    width : int
        Columns of a panel; it divides the extent of the last axis.
    is_shared : bool
        Whether all matrices of a batch are multiplied with the same panels.
    is_cut : bool
        Whether the last panel has more columns than the product.
    """

    width: int
    is_shared: bool
    is_cut: bool
