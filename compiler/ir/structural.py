"""Equality and hashes of structure: the same shape of nodes, whatever the variables are called.

Variables match by where they are defined, free ones by identity; buffers and tensors match one to one.  Everything is
read off the nodes' own tables: ``structure()``, ``defines`` and ``nominal``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.node import Node, structure
from compiler.ir.primexpr import Var


def structural_equal(a: Any, b: Any, map_free_vars: bool = False) -> bool:
    """Return whether two expressions, statements, functions or modules have the same structure.

    Parameters
    ----------
    a, b : Node, IRModule, or tuples and mappings of them
    map_free_vars : bool
        Let free variables match one to one, instead of only with themselves.
    """
    return _Equality(map_free_vars).equal(a, b, _USE)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Check that two expressions, statements, functions or modules have the same structure.

    Raises
    ------
    ArgumentError
        Showing in which lines they differ.
    """
    if not structural_equal(lhs, rhs, map_free_vars):
        lines = difflib.unified_diff(str(lhs).splitlines(), str(rhs).splitlines(), "lhs", "rhs", lineterm="")
        raise ArgumentError("assert_structural_equal: the structures differ\n" + "\n".join(lines))


def structural_hash(n: Any, map_free_vars: bool = False) -> int:
    """Return a hash that agrees with :func:`structural_equal` under the same ``map_free_vars``."""
    return _Hash(map_free_vars).of(n, _USE)


_USE, _MATCH, _DEFINE = range(3)
"""What a variable does where it stands: it is used; it is matched with a new partner unless it has one (the shape of
a buffer); it is defined anew (a loop)."""

_ORDER: dict[type, tuple[tuple[str, int], ...]] = {}


def _field_order(cls: type[Node]) -> tuple[tuple[str, int], ...]:
    """Return the fields of a node, definitions before uses, each with what variables do there."""
    found = _ORDER.get(cls)
    if found is None:
        names, _ = structure(cls)
        mode = _MATCH if cls.nominal else _DEFINE
        label = ("name",) if cls.nominal else ()  # what a thing is called says nothing about it
        rest = [name for name in names if name not in cls.defines and name not in label]
        found = _ORDER[cls] = (*((name, mode) for name in cls.defines), *((name, _USE) for name in rest))
    return found


class _Equality:
    def __init__(self, map_free_vars: bool) -> None:
        self._map_free = map_free_vars
        self._partner: dict[Node, Node] = {}
        self._owner: dict[Node, Node] = {}

    def equal(self, a: Any, b: Any, mode: int) -> bool:
        if isinstance(a, Node):
            if type(a) is not type(b):
                return False
            if isinstance(a, Var) and isinstance(b, Var):
                return self._vars(a, b, mode)
            if a.nominal:
                return self._nominal(a, b)
            return self._fields(a, b, mode)
        if isinstance(a, (tuple, list)):
            return (
                isinstance(b, (tuple, list))
                and len(a) == len(b)
                and all(self.equal(x, y, mode) for x, y in zip(a, b, strict=True))
            )
        if isinstance(a, Mapping):
            return isinstance(b, Mapping) and self._mappings(a, b, mode)
        if isinstance(a, IRModule):
            return isinstance(b, IRModule) and self._modules(a, b)
        return _same_leaf(a, b)

    def _fields(self, a: Node, b: Node, mode: int) -> bool:
        around = _MATCH if mode == _MATCH else _USE
        return all(self.equal(getattr(a, name), getattr(b, name), around or own) for name, own in _field_order(type(a)))

    def _vars(self, a: Var, b: Var, mode: int) -> bool:
        if mode != _DEFINE and (a in self._partner or b in self._owner):
            return self._partner.get(a) is b and self._owner.get(b) is a
        if mode == _USE and not self._map_free:
            return a is b
        if a.dtype != b.dtype or not self.equal(a.type_annotation, b.type_annotation, _USE):
            return False
        self._pair(a, b)
        return True

    def _nominal(self, a: Node, b: Node) -> bool:
        if a in self._partner or b in self._owner:
            return self._partner.get(a) is b and self._owner.get(b) is a
        if a is b or self._fields(a, b, _USE):
            self._pair(a, b)
            return True
        return False

    def _pair(self, a: Node, b: Node) -> None:
        """Match two things from here on; a new definition replaces an old one."""
        old_b, old_a = self._partner.pop(a, None), self._owner.pop(b, None)
        if old_b is not None:
            self._owner.pop(old_b, None)
        if old_a is not None:
            self._partner.pop(old_a, None)
        self._partner[a], self._owner[b] = b, a

    def _mappings(self, a: Mapping[Any, Any], b: Mapping[Any, Any], mode: int) -> bool:
        if len(a) != len(b):
            return False
        for key, value in a.items():
            other = self._partner.get(key, key) if isinstance(key, Node) else key
            if other not in b or not self.equal(value, b[other], mode):
                return False
        return True

    def _modules(self, a: IRModule, b: IRModule) -> bool:
        left = {var.name_hint: func for var, func in a.items()}
        right = {var.name_hint: func for var, func in b.items()}
        return self.equal(left, right, _USE) and self.equal(a.attrs, b.attrs, _USE)


def _same_leaf(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)  # not-a-number is itself, and zero keeps its sign
    return bool(a is b or a == b)


class _Hash:
    def __init__(self, map_free_vars: bool) -> None:
        self._map_free = map_free_vars
        self._number: dict[Node, int] = {}
        self._count = 0

    def of(self, n: Any, mode: int) -> int:
        if isinstance(n, Var):
            return self._var(n, mode)
        if isinstance(n, Node):
            if not n.nominal:
                return self._fields(n, mode)
            if n not in self._number:
                content = self._fields(n, _USE)
                self._count += 1
                self._number[n] = hash((content, self._count))
            return self._number[n]
        if isinstance(n, (tuple, list)):
            return hash(("tuple", *[self.of(item, mode) for item in n]))
        if isinstance(n, Mapping):
            return self._mapping(n, mode)
        if isinstance(n, IRModule):
            functions = {var.name_hint: func for var, func in n.items()}
            return hash(("module", self.of(functions, _USE), self.of(n.attrs, _USE)))
        return hash((type(n).__name__, repr(n) if isinstance(n, float) else n)) if _hashable(n) else hash(type(n))

    def _fields(self, n: Node, mode: int) -> int:
        around = _MATCH if mode == _MATCH else _USE
        return hash((type(n).__name__, *[self.of(getattr(n, f), around or own) for f, own in _field_order(type(n))]))

    def _var(self, n: Var, mode: int) -> int:
        if mode != _DEFINE and n in self._number:
            return self._number[n]
        if mode == _USE and not self._map_free:
            return hash(("free", id(n)))
        self._count += 1
        self._number[n] = hash((n.dtype, self._count))
        return self._number[n]

    def _mapping(self, n: Mapping[Any, Any], mode: int) -> int:
        if all(isinstance(key, str) for key in n):
            return hash(("map", *[(key, self.of(n[key], mode)) for key in sorted(n)]))
        return hash(("map", *[(self.of(key, _USE), self.of(value, mode)) for key, value in n.items()]))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
