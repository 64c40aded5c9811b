"""Object paths: from a root node along attributes, indices and keys."""

from __future__ import annotations

from dataclasses import dataclass


class ObjectPath:
    """A path to a part of a node; :meth:`root` begins one, and each path has its ``parent`` and its last step."""

    __slots__ = ("_step", "parent")

    def __init__(self, parent: ObjectPath | None, step: object) -> None:
        self.parent = parent
        self._step = step

    @staticmethod
    def root(root_name: str | None = None) -> ObjectPath:
        """Return the path to a node itself."""
        return RootPath(None, root_name)

    def attr(self, attr_key: str | None) -> ObjectPath:
        """Return the path one step further, to an attribute; None if that is not known by name."""
        return UnknownAttributeAccessPath(self, None) if attr_key is None else AttributeAccessPath(self, attr_key)

    def array_index(self, index: int) -> ObjectPath:
        """Return the path one step further, to an item of a sequence."""
        return ArrayIndexPath(self, int(index))

    def missing_array_element(self, index: int) -> ObjectPath:
        """Return the path to an item that a sequence is too short for."""
        return MissingArrayElementPath(self, int(index))

    def map_value(self, key: object) -> ObjectPath:
        """Return the path one step further, to a value of a mapping."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> ObjectPath:
        """Return the path to an entry that a mapping does not have."""
        return MissingMapEntryPath(self, None)

    def get_prefix(self, length: int) -> ObjectPath:
        """Return the first steps of the path.

        Raises IndexError if the path is shorter, or there is none of that length.
        """
        path, surplus = self, len(self) - length
        if surplus < 0 or length < 1:
            raise IndexError(f"get_prefix: length must be from 1 to {len(self)}, got {length}")
        for _ in range(surplus):
            assert path.parent is not None
            path = path.parent
        return path

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Return whether another path begins with this one."""
        return len(self) <= len(other) and other.get_prefix(len(self)) == self

    def _steps(self) -> list[tuple[type, object]]:
        steps: list[tuple[type, object]] = []
        path: ObjectPath | None = self
        while path is not None:
            steps.append((type(path), path._step))
            path = path.parent
        return steps[::-1]

    def __len__(self) -> int:
        length, path = 1, self
        while path.parent is not None:
            length, path = length + 1, path.parent
        return length

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        mine, theirs = self._steps(), other._steps()
        return len(mine) == len(theirs) and all(
            a is b and (x is y or bool(x == y)) for (a, x), (b, y) in zip(mine, theirs, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(kind.__name__ for kind, _ in self._steps()))

    def _text(self) -> str:
        """Return the last step as it is written."""
        raise NotImplementedError

    def __str__(self) -> str:
        return ("" if self.parent is None else str(self.parent)) + self._text()

    __repr__ = __str__


class RootPath(ObjectPath):
    """The path to a node itself, with what the root is called in texts."""

    __slots__ = ()

    def _text(self) -> str:
        return str(self._step or "<root>")


class AttributeAccessPath(ObjectPath):
    """A path that ends at an attribute."""

    __slots__ = ()

    @property
    def attr_key(self) -> str:
        """The name of the attribute."""
        return str(self._step)

    def _text(self) -> str:
        return f".{self._step}"


class UnknownAttributeAccessPath(ObjectPath):
    """A path that ends at an attribute that is not known by name."""

    __slots__ = ()

    def _text(self) -> str:
        return ".<unknown attribute>"


class ArrayIndexPath(ObjectPath):
    """A path that ends at an item of a sequence."""

    __slots__ = ()

    @property
    def index(self) -> object:
        """The position."""
        return self._step

    def _text(self) -> str:
        return f"[{self._step}]"


class MissingArrayElementPath(ObjectPath):
    """A path that ends at an item that a sequence is too short for."""

    __slots__ = ()

    @property
    def index(self) -> object:
        """The position."""
        return self._step

    def _text(self) -> str:
        return f"[<missing element #{self._step}>]"


class MapValuePath(ObjectPath):
    """A path that ends at a value of a mapping."""

    __slots__ = ()

    @property
    def key(self) -> object:
        """The key of the value."""
        return self._step

    def _text(self) -> str:
        return f'["{self._step}"]' if isinstance(self._step, str) else f"[{self._step}]"


class MissingMapEntryPath(ObjectPath):
    """A path that ends at an entry that a mapping does not have."""

    __slots__ = ()

    def _text(self) -> str:
        return "[<missing entry>]"


@dataclass(frozen=True)
class ObjectPathPair:
    """Where two nodes that are compared have their parts."""

    lhs_path: ObjectPath
    rhs_path: ObjectPath
