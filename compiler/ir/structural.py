"""Structural equality and hashing, up to the names of variables.

Variables match by where they are defined, free ones by identity; buffers and tensors match one to one, and so do the
expressions of a graph: one that is used twice is not two that look alike.  Everything is read off the nodes' own
tables: ``structure()``, ``defines``, ``free_var``, ``unique_instance`` and ``dag_node``.
"""

from __future__ import annotations

import difflib
import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.ir.attrs.integer import IntAttr
from compiler.ir.error import ArgumentError
from compiler.ir.expr.coercion import convert
from compiler.ir.expr.scalars import IntImm, PrimExpr
from compiler.ir.function import DefinedName
from compiler.ir.identity import Id
from compiler.ir.module import IRModule
from compiler.ir.node import Node, structure
from compiler.ir.object_path import AttributeAccessPath, ObjectPath
from compiler.ir.scriptable import Scriptable
from compiler.ir.source_span import SequentialSpan, Span
from compiler.ir.types import InferredTypes


def structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> bool:
    """Return whether two expressions, statements, functions or modules have the same structure.

    A number or str is the constant where the other one is an expression.  With ``map_free_vars``, free variables match
    one to one, instead of only with themselves.
    """
    if isinstance(lhs, Span) and isinstance(rhs, Span):
        return lhs.is_at(rhs)
    if _is_no_place(lhs) and _is_no_place(rhs):
        return True
    return _Equality(map_free_vars).equal(_with_number(lhs, rhs), _with_number(rhs, lhs))


def _is_no_place(span: object) -> bool:
    """Return whether a span names no source, as TVM's ``None`` does: where a node was made need not be one."""
    return span is None or (isinstance(span, frozenset) and not isinstance(span, (Span, SequentialSpan)))


def _with_number(a: object, other: object) -> object:
    """Return a Python number or string that is compared with an expression as the constant that it stands for."""
    if isinstance(a, (bool, int, float, str)) and isinstance(other, PrimExpr):
        return convert(a)
    if isinstance(a, (tuple, list)) and isinstance(other, (tuple, list)) and len(a) == len(other):
        return [_with_number(x, y) for x, y in zip(a, other, strict=True)]
    return a


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Check :func:`structural_equal`.  Raises ArgumentError, which shows in which lines they differ."""
    if structural_equal(lhs, rhs, map_free_vars):
        return
    paths = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    if paths is not None:
        lines = difflib.unified_diff(str(lhs).splitlines(), str(rhs).splitlines(), "lhs", "rhs", lineterm="")
        left, right = (_marked(root, path) for root, path in zip((lhs, rhs), paths, strict=True))
        # Programs search the text for these very words, TVM's.
        raise ArgumentError(
            "\n".join(("assert_structural_equal: the structures differ", *lines))
            + f"\nValueError: StructuralEqual check failed, caused by lhs at {left}\nand rhs at {right}"
        )


def _marked(root: object, path: ObjectPath) -> str:
    """Return a path with the program that it is in, the part at its end underlined."""
    if isinstance(root, Scriptable):
        return f"{path}:\n{root.script(path_to_underline=[path], syntax_sugar=False)}"
    return f"{path}:\n{root}"


def get_first_structural_mismatch(
    lhs: object, rhs: object, map_free_vars: bool = False
) -> tuple[ObjectPath, ObjectPath] | None:
    """Return the paths, in ``lhs`` and ``rhs``, to the first parts that differ structurally; None if nothing does.

    Examples
    --------
    >>> tvm.ir.get_first_structural_mismatch(x + 1, x + 2)
    (<root>.b.value, <root>.b.value)
    """
    return _FirstMismatch(map_free_vars).find(_with_number(lhs, rhs), _with_number(rhs, lhs))


def structural_hash(node: object, map_free_vars: bool = False) -> int:
    """Return a hash consistent with :func:`structural_equal` under the same ``map_free_vars``."""
    return _Hash(map_free_vars).of(node)


def structural_digest(node: object, limit: int) -> str | None:
    """Return a SHA-256 in hexadecimal that structurally equal things have in common, in any process.

    None if more than ``limit`` parts would be looked at; one that is used twice counts twice.
    """
    parts = _Hash(True).parts(node, limit)
    return None if parts is None else hashlib.sha256(repr(parts).encode()).hexdigest()


_SYMBOL = "global_symbol"
_SINGLE = struct.Struct("f")

_USE, _MATCH, _DEFINE = range(3)
"""What a variable does where it stands: it is used; it is matched with a new partner unless it has one (the shape of
a buffer); it is defined anew (a loop)."""

_ORDER: dict[type, tuple[tuple[str, int], ...]] = {}


def _field_order(cls: type[Node]) -> tuple[tuple[str, int], ...]:
    """Return the fields of a node, definitions before uses, each with what variables do there."""
    order = _ORDER.get(cls)
    if order is None:
        names, _ = structure(cls)
        mode = _MATCH if cls.unique_instance else _DEFINE
        # What a thing is called says nothing about it.
        label = ("name", "name_hint") if cls.free_var else ("name",) if cls.unique_instance else cls.labels
        rest = [name for name in names if name not in cls.defines and name not in label]
        order = _ORDER[cls] = (*((name, mode) for name in cls.defines), *((name, _USE) for name in rest))
    return order


class _Equality:
    """Compares in the order of the program; what is still to be compared stands on a list, as graphs are deep."""

    def __init__(self, map_free_vars: bool) -> None:
        self._map_free = map_free_vars
        self._partner: dict[Node, Node] = {}
        self._owner: dict[Node, Node] = {}
        self._todo: list[tuple[object, object, int]] = []

    def equal(self, a: object, b: object) -> bool:
        self._todo.append((_as_written(a), _as_written(b), _USE))
        while self._todo:
            if not self._same(*self._todo.pop()):
                return False
        return True

    def _later(self, pairs: Iterable[tuple[object, object, int]]) -> bool:
        """Compare these next, in their order."""
        self._todo.extend(reversed(list(pairs)))
        return True

    def _same(self, a: object, b: object, mode: int) -> bool:
        """Return False if two things differ; what they are made of is compared next."""
        if isinstance(a, Node):
            return type(a) is type(b) and self._nodes(a, b, mode)
        if isinstance(a, (tuple, list)):
            return isinstance(b, (tuple, list)) and self._sequences(a, b, mode)
        if isinstance(a, Mapping):
            return isinstance(b, Mapping) and self._mappings(a, b, mode)
        if isinstance(a, IRModule):
            return isinstance(b, IRModule) and self._modules(a, b)
        if isinstance(a, Id):
            return isinstance(b, Id) and self._same(a.var, b.var, mode)
        return _same_leaf(a, b)

    def _sequences(self, a: Sequence[object], b: Sequence[object], mode: int) -> bool:
        if type(a) is InferredTypes or type(b) is InferredTypes:
            return True
        return len(a) == len(b) and self._later((x, y, mode) for x, y in zip(a, b, strict=True))

    def _modules(self, a: IRModule, b: IRModule) -> bool:
        return self._later((x, y, _USE) for x, y in zip(_parts(a), _parts(b), strict=True))

    def _nodes(self, a: Node, b: Node, mode: int) -> bool:
        if a.free_var:
            return self._variables(a, b, mode)
        if not (a.unique_instance or a.is_shared()):
            return self._fields(a, b, mode)
        if a in self._partner or b in self._owner:
            return self._are_partners(a, b)
        self._pair(a, b)
        return (a.unique_instance and a is b) or self._fields(a, b, _USE)

    def _fields(self, a: Node, b: Node, mode: int) -> bool:
        around = _MATCH if mode == _MATCH else _USE
        return self._later((getattr(a, f), getattr(b, f), around or own) for f, own in _field_order(type(a)))

    def _variables(self, a: Node, b: Node, mode: int) -> bool:
        if mode != _DEFINE and (a in self._partner or b in self._owner):
            return self._are_partners(a, b)
        if mode == _USE and not self._map_free:
            return a is b
        self._pair(a, b)
        return self._fields(a, b, _MATCH)

    def _are_partners(self, a: Node, b: Node) -> bool:
        return self._partner.get(a) is b and self._owner.get(b) is a

    def _pair(self, a: Node, b: Node) -> None:
        """Match two things from here on; a new definition replaces an old one."""
        old_b, old_a = self._partner.pop(a, None), self._owner.pop(b, None)
        if old_b is not None:
            self._owner.pop(old_b, None)
        if old_a is not None:
            self._partner.pop(old_a, None)
        self._partner[a], self._owner[b] = b, a

    def _partner_of(self, key: object) -> object:
        """Return the key that stands in the other mapping for one of this: that of its partner, for a variable."""
        if isinstance(key, Id):
            return Id(self._partner.get(key.var, key.var))
        return self._partner.get(key, key) if isinstance(key, Node) else key

    def _mappings(self, a: Mapping[object, object], b: Mapping[object, object], mode: int) -> bool:
        if _SYMBOL in a or _SYMBOL in b:
            a, b = _with_stated_symbols(a, b)
        others = {key: self._partner_of(key) for key in a}
        if len(a) != len(b) or not all(other in b for other in others.values()):
            return False
        return self._later((_entry(value), _entry(b[others[key]]), mode) for key, value in a.items())


class _FirstMismatch(_Equality):
    """Compares likewise, and knows the path to what it compares: each item of the list has its pair of paths."""

    def __init__(self, map_free_vars: bool) -> None:
        super().__init__(map_free_vars)
        self._paths: list[tuple[ObjectPath, ObjectPath]] = []
        self._path = (ObjectPath.root(), ObjectPath.root())
        self._modules_here: tuple[IRModule, IRModule] | None = None

    def find(self, a: object, b: object) -> tuple[ObjectPath, ObjectPath] | None:
        """Return the paths to the first difference; None if there is none."""
        self._todo.append((a, b, _USE))
        self._paths.append(self._path)
        while self._todo:
            item = self._todo.pop()
            self._path = self._paths.pop()
            if not self._same(*item):
                return self._to_number(item[0], 0), self._to_number(item[1], 1)
        return None

    def _to_number(self, thing: object, side: int) -> ObjectPath:
        """Return the path to what differs: a number that is not an attribute is a constant's value."""
        path = self._path[side]
        if isinstance(thing, (int, float)) and not isinstance(path, AttributeAccessPath):
            return path.attr("value")
        return path

    def _note(self, step: Callable[[ObjectPath, int], ObjectPath], count: int) -> None:
        """Note the paths of the items that come next."""
        a, b = self._path
        self._paths.extend((step(a, i), step(b, i)) for i in reversed(range(count)))

    def _fields(self, a: Node, b: Node, mode: int) -> bool:
        order = _field_order(type(a))
        self._note(lambda path, i: path.attr(order[i][0]), len(order))
        return super()._fields(a, b, mode)

    def _sequences(self, a: Sequence[object], b: Sequence[object], mode: int) -> bool:
        common = min(len(a), len(b))
        if len(a) != len(b):
            ends = [path.missing_array_element(common) if len(x) == common else path.array_index(common)
                    for path, x in zip(self._path, (a, b), strict=True)]  # fmt: skip
            self._differ_later(ends[0], ends[1])
        self._note(ObjectPath.array_index, common)
        return super()._sequences(a[:common], b[:common], mode)

    def _modules(self, a: IRModule, b: IRModule) -> bool:
        self._modules_here = (a, b)
        self._note(lambda path, i: path.attr(("type_definitions", "functions", "attrs", "global_infos")[i]), 4)
        return super()._modules(a, b)

    def _mappings(self, a: Mapping[object, object], b: Mapping[object, object], mode: int) -> bool:
        if _SYMBOL in a or _SYMBOL in b:
            a, b = _with_stated_symbols(a, b)
        others = {key: self._partner.get(key, key) if isinstance(key, Node) else key for key in a}
        left, right = self._path
        for key in reversed([key for key in b if key not in others.values()]):
            self._differ_later(left.missing_map_entry(), self._at_key(key, 1))
        for key in reversed([key for key, other in others.items() if other not in b]):
            self._differ_later(self._at_key(key, 0), right.missing_map_entry())
        common = {key: other for key, other in others.items() if other in b}
        self._paths.extend((self._at_key(k, 0), self._at_key(o, 1)) for k, o in reversed(common.items()))
        return self._later((_entry(a[key]), _entry(b[other]), mode) for key, other in common.items())

    def _at_key(self, key: object, side: int) -> ObjectPath:
        """Return the path to a value of a mapping; functions, compared by name, have their variables for keys."""
        path = self._path[side]
        of_module = isinstance(path, AttributeAccessPath) and path.attr_key == "functions"
        if of_module and self._modules_here is not None and isinstance(key, str):
            return path.map_value(self._modules_here[side].get_global_var(key))
        return path.map_value(key)

    def _differ_later(self, left: ObjectPath, right: ObjectPath) -> None:
        """Put a difference behind what is still to be compared."""
        self._todo.append((None, "", _USE))
        self._paths.append((left, right))


def _parts(mod: IRModule) -> tuple[Mapping[str, Any], ...]:
    """Return what a module is made of, in the order in which it is compared: types come before functions."""
    types, functions = (
        {var.name_hint: table[var] for var in sorted(table, key=lambda var: str(var.name_hint))}
        for table in (mod.type_definitions, mod.functions)
    )
    return (types, functions, mod.attrs, mod.global_infos)


def _with_stated_symbols(
    a: Mapping[object, object], b: Mapping[object, object]
) -> tuple[Mapping[object, object], Mapping[object, object]]:
    """Return attributes of functions, without symbols that neither program states."""
    symbols = a.get(_SYMBOL), b.get(_SYMBOL)
    if all(symbol is None or isinstance(symbol, DefinedName) for symbol in symbols):
        a, b = ({key: value for key, value in m.items() if key != _SYMBOL} for m in (a, b))
    elif None not in symbols:
        a, b = ({**m, _SYMBOL: str(symbol)} for m, symbol in zip((a, b), symbols, strict=True))
    return a, b


def _entry(value: object) -> object:
    """Return an entry of a mapping, such as an attribute, as it is compared.

    An integer constant says what the number itself says; so do the floats that are one in single precision, whether
    written in a program (``epsilon=1e-5``) or read from an array of that precision.
    """
    if isinstance(value, float):
        try:
            return float(_SINGLE.unpack(_SINGLE.pack(value))[0])
        except OverflowError:
            return value
    if isinstance(value, IntAttr):
        return int(value)
    return value.value if isinstance(value, IntImm) and value.dtype == "int32" else value


def _as_written(thing: object) -> object:
    """Return what is compared for its own sake: types that inference wrote count as if they were written."""
    return tuple(thing) if type(thing) is InferredTypes else thing


def _same_leaf(a: object, b: object) -> bool:
    if isinstance(a, str):
        return isinstance(b, str) and str(a) == str(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)  # not-a-number is itself, and zero keeps its sign
    if a is b:
        return True
    return _array_key(a) == _array_key(b) if hasattr(a, "__array__") else bool(a == b)


def _array_key(value: object) -> tuple[str, tuple[int, ...], bytes]:
    """Return what tells one array from another: every bit of it."""
    array = np.asarray(value)
    return (str(array.dtype), array.shape, array.tobytes())


class _Hash:
    """Hashes the list of everything that comparison would look at, in the same order."""

    def __init__(self, map_free_vars: bool) -> None:
        self._map_free = map_free_vars
        self._number: dict[Node, int] = {}
        self._count = 0
        self._found: list[object] = []
        self._todo: list[tuple[object, int]] = []

    def of(self, n: object) -> int:
        return hash(tuple(self.parts(n) or ()))

    def parts(self, n: object, limit: int | None = None) -> list[Any] | None:
        """Return what is hashed; None if it is more than ``limit``."""
        self._todo.append((_as_written(n), _USE))
        while self._todo:
            self._look(*self._todo.pop())
            if limit is not None and len(self._found) > limit:
                return None
        return self._found

    def _later(self, items: Iterable[tuple[object, int]]) -> None:
        self._todo.extend(reversed(list(items)))

    def _look(self, n: object, mode: int) -> None:
        if isinstance(n, Node):
            self._node(n, mode)
        elif type(n) is InferredTypes:
            self._found.append(("tuple", 0))
        elif isinstance(n, (tuple, list)):
            self._found.append(("tuple", len(n)))
            self._later((item, mode) for item in n)
        elif isinstance(n, Mapping):
            self._mapping(n, mode)
        elif isinstance(n, IRModule):
            self._later([(_parts(n), _USE)])
        elif isinstance(n, Id):
            self._look(n.var, mode)
        elif hasattr(n, "__array__"):
            self._found.append(_array_key(n))
        elif _hashable(n):
            kind = "str" if isinstance(n, str) else type(n).__name__
            self._found.append((kind, repr(n) if isinstance(n, float) else n))
        else:
            self._found.append(type(n))

    def _node(self, n: Node, mode: int) -> None:
        known = self._number.get(n)
        if known is not None and not (n.free_var and mode == _DEFINE):
            self._found.append(("known", known))
        elif n.free_var and mode == _USE and not self._map_free:
            self._found.append(("free", id(n)))
        else:
            if n.free_var or n.unique_instance or n.is_shared():
                self._count += 1
                self._number[n] = self._count
            inner = _MATCH if n.free_var else _USE if n.unique_instance or n.is_shared() else mode
            self._found.append(type(n).__name__)
            self._fields(n, inner)

    def _fields(self, n: Node, mode: int) -> None:
        around = _MATCH if mode == _MATCH else _USE
        self._later((getattr(n, f), around or own) for f, own in _field_order(type(n)))

    def _mapping(self, n: Mapping[Any, Any], mode: int) -> None:
        self._found.append(("map", len(n) - (_SYMBOL in n)))
        if all(isinstance(key, str) for key in n):
            for key in sorted(n, reverse=True):
                if key == _SYMBOL:  # functions may be equal although they are called differently where they are defined
                    continue
                self._todo.extend([(_entry(n[key]), mode), (key, _USE)])
        else:
            for key, value in reversed(list(n.items())):
                self._todo.extend([(_entry(value), mode), (key, _USE)])


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
