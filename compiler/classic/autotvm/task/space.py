"""Configuration spaces and their configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compiler.classic.autotvm.task import knobs
from compiler.classic.autotvm.task.entities import (
    AnnotateEntity,
    Entity,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    entity_of_json,
)
from compiler.classic.autotvm.task.index_space import IndexSpace
from compiler.classic.autotvm.task.knobs import Axis, Knob, VirtualAxis, get_factors, get_pow2s
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IterVar

__all__ = [
    "AnnotateEntity", "Axis", "ConfigEntity", "ConfigSpace", "FallbackConfigEntity", "InstantiationError",
    "OtherOptionEntity", "ReorderEntity", "SplitEntity", "VirtualAxis", "get_factors", "get_pow2s",
]  # fmt: skip


_SPLITS: Callable[..., Knob] = knobs.splits
_ORDERS: Callable[..., Knob] = knobs.orders
_ANNOTATED: Callable[..., Knob] = knobs.loop_annotations


class InstantiationError(TVMError, ValueError):
    """A configuration with which a template cannot be instantiated, as it reported by ``raise_error``."""


class ConfigSpace(IndexSpace):
    """The configuration space of a template, which the template fills by defining knobs.

    Attributes
    ----------
    space_map : dict of str to Knob
        The knobs, in the order of their definition.
    flop : int
        The floating-point operations that the template declared with ``add_flop``.
    cost : float or None
        The time in seconds from a tuning record.
    """

    is_fallback = False
    is_defined = False
    """Whether all knobs have values, so that defining them again changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.space_map: dict[str, Knob] = {}
        self._entity_map: dict[str, Entity] = {}
        self.flop = 0
        self.errors: list[str] = []
        self.code_hash: str | None = None
        self.cost: float | None = None

    @property
    def dims(self) -> list[int]:
        return [len(knob) for knob in self.space_map.values()]

    @staticmethod
    def axis(var: IterVar | int | VirtualAxis) -> VirtualAxis:
        """Return a virtual axis, from which knobs are defined."""
        return VirtualAxis(var)

    reduce_axis = axis

    def define_split(
        self, name: str, axis: IterVar | int | VirtualAxis, policy: str = "factors", **kwargs: object
    ) -> list[Axis]:
        """Define a knob that splits an axis, also given by its extent, and return the loops for other knobs.

        Policies are ``factors``, ``power2``, ``verbose`` and ``candidate``; the options are ``num_outputs``,
        ``max_factor``, ``filter``, ``no_tail`` and ``candidate``.
        """
        return self._define(name, lambda: _SPLITS(VirtualAxis(axis), policy, **kwargs))

    def define_reorder(
        self, name: str, axes: Sequence[VirtualAxis | Axis], policy: str = "all", **kwargs: object
    ) -> list[Axis]:
        """Define a knob that reorders loops.

        Policies are ``identity``, ``all``, ``interval_all`` and ``candidate``, options ``interval`` and ``candidate``.
        """
        return self._define(name, lambda: _ORDERS(axes, policy, **kwargs))

    def define_annotate(
        self, name: str, axes: Sequence[VirtualAxis | Axis], policy: str, **kwargs: object
    ) -> list[Axis]:
        """Define a knob that annotates loops, with the option ``candidate``.

        Policies are ``none``, ``unroll``, ``try_unroll``, ``try_vec``, ``try_unroll_vec`` and ``candidate``.
        """
        return self._define(name, lambda: _ANNOTATED(axes, policy, **kwargs))

    def define_knob(self, name: str, candidate: Sequence[object]) -> None:
        """Define a knob with arbitrary values."""
        self._define(name, lambda: knobs.options(candidate))

    def _define(self, name: str, make: Callable[[], Knob]) -> list[Axis]:
        if name not in self.space_map:
            knob = self.space_map[name] = make()
            self._entity_map[name] = knob[0]
        knob = self.space_map[name]
        return [Axis(knob, at) for at in range(knob.num_output)]

    def add_flop(self, flop: float) -> None:
        """Add to the number of floating-point operations of a call."""
        self.flop += int(flop)

    def raise_error(self, msg: str) -> None:
        """Report that the configuration is invalid."""
        self.errors.append(msg)

    def valid(self) -> bool:
        """Return whether no error was reported."""
        return not self.errors

    def multi_filter(self, filter: Callable[[ConfigEntity], bool]) -> None:  # TVM's name
        """Exclude configurations by a predicate over all knobs."""
        self._filter = filter
        self._valid = None

    def get(self, index: int) -> ConfigEntity:
        """Return the configuration with an index.

        Raises IndexError if the index is out of range or does not pass the filter.
        """
        if not 0 <= index < self.range_length:
            raise IndexError(f"Index out of range: size {self.range_length}, got index {index}")
        if not self.is_index_valid(index):
            raise IndexError(f"Index does not correspond to the multi-filter condition, got index {index}")
        return self._entity(index)

    def _entity(self, index: int) -> ConfigEntity:
        values = zip(self.space_map.items(), self.point2knob(index), strict=True)
        return ConfigEntity(index, self.code_hash, {name: knob[value] for (name, knob), value in values}, [])

    def __iter__(self) -> Iterator[Entity]:
        return iter(self._entity_map.values())

    def __getitem__(self, name: str) -> Any:
        """Return the value of a knob; its first one while the space is being defined."""
        return self._entity_map[name]

    def __repr__(self) -> str:
        rows = "".join(f"  {at:2d} {name}: {knob}\n" for at, (name, knob) in enumerate(self.space_map.items()))
        return f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map=\n{rows})"


class ConfigEntity(ConfigSpace):
    """A configuration: one point of the space."""

    is_defined = True

    def __init__(
        self, index: int, code_hash: str | None, entity_map: Mapping[str, Entity], constraints: Sequence[object]
    ) -> None:
        super().__init__()
        self.index = index
        self.code_hash = code_hash
        self._entity_map = dict(entity_map)

    def _define(self, name: str, make: Callable[[], Knob]) -> list[Axis]:
        """Return the loops that result from the value of a knob."""
        entity = self._entity_map[name]
        count = len(entity.value()) if not isinstance(entity, OtherOptionEntity) else 0
        return [Axis(None, at) for at in range(count)]

    def get_flatten_feature(self) -> list[float]:
        """Return the values of all knobs as numeric features."""
        return [number for entity in self._entity_map.values() for number in _numbers(entity.value())]

    def get_other_option(self) -> dict[str, object]:
        """Return the values of the knobs that :meth:`define_knob` defined."""
        return {name: e.val for name, e in self._entity_map.items() if isinstance(e, OtherOptionEntity)}

    def to_json_dict(self) -> dict[str, object]:
        """Return the configuration in the format of tuning records."""
        entities = [[name, entity.kind, entity.value()] for name, entity in self._entity_map.items()]
        return {"index": self.index, "code_hash": self.code_hash, "entity": entities}

    @staticmethod
    def from_json_dict(json_dict: Mapping[str, Any]) -> ConfigEntity:
        """Restore a configuration from a tuning record, that is from what :meth:`to_json_dict` returned."""
        rows = json_dict["entity"]
        rows = [(name, *row) for name, row in rows.items()] if isinstance(rows, Mapping) else rows
        entities = {name: entity_of_json(kind, value) for name, kind, value in rows}
        return ConfigEntity(json_dict["index"], json_dict.get("code_hash"), entities, [])

    def __repr__(self) -> str:
        return f"{list(self._entity_map.items())},{self.code_hash},{self.index}"


_ANNOTATIONS: Sequence[object] = ("none", "unroll", "try_unroll", "vec", "try_vec")


def _numbers(value: object) -> list[float]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [number for part in value for number in _numbers(part)]
    if isinstance(value, (int, float)):
        return [float(value)]
    return [float(_ANNOTATIONS.index(value) if value in _ANNOTATIONS else len(_ANNOTATIONS))]


class FallbackConfigEntity(ConfigSpace):
    """The configuration of an untuned template: each knob has its first value unless the template sets another."""

    is_fallback = True

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Set the value of a split knob from upper bounds on its loop extents, -1 for none.

        Starting from the innermost loop, each extent is the largest divisor of the remaining product within its bound.
        """
        left = self.space_map[name].product
        size: list[int] = []
        for limit in reversed(constraints):
            size.append(max(f for f in get_factors(left) if limit < 0 or f <= limit))
            left //= size[-1]
        self._entity_map[name] = SplitEntity(size[::-1])

    def __setitem__(self, name: str, entity: Entity) -> None:
        self._entity_map[name] = entity

    def __repr__(self) -> str:
        return f"{list(self._entity_map.items())},{self.code_hash}"
