"""Configuration spaces and their configurations."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.autotvm.task import knobs
from compiler.autotvm.task.entities import (
    AnnotateEntity,
    Entity,
    OtherOptionEntity,
    ReorderEntity,
    SplitEntity,
    entity_of_json,
)
from compiler.autotvm.task.knobs import Axis, Knob, VirtualAxis, get_factors, get_pow2s
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.primexpr import IterVar

__all__ = [
    "AnnotateEntity",
    "Axis",
    "ConfigEntity",
    "ConfigSpace",
    "FallbackConfigEntity",
    "InstantiationError",
    "OtherOptionEntity",
    "ReorderEntity",
    "SplitEntity",
    "VirtualAxis",
    "get_factors",
    "get_pow2s",
]


_SPLITS: Callable[..., Knob] = knobs.splits
_ORDERS: Callable[..., Knob] = knobs.orders
_ANNOTATED: Callable[..., Knob] = knobs.loop_annotations


_TRIES = 100
"""Steps that are tried from a configuration before it counts as one without neighbours."""


class InstantiationError(TVMError, ValueError):
    """A template cannot be instantiated with a configuration: what it was told by ``raise_error``."""


class ConfigSpace:
    """The configurations of a template: it is what the template asks while its knobs are defined.

    Attributes
    ----------
    space_map : dict of str to Knob
        The knobs, in the order of their definition.
    flop : int
        Floating-point operations, where the template says them by ``add_flop``.
    errors : list of str
        What the template reported.
    code_hash : str or None
    cost : float or None
        The seconds that a record says.
    """

    is_fallback = False
    is_defined = False
    """Whether the values of all knobs are given: the template defines none any more."""

    def __init__(self) -> None:
        self.space_map: dict[str, Knob] = {}
        self._entity_map: dict[str, Entity] = {}
        self.flop = 0
        self.errors: list[str] = []
        self.code_hash: str | None = None
        self.cost: float | None = None
        self._filter: Callable[[ConfigEntity], bool] | None = None
        self._valid: list[int] | None = None

    @staticmethod
    def axis(var: IterVar | int | VirtualAxis) -> VirtualAxis:
        """Return a loop for the definition of knobs.

        Parameters
        ----------
        var : IterVar, int or VirtualAxis
            The loop, or its extent.

        Returns
        -------
        VirtualAxis
        """
        return VirtualAxis(var)

    reduce_axis = axis

    def define_split(
        self, name: str, axis: IterVar | int | VirtualAxis, policy: str = "factors", **kwargs: object
    ) -> list[Axis]:
        """Define a knob that splits an axis.

        Parameters
        ----------
        name : str
            Of the knob.
        axis : IterVar, int or VirtualAxis
            The axis, or its extent.
        policy : str
            ``factors``, ``power2``, ``verbose`` or ``candidate``.
        **kwargs
            ``num_outputs``, ``max_factor``, ``filter``, ``no_tail`` and ``candidate``.

        Returns
        -------
        list of Axis
            The loops that there will be, for other knobs.
        """
        return self._define(name, lambda: _SPLITS(VirtualAxis(axis), policy, **kwargs))

    def define_reorder(
        self, name: str, axes: Sequence[VirtualAxis | Axis], policy: str = "all", **kwargs: object
    ) -> list[Axis]:
        """Define a knob that reorders loops.

        Parameters
        ----------
        name : str
            Of the knob.
        axes : sequence of VirtualAxis or Axis
        policy : str
            ``identity``, ``all``, ``interval_all`` or ``candidate``.
        **kwargs
            ``interval`` and ``candidate``.

        Returns
        -------
        list of Axis
        """
        return self._define(name, lambda: _ORDERS(axes, policy, **kwargs))

    def define_annotate(
        self, name: str, axes: Sequence[VirtualAxis | Axis], policy: str, **kwargs: object
    ) -> list[Axis]:
        """Define a knob that annotates loops.

        Parameters
        ----------
        name : str
            Of the knob.
        axes : sequence of VirtualAxis or Axis
        policy : str
            ``none``, ``unroll``, ``try_unroll``, ``try_vec``, ``try_unroll_vec`` or ``candidate``.
        **kwargs
            ``candidate``.

        Returns
        -------
        list of Axis
        """
        return self._define(name, lambda: _ANNOTATED(axes, policy, **kwargs))

    def define_knob(self, name: str, candidate: Sequence[Any]) -> None:
        """Define a knob whose values the template uses as it likes.

        Parameters
        ----------
        name : str
            Of the knob.
        candidate : sequence
            Of JSON's types.
        """
        self._define(name, lambda: knobs.options(candidate))

    def _define(self, name: str, make: Callable[[], Knob]) -> list[Axis]:
        if name not in self.space_map:
            knob = self.space_map[name] = make()
            self._entity_map[name] = knob[0]
        knob = self.space_map[name]
        return [Axis(knob, at) for at in range(knob.num_output)]

    def add_flop(self, flop: float) -> None:
        """Say how many floating-point operations a call makes, where the schedule cannot be asked.

        Parameters
        ----------
        flop : float
            They are added up.
        """
        self.flop += int(flop)

    def raise_error(self, msg: str) -> None:
        """Report that the configuration cannot be used.

        Parameters
        ----------
        msg : str
            Why.
        """
        self.errors.append(msg)

    def valid(self) -> bool:
        """Return whether nothing was reported.

        Returns
        -------
        bool
        """
        return not self.errors

    @property
    def dims(self) -> list[int]:
        """How many values each knob has."""
        return [len(knob) for knob in self.space_map.values()]

    @property
    def range_length(self) -> int:
        """How many configurations there are."""
        return math.prod(self.dims)

    def __len__(self) -> int:
        return self.range_length if self._filter is None else len(self._indices())

    def multi_filter(self, filter: Callable[[ConfigEntity], bool]) -> None:  # TVM's name
        """Leave configurations out, by the values of several knobs together.

        Parameters
        ----------
        filter : callable
            From a configuration to whether it stays.
        """
        self._filter = filter
        self._valid = None

    def clear_cache(self) -> None:
        """Ask the filter again, e.g. since it goes by something else now."""
        self._valid = None

    def _indices(self) -> list[int]:
        """Return the numbers of the configurations that the filter leaves, in order."""
        if self._filter is None:
            return list(range(self.range_length))
        if self._valid is None:
            self._valid = [i for i in range(self.range_length) if self._filter(self._entity(i))]
        return self._valid

    def is_index_valid(self, index: int) -> bool:
        """Return whether there is a configuration of that number.

        Parameters
        ----------
        index : int

        Returns
        -------
        bool
        """
        if not 0 <= index < self.range_length:
            return False
        return self._filter is None or _place(self._indices(), index) is not None

    def subrange_length(self, start: int, end: int) -> int:
        """Count the configurations of some numbers.

        Parameters
        ----------
        start, end : int
            The first number, and the one behind the last.

        Returns
        -------
        int

        Raises
        ------
        ArgumentError
            If there are no such numbers.
        """
        if not 0 <= start <= end <= self.range_length:
            raise ArgumentError(
                f"subrange_length: {start} to {end} is outside of the {self.range_length} configurations"
            )
        if self._filter is None:
            return end - start
        return bisect_left(self._indices(), end) - bisect_left(self._indices(), start)

    def get_next_index(self, index: int, n: int = 1, start: int | None = None, end: int | None = None) -> int | None:
        """Return the number of the configuration that is some places further on.

        Parameters
        ----------
        index : int
            The number of one.
        n : int
            How many further; negative for those before.
        start, end : int, optional
            Between which numbers it must be; the whole space when left out.

        Returns
        -------
        int or None
            None where there is none.
        """
        indices = self._indices()
        behind = bisect_left(indices, index) + (0 if self.is_index_valid(index) or n < 0 else -1)
        place = behind + n
        low, high = start or 0, self.range_length if end is None else end
        return indices[place] if 0 <= place < len(indices) and low <= indices[place] < high else None

    def get_rand_index(
        self, start: int | None = None, end: int | None = None, to_exclude: Sequence[int] | None = None
    ) -> int:
        """Return the number of a random configuration.

        Parameters
        ----------
        start, end : int, optional
            Between which numbers it must be; the whole space when left out.
        to_exclude : sequence of int, optional
            Numbers that it must not be.

        Returns
        -------
        int
        """
        low, high = start or 0, self.range_length if end is None else end
        excluded = set(to_exclude or ())
        if self._filter is None and not excluded:
            return random.randrange(low, high)
        return random.choice([i for i in self._indices() if low <= i < high and i not in excluded])

    def sample_ints(self, m: int) -> npt.NDArray[np.int64]:
        """Return the numbers of different random configurations.

        Parameters
        ----------
        m : int
            How many.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        ArgumentError
            If there are not so many.
        """
        if m > len(self):
            raise ArgumentError(f"sample_ints: the space has {len(self)} configurations, not {m}")
        return np.array(random.sample(self._indices(), m), "int64")

    def random_walk(self, point: int) -> int:
        """Return the number of a configuration that differs in one knob.

        Parameters
        ----------
        point : int
            The number of the one to begin with.

        Returns
        -------
        int
            The same number where there seems to be no other one.
        """
        for _ in range(_TRIES if len(self) > 1 else 0):
            knob = self.point2knob(point)
            changed = random.randrange(len(knob))
            knob[changed] = random.randrange(self.dims[changed])
            walked = self.knob2point(knob)
            if walked != point and self.is_index_valid(walked):
                return walked
        return point

    def point2knob(self, point: int) -> list[int]:
        """Return which value each knob has in a configuration; the first knob changes fastest.

        Parameters
        ----------
        point : int
            The number of the configuration.

        Returns
        -------
        list of int
        """
        values = []
        for size in self.dims:
            point, value = divmod(point, size)
            values.append(value)
        return values

    def knob2point(self, knob: Sequence[int]) -> int:
        """Return the number of a configuration.

        Parameters
        ----------
        knob : sequence of int
            Which value each knob has.

        Returns
        -------
        int
        """
        point = 0
        for value, size in zip(reversed(knob), reversed(self.dims), strict=True):
            point = point * size + value
        return point

    def get(self, index: int) -> ConfigEntity:
        """Return a configuration.

        Parameters
        ----------
        index : int
            Its number.

        Returns
        -------
        ConfigEntity

        Raises
        ------
        IndexError
            If there is none of that number.
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
        """Return a knob's value: while the space is defined, its first one."""
        return self._entity_map[name]

    def __repr__(self) -> str:
        rows = "".join(f"  {at:2d} {name}: {knob}\n" for at, (name, knob) in enumerate(self.space_map.items()))
        return f"ConfigSpace (len={len(self)}, range_length={self.range_length}, space_map=\n{rows})"


def _place(indices: Sequence[int], index: int) -> int | None:
    """Return where a number is in an ordered sequence; None where it is not in it."""
    place = bisect_left(indices, index)
    return place if place < len(indices) and indices[place] == index else None


class ConfigEntity(ConfigSpace):
    """One configuration.

    Parameters
    ----------
    index : int
        Its number in its space.
    code_hash : str or None
    entity_map : mapping of str to Entity
        The value of each knob.
    constraints : sequence
        Accepted as TVM does.
    """

    is_defined = True

    def __init__(
        self, index: int, code_hash: str | None, entity_map: Mapping[str, Entity], constraints: Sequence[object]
    ) -> None:
        super().__init__()
        self.index = index
        self.code_hash = code_hash
        self._entity_map = dict(entity_map)

    def _define(self, name: str, make: Callable[[], Knob]) -> list[Axis]:
        """Return the loops that the value of a knob makes: nothing is defined any more."""
        entity = self._entity_map[name]
        count = len(entity.value()) if not isinstance(entity, OtherOptionEntity) else 0
        return [Axis(None, at) for at in range(count)]

    def get_flatten_feature(self) -> list[float]:
        """Return the values of all knobs as numbers.

        Returns
        -------
        list of float
            Extents, places and numbers as they are, annotations by their number.
        """
        return [number for entity in self._entity_map.values() for number in _numbers(entity.value())]

    def get_other_option(self) -> dict[str, Any]:
        """Return the values of the knobs that templates use as they like.

        Returns
        -------
        dict of str to object
        """
        return {name: e.val for name, e in self._entity_map.items() if isinstance(e, OtherOptionEntity)}

    def to_json_dict(self) -> dict[str, Any]:
        """Return the configuration as a record has it.

        Returns
        -------
        dict
        """
        entities = [[name, entity.kind, entity.value()] for name, entity in self._entity_map.items()]
        return {"index": self.index, "code_hash": self.code_hash, "entity": entities}

    @staticmethod
    def from_json_dict(json_dict: Mapping[str, Any]) -> ConfigEntity:
        """Return the configuration of a record.

        Parameters
        ----------
        json_dict : mapping
            What :meth:`to_json_dict` returned.

        Returns
        -------
        ConfigEntity
        """
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
    """The configuration of a template that nobody tuned: the first value of each knob, or what the template sets."""

    is_fallback = True

    def fallback_split(self, name: str, constraints: Sequence[int]) -> None:
        """Choose a split by limits of its loops.

        Parameters
        ----------
        name : str
            Of the knob.
        constraints : sequence of int
            The longest that each loop may be; -1 for no limit.  From the innermost loop on, each becomes the largest
            divisor of what is left.
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
