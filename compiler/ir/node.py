"""The base of every IR node: a slotted dataclass, compared by identity, immutable by type checking.

``frozen=True`` would make construction about three times slower, so immutability is promised to mypy through
``dataclass_transform`` and kept by convention at run time.
"""

from __future__ import annotations

import copy
import copyreg
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, ClassVar, TypeVar, dataclass_transform

from compiler.ir.origin import Span, current_span, derived_from
from compiler.ir.recursion import call_deeper
from compiler.ir.scriptable import Scriptable

T = TypeVar("T")
N = TypeVar("N", bound="Node")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """Make ``cls`` a node class: slotted, compared by identity."""
    return dataclass(slots=True, eq=False, repr=False)(cls)


def older_names(**names: str) -> Callable[[type[T]], type[T]]:
    """Let a node's constructor also take arguments under other names, those of older releases or TVM's own."""

    def accepting(cls: type[T]) -> type[T]:
        init: Callable[..., None] = cls.__init__

        @wraps(init)
        def renamed(self: T, *args: object, **options: object) -> None:
            init(self, *args, **{names.get(name, name): value for name, value in options.items()})

        cls.__init__ = renamed  # type: ignore[method-assign,assignment]
        return cls

    return accepting


@node
class Node(Scriptable):
    """The base class of all IR nodes.

    ``children`` names the fields that visitors descend into, in order; each holds a node, a tuple of nodes, or None.
    ``span`` is inherited from the ambient span at construction.
    """

    children: ClassVar[tuple[str, ...]] = ()
    defines: ClassVar[tuple[str, ...]] = ()
    """Fields whose variables begin to exist here, for the rest of the node."""
    allocates: ClassVar[tuple[str, ...]] = ()
    """Those of them whose buffers get memory here: their pointers begin to exist, what their shapes use does not."""
    labels: ClassVar[tuple[str, ...]] = ()
    """Fields that are for readers: two nodes that differ in nothing else are equal."""
    unique_instance: ClassVar[bool] = False
    """Whether two nodes are the same thing only if they are one object, whatever their fields say."""
    free_var: ClassVar[bool] = False
    """Whether it stands for something that is defined elsewhere, so that its name says nothing."""
    dag_node: ClassVar[bool] = False
    """Whether using one node twice is something else than using two that look alike: it is evaluated once."""

    span: Span = field(default_factory=current_span, kw_only=True)

    def is_shared(self) -> bool:
        """Return whether using this node twice is something else than using two that look alike."""
        return self.dag_node

    def same_as(self, other: object) -> bool:
        """Return whether ``other`` is this object."""
        return self is other

    def __reduce__(self) -> str | tuple[object, ...]:
        """Let copies and pickles have the fields as they are."""
        return copyreg.__newobj__, (type(self),), object.__getstate__(self)  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> object:
        """Copy the fields, too, however deep nodes are nested."""
        made = memo[id(self)] = copyreg.__newobj__(type(self))  # type: ignore[attr-defined]
        made.__setstate__(call_deeper(copy.deepcopy, object.__getstate__(self), memo))
        return made

    def __getstate__(self) -> object:
        """Return copies of the fields, which share no node with this one, for ``__setstate__``."""
        return copy.deepcopy(object.__getstate__(self))

    def __setstate__(self, state: tuple[None, dict[str, object]]) -> None:
        """Become the node that has the fields of a state."""
        for name, value in state[1].items():
            setattr(self, name, value)


_SHAPES: dict[type, tuple[tuple[str, ...], Callable[..., Any]]] = {}


def structure(cls: type[N]) -> tuple[tuple[str, ...], Callable[..., N]]:
    """Return the names of the fields that make up a node of class ``cls``, and the callable that takes their values.

    That is the class itself, or its ``from_fields`` where the public constructor takes something else.
    """
    shape = _SHAPES.get(cls)
    if shape is None:
        names = tuple(f.name for f in fields(cls) if f.init and not f.kw_only)
        shape = _SHAPES[cls] = (names, getattr(cls, "from_fields", cls))
    return shape


def rebuild(n: N, /, **changes: object) -> N:
    """Return ``n`` with some fields changed, and the ambient span; ``n`` itself if nothing changes.

    A value is not a change if it is the very object that the field holds, or a tuple of the very same objects.  What is
    compared by identity, such as a buffer, is another view of the same thing and keeps its span.

    Examples
    --------
    >>> loop = rebuild(loop, body=mutator.visit(loop.body))
    """
    for name, new in changes.items():
        old = getattr(n, name)
        if new is not old and not (type(new) is tuple and same_items(new, old)):
            return duplicate(n, changes)
    return n


def same_items(new: Sequence[object], old: Sequence[object]) -> bool:
    """Return whether two sequences hold identical objects."""
    return len(new) == len(old) and all(map(operator.is_, new, old))


def duplicate(n: N, changes: dict[str, object]) -> N:
    """Return another node like ``n`` with some fields changed, as :func:`rebuild` does, even where nothing changes."""
    if n.unique_instance:
        with derived_from(n.span):
            return _copy(n, changes)
    return _copy(n, changes)


def _copy(n: N, changes: dict[str, object]) -> N:
    names, make = structure(type(n))
    values = [changes.pop(name) if name in changes else getattr(n, name) for name in names]
    if changes:
        raise TypeError(f"rebuild: {type(n).__name__} is made from {', '.join(names)}, got {', '.join(changes)}")
    return make(*values)
