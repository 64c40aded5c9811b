"""In-place operators, whose writes are visible through all aliases of a tensor: names, views and bases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.registry import Argument, Convert, apply
from compiler.relay.frontend.pytorch.tensors import reshape, static_shape
from compiler.relay.frontend.pytorch.values import TorchValue, as_expr, as_items
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of
from compiler.relay.frontend.shared.tensors import expand

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class _View:
    """A view of a tensor."""

    base: RelayExpr
    convert: Convert
    arguments: tuple[Argument, ...]
    part: int | None

    def of(self, base: RelayExpr) -> RelayExpr:
        """Apply the view to another tensor."""
        result = apply(self.convert, (Argument("self", base), *self.arguments))
        return as_expr(result if self.part is None else as_items(result)[self.part])


class Views:
    """Tracks aliases among the values of a graph."""

    def __init__(self, values: dict[str, TorchValue]) -> None:
        self._values = values
        self._views: dict[RelayExpr, _View] = {}
        self.branch_depth = 0

    def record(self, schema: torch.FunctionSchema, first: RelayExpr, result: TorchValue, convert: Convert,
               arguments: Sequence[Argument]) -> TorchValue:  # fmt: skip
        """Record aliasing between the result of a call and its first argument, and return the result."""
        alias = schema.arguments[0].alias_info
        if alias is None:
            return result
        if alias.is_write:
            return self._written(first, as_expr(result))
        for part, item in enumerate(result if isinstance(result, (list, tuple)) else [result]):
            if isinstance(item, RelayExpr) and item is not first and item not in self._views:
                place = part if isinstance(result, (list, tuple)) else None
                self._views[item] = _View(first, convert, tuple(arguments[1:]), place)
        return result

    def _written(self, old: RelayExpr, new: RelayExpr) -> RelayExpr:
        """Replace the elements of a tensor, and propagate the update to its base."""
        if self.branch_depth:
            raise ConversionError(
                "an in-place operator inside a branch or loop whose condition is known only at run time"
            )
        if dtype_of(new) != dtype_of(old):
            new = ops.cast(new, dtype_of(old))
        if dims_of(new) != dims_of(old):
            new = expand(new, list(static_shape(old)))
        root, chain = old, []
        while root in self._views:
            chain.append(self._views[root])
            root = self._views[root].base
        if not chain:
            replaced: dict[RelayExpr, RelayExpr] = {old: new}
        else:
            places = _numbered(root)
            for view in reversed(chain):
                places = view.of(places)
            array = known(places)
            if array is None:
                raise ConversionError("an in-place operator on a part whose bounds are known only at run time")
            flat = reshape(root, [-1]) if rank_of(root) != 1 else root
            updates = reshape(new, [-1]) if rank_of(new) != 1 else new
            written = ops.scatter_elements(flat, constant(array.reshape(-1), "int64"), updates, axis=0)
            replaced = {root: reshape(written, list(static_shape(root))), old: new}
        self._rename(replaced)
        return replaced[old]

    def _rename(self, replaced: dict[RelayExpr, RelayExpr]) -> None:
        """Update all names that refer to a written tensor or to its views."""
        for name, value in list(self._values.items()):
            self._values[name] = self._replacement(value, replaced)

    def _replacement(self, value: TorchValue, replaced: dict[RelayExpr, RelayExpr]) -> TorchValue:
        if isinstance(value, list):
            value[:] = [self._replacement(v, replaced) for v in value]
            return value
        if isinstance(value, tuple):
            return tuple(self._replacement(v, replaced) for v in value)
        if not isinstance(value, RelayExpr):
            return value
        if value not in replaced and value in self._views:
            view = self._views[value]
            base = as_expr(self._replacement(view.base, replaced))
            if base is not view.base:
                replaced[value] = view.of(base)
                self._views[replaced[value]] = _View(base, view.convert, view.arguments, view.part)
        elif value in replaced and value in self._views and replaced[value] not in self._views:
            view = self._views[value]
            base = as_expr(self._replacement(view.base, replaced))
            self._views[replaced[value]] = _View(base, view.convert, view.arguments, view.part)
        return replaced.get(value, value)


def _numbered(x: RelayExpr) -> RelayExpr:
    """Return a tensor of flat indices with the shape of another one."""
    shape = static_shape(x)
    return constant(np.arange(math.prod(shape)).reshape(shape), "int64")
