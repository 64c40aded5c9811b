"""``ExprTable`` of ``tvm.relay.frontend.common``: converted expressions by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Var, var
from compiler.runtime.ndarray import ArrayLike, NDArray, array

__all__ = ["ExprTable"]


class ExprTable:
    """The expressions of a model's values by name, and the values of the parameters among them.

    Attributes
    ----------
    exprs : dict of str to Expr
    params : dict of str to NDArray
        The values of those that :meth:`new_const` made.
    paddings : sequence of int
        What :meth:`set_padding` kept, for the layer that follows.
    in_padding : bool
        Whether it is still kept.
    """

    def __init__(self) -> None:
        self.exprs: dict[str, RelayExpr] = {}
        self.params: dict[str, NDArray] = {}
        self.paddings: Sequence[int] = ()
        self.in_padding = False

    def new_const(self, value: ArrayLike | NDArray, shape: Sequence[int] | None = None, dtype: str = "float32") -> Var:
        """Return a new variable for a parameter, under a name of its own in both tables.

        Parameters
        ----------
        value : array_like or NDArray
        shape : sequence of int, optional
            In place of the value's.
        dtype : str
            The value is converted to it.

        Returns
        -------
        Var

        Raises
        ------
        ValueError
            If the value does not have as many elements as ``shape``.
        """
        given = value.numpy() if isinstance(value, NDArray) else np.asarray(value)
        kept = array(given.reshape(given.shape if shape is None else tuple(shape)).astype(dtype))
        name = f"_param_{len(self.params) + 1}"
        made = var(name, shape=kept.shape, dtype=dtype)
        self.params[name] = kept
        self.exprs[name] = made
        return made

    def get_expr(self, name: str) -> RelayExpr:
        """Return the expression of a name.

        Parameters
        ----------
        name : str

        Returns
        -------
        Expr

        Raises
        ------
        KeyError
            If there is none.
        """
        return self.exprs[name]

    def set_expr(self, name: str, expr: RelayExpr, force_override: bool = False) -> None:
        """Keep an expression under a name; the first one stays.

        Parameters
        ----------
        name : str
        expr : Expr
        force_override : bool
            Whether it takes the place of one that is there.
        """
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """Return whether there is an expression of a name.

        Parameters
        ----------
        name : str

        Returns
        -------
        bool
        """
        return name in self.exprs

    def set_padding(self, paddings: Sequence[int]) -> None:
        """Keep a padding for the layer that follows.

        Parameters
        ----------
        paddings : sequence of int
        """
        self.paddings = paddings
        self.in_padding = True

    def clear_padding(self) -> None:
        """Say that the padding is used."""
        self.in_padding = False
