"""Index maps between layouts."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, counted, show
from compiler.ir.expr.primexpr import (
    BinaryOp,
    Cast,
    ExprLike,
    IntImm,
    Max,
    Min,
    PrimExpr,
    Range,
    Var,
    as_exprs,
    binary,
    cast,
    const,
    convert,
)
from compiler.ir.functor import Functor
from compiler.ir.node import Node, node
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.tir.expressions.evaluation import Value, operation
from compiler.tir.layout.index_map_inverse import bijective_inverse, image, image_ranges, image_shape, injective_inverse

__all__ = ["AXIS_SEPARATOR", "IndexMap"]

AXIS_SEPARATOR = "axis_separator"
"""What stands between two indices that belong to different dimensions of the physical memory."""


@node
class IndexMap(Node):
    """A map from indices to indices, e.g. from ``(i, j)`` to ``(i // 4, j, i % 4)``."""

    children: ClassVar[tuple[str, ...]] = ("final_indices",)
    defines: ClassVar[tuple[str, ...]] = ("initial_indices",)

    initial_indices: tuple[Var, ...]
    final_indices: tuple[PrimExpr, ...]
    inverse_index_map: IndexMap | None = None

    AXIS_SEPARATOR: ClassVar[str] = AXIS_SEPARATOR

    def __post_init__(self) -> None:
        if type(self.initial_indices) is not tuple:
            object.__setattr__(self, "initial_indices", tuple(self.initial_indices))
        if type(self.final_indices) is not tuple:
            object.__setattr__(self, "final_indices", as_exprs(self.final_indices))

    @staticmethod
    def from_func(
        mapping_function: Callable[..., object],
        ndim: int | None = None,
        inverse_index_map: Callable[..., object] | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """Make a map of a Python function from indices to a list of indices; ``*args`` stands for ``ndim`` indices.

        Raises ArgumentError if the function returns separators of axes as well.
        """
        index_map, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise ArgumentError("IndexMap.from_func: the function returns IndexMap.AXIS_SEPARATOR")
        return index_map

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., object],
        ndim: int | None = None,
        inverse_index_map: Callable[..., object] | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """Make a map of a Python function, which may put ``IndexMap.AXIS_SEPARATOR`` between indices.

        If it takes ``*args``, these stand for ``ndim`` indices. Raises ArgumentError if the number of indices is not
        known.
        """
        variables = _variables(mapping_function, ndim, index_dtype)
        result = mapping_function(*variables)
        final: list[PrimExpr] = []
        separators: list[int] = []
        for item in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(item, str) and item == AXIS_SEPARATOR:
                separators.append(len(final))
            else:
                index = convert(item)
                final.append(const(index.value, index_dtype) if isinstance(index, IntImm) else index)
        inverse = inverse_index_map
        if inverse is not None and not isinstance(inverse, IndexMap):
            inverse = IndexMap.from_func(inverse, len(final), index_dtype=index_dtype)
        return IndexMap(tuple(variables), tuple(final), inverse), separators

    @staticmethod
    def from_text(text: str, index_dtype: str = "int32", known: Mapping[str, Var] | None = None) -> IndexMap:
        """Return the map that the text of a lambda describes, e.g. ``"lambda i, j: (j, i // 4, i % 4)"``, as in traces.

        The text has integer arithmetic and constants; besides the indices it may use variables of ``known``, by their
        names, e.g. the sizes of buffers. Raises ArgumentError if it is anything else.
        """
        tree = ast.parse(text, mode="eval").body
        if not isinstance(tree, ast.Lambda):
            raise ArgumentError(f"IndexMap: expected a lambda, got {show(text)}")
        variables = {argument.arg: Var(argument.arg, index_dtype) for argument in tree.args.args}
        items = tree.body.elts if isinstance(tree.body, ast.Tuple) else [tree.body]
        names = {**(known or {}), **variables}
        return IndexMap(tuple(variables.values()), tuple([_read(item, names) for item in items]))

    def map_indices(self, indices: Sequence[ExprLike], analyzer: Analyzer | None = None) -> tuple[PrimExpr, ...]:
        """Return what indices are mapped to.

        Raises ArgumentError if there are not as many as the map takes.
        """
        given = as_exprs(indices)
        if len(given) != len(self.initial_indices):
            raise ArgumentError(
                f"IndexMap: expected {counted(len(self.initial_indices), 'index', 'indices')}, got {len(given)}"
            )
        values = dict(zip(self.initial_indices, self._in_one_type(given), strict=True))
        mapped = image(self.final_indices, values, analyzer or Analyzer())
        return tuple([_as_given(index, given) for index in mapped])

    def _in_one_type(self, given: Sequence[PrimExpr]) -> list[PrimExpr]:
        """Return indices in the widest type among theirs and those of the map; numbers alone are in the map's."""
        types = {value.dtype for value in given if not isinstance(value, IntImm)}
        widest = max([var.dtype for var in self.initial_indices] + sorted(types), key=dt.bits, default="int32")
        return [cast(widest, value) for value in given]

    def map_ranges(self, ranges: Sequence[Range], analyzer: Analyzer | None = None) -> tuple[Range, ...]:
        """Return a box that holds what a box of indices is mapped to."""
        analyzer = analyzer or Analyzer()
        if all(isinstance(r.extent, IntImm) and r.extent.value == 1 for r in ranges):
            points = self.map_indices([r.min for r in ranges], analyzer)
            return tuple([Range.from_fields(point, const(1, point.dtype)) for point in points])
        domains = dict(zip(self.initial_indices, ranges, strict=True))
        dtype = max((r.extent.dtype for r in ranges), key=dt.bits, default="int32")
        mapped = image_ranges(self.final_indices, domains, analyzer)
        return tuple([Range.from_fields(_as(r.min, dtype), _as(r.extent, dtype)) for r in mapped])

    def map_shape(self, shape: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """Return the shape of what a shape is mapped to.

        Raises ArgumentError if some elements are mapped to negative indices.
        """
        dims = as_exprs(shape)
        mapped = image_shape(self.final_indices, self._domains(dims))
        widest = max((dim.dtype for dim in dims), key=dt.bits, default="int32")
        return tuple([cast(widest, dim) for dim in mapped])

    def map_ndarray(self, arr_src: NDArray) -> NDArray:
        """Return an array of the initial layout in the one that this maps to, without padding."""
        source = arr_src.view()
        shape = [dim.value if isinstance(dim, IntImm) else 0 for dim in self.map_shape(source.shape)]
        result = np.zeros(shape, source.dtype)
        # As Python's integers: the arithmetic wraps around at 64 bits, which integers of 64 bits cannot express.
        positions = np.indices(source.shape).astype(object)
        evaluate = _Evaluate(dict(zip(self.initial_indices, positions, strict=True)))
        result[tuple([np.asarray(evaluate.visit(index)).astype(np.int64) for index in self.final_indices])] = source
        return array(result)

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Return whether another map is written alike, whatever its variables are called."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        mapped = other_map.map_indices(self.initial_indices)
        return len(mapped) == len(self.final_indices) and all(
            Analyzer().can_prove_equal(a, b)
            for a, b in zip(self.map_indices(self.initial_indices), mapped, strict=True)
        )

    def inverse(self, shape: Sequence[ExprLike | Range]) -> IndexMap:
        """Return the map back.

        Raises ArgumentError if it is not bijective.
        """
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        domains = self._domains(shape)
        inverse = bijective_inverse(self.final_indices, domains)
        if inverse is None:
            raise ArgumentError(f"IndexMap.inverse: {self} is not bijective over {_shown(domains)}")
        return IndexMap(*inverse)

    def non_surjective_inverse(self, shape: Sequence[ExprLike | Range]) -> tuple[IndexMap, PrimExpr]:
        """Return the map back from the layout of ``shape``, and which new indices no element is mapped to.

        That condition is in terms of the indices that the map back takes. Raises ArgumentError if two elements are
        mapped to the same index.
        """
        domains = self._domains(shape)
        if self.inverse_index_map is not None:
            return self.inverse_index_map, const(False)
        result = injective_inverse(self.final_indices, domains)
        if result is not None:
            inverse, unused = result
            return IndexMap(*inverse), unused
        raise ArgumentError(f"IndexMap.non_surjective_inverse: {self} is not injective over {_shown(domains)}")

    def _domains(self, shape: Sequence[ExprLike | Range]) -> dict[Var, Range]:
        if len(shape) != len(self.initial_indices):
            raise ArgumentError(
                f"IndexMap: expected {counted(len(self.initial_indices), 'dimension')}, got {len(shape)}"
            )
        ranges = [
            dim if isinstance(dim, Range) else Range.from_fields(const(0, var.dtype), _as(dim, var.dtype))
            for var, dim in zip(self.initial_indices, shape, strict=True)
        ]
        return dict(zip(self.initial_indices, ranges, strict=True))

    @property
    def python_text(self) -> str:
        """The map as a lambda."""
        names = ", ".join(var.name for var in self.initial_indices)
        indices = "".join(f"{index}, " for index in self.final_indices).rstrip()
        return f"lambda {names}: ({indices})"

    def __str__(self) -> str:
        names = ", ".join(var.name for var in self.initial_indices)
        indices = ", ".join(str(index) for index in self.final_indices)
        return f"T.index_map(lambda {names}: ({indices}{',' if len(self.final_indices) == 1 else ''}))"

    __repr__ = __str__


_OPERATORS: dict[type[ast.operator], Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

_FUNCTIONS: dict[str, type[BinaryOp]] = {"min": Min, "max": Max}


def _read(n: ast.expr, variables: Mapping[str, Var]) -> PrimExpr:
    """Return the expression that a part of a lambda is."""
    match n:
        case ast.Name(id=name) if name in variables:
            return variables[name]
        case ast.Constant(value=bool() | int() | float() as value):
            return const(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand, variables)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_read(left, variables), _read(right, variables))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr=name), args=arguments):
            return _call(n, name, arguments, variables)
    raise ArgumentError(f"IndexMap: {ast.unparse(n)!r} is not integer arithmetic")


def _call(n: ast.expr, name: str, arguments: Sequence[ast.expr], variables: Mapping[str, Var]) -> PrimExpr:
    """Return the expression that a call of a function of TVMScript is."""
    match arguments:
        case [a, b] if name in _FUNCTIONS:
            return binary(_FUNCTIONS[name], _read(a, variables), _read(b, variables))
        case [ast.Constant(value=str() as dtype), argument] if name == "Cast":
            return cast(dtype, _read(argument, variables))
        case [argument]:
            return _read(argument, variables).astype(name)
    raise ArgumentError(f"IndexMap: {ast.unparse(n)!r} is not integer arithmetic")


def _variables(function: Callable[..., object], ndim: int | None, dtype: str) -> list[Var]:
    names: list[str] = []
    variadic = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        else:
            raise ArgumentError(f"IndexMap: the function must take indices by position, got {parameter.name!r}")
    if variadic is not None:
        if ndim is None:
            raise ArgumentError("IndexMap: ndim must be given for a function that takes *args")
        names += [f"{variadic}_{index}" for index in range(ndim - len(names))]
    if ndim is not None and len(names) != ndim:
        raise ArgumentError(f"IndexMap: expected a function of {ndim} indices, got one of {len(names)}")
    return [Var(name, dtype) for name in names]


def _as_given(index: PrimExpr, given: Sequence[PrimExpr]) -> PrimExpr:
    """Return a mapped index that is a number, or one of the given indices, in the type that it was given in."""
    if isinstance(index, IntImm):
        return const(index.value, given[0].dtype)
    return index.value if isinstance(index, Cast) and any(index.value is each for each in given) else index


def _as(value: ExprLike, dtype: str) -> PrimExpr:
    expr = convert(value)
    return const(expr.value, dtype) if isinstance(expr, IntImm) else expr


def _shown(domains: Mapping[Var, Range]) -> str:
    return show([str(dom) for dom in domains.values()])


class _Evaluate(Functor):
    """Evaluates an index for arrays of values of its variables."""

    def __init__(self, values: Mapping[Var, Value]) -> None:
        self._values = values

    def visit_Var(self, n: Var) -> Value:
        return self._values[n]

    def visit_IntImm(self, n: IntImm) -> int:
        return n.value

    def visit_BinaryOp(self, n: BinaryOp) -> Value:
        return operation(type(n), n.dtype)(self.visit(n.a), self.visit(n.b))
