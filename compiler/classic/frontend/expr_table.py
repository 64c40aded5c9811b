"""``ExprTable`` of ``tvm.relay.frontend.common``: converted expressions by name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Var, var
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array


class ExprTable:
    """Converted expressions by name, and the values of parameters.

    Attributes
    ----------
    params : dict of str to NDArray
        The values of the parameters created by :meth:`new_const`.
    paddings : sequence of int
        The padding for the next layer, from :meth:`set_padding`.
    """

    def __init__(self) -> None:
        self.exprs: dict[str, RelayExpr] = {}
        self.params: dict[str, NDArray] = {}
        self.paddings: Sequence[int] = ()
        self.in_padding = False

    def new_const(self, value: ArrayLike | NDArray, shape: Sequence[int] | None = None, dtype: str = "float32") -> Var:
        """Create a variable for a parameter, with a fresh name.

        Raises ValueError if the number of elements does not match ``shape``.

        Parameters
        ----------
        shape : sequence of int, optional
            By default the shape of the value.
        """
        given = value.view() if isinstance(value, NDArray) else np.asarray(value)
        kept = array(given.reshape(given.shape if shape is None else tuple(shape)).astype(dtype))
        name = f"_param_{len(self.params) + 1}"
        made = var(name, shape=kept.shape, dtype=dtype)
        self.params[name] = kept
        self.exprs[name] = made
        return made

    def get_expr(self, name: str) -> RelayExpr:
        """Look up an expression by name.

        Raises KeyError if there is none.
        """
        return self.exprs[name]

    def set_expr(self, name: str, expr: RelayExpr, force_override: bool = False) -> None:
        """Register an expression under a name; an existing one is kept."""
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """Return whether there is an expression with a name."""
        return name in self.exprs

    def set_padding(self, paddings: Sequence[int]) -> None:
        """Set the padding for the next layer."""
        self.paddings = paddings
        self.in_padding = True

    def clear_padding(self) -> None:
        """Clear the pending padding."""
        self.in_padding = False
