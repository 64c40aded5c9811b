"""Maps from the indices of one layout to those of another."""

from __future__ import annotations

import ast
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from compiler.arith import Analyzer, IterMapLevel, IterSumExpr, detect_iter_map, eval_set, inverse_affine_iter_map
from compiler.ir.error import ArgumentError, counted, show
from compiler.ir.functor import Functor
from compiler.ir.node import Node, node
from compiler.ir.primexpr import (
    EQ,
    And,
    BinaryOp,
    ExprLike,
    FloorDiv,
    FloorMod,
    IntImm,
    Not,
    PrimExpr,
    Range,
    Var,
    as_exprs,
    const,
    convert,
)
from compiler.ir.substitute import free_vars, post_order_visit, substitute
from compiler.runtime.ndarray import NDArray, array
from compiler.tir.evaluation import operation

__all__ = ["AXIS_SEPARATOR", "IndexMap"]

AXIS_SEPARATOR = "axis_separator"
"""What stands between two indices that belong to different dimensions of the physical memory."""


@node
class IndexMap(Node):
    """A map from indices to indices, e.g. from ``(i, j)`` to ``(i // 4, j, i % 4)``.

    Parameters
    ----------
    initial_indices : sequence of Var
        The indices that are mapped.
    final_indices : sequence of PrimExpr
        What they are mapped to.
    inverse_index_map : IndexMap, optional
        The map back, where it is given.
    """

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
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """Make a map of a Python function.

        Parameters
        ----------
        mapping_function : callable
            From indices to a list of indices.
        ndim : int, optional
            How many indices ``*args`` stands for.
        inverse_index_map : callable or IndexMap, optional
            The map back.
        index_dtype : str
            The type of the indices.

        Returns
        -------
        IndexMap

        Raises
        ------
        ArgumentError
            If the function returns separators of axes as well.
        """
        index_map, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise ArgumentError("IndexMap.from_func: the function returns IndexMap.AXIS_SEPARATOR")
        return index_map

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """Make a map of a Python function, which may put ``IndexMap.AXIS_SEPARATOR`` between indices.

        Parameters
        ----------
        mapping_function : callable
            From indices to a list of indices and separators.
        ndim : int, optional
            How many indices ``*args`` stands for.
        inverse_index_map : callable or IndexMap, optional
            The map back.
        index_dtype : str
            The type of the indices.

        Returns
        -------
        tuple of IndexMap and list of int
            The map, and before which indices separators stand.

        Raises
        ------
        ArgumentError
            If the number of indices is not known.
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
    def from_text(text: str) -> IndexMap:
        """Return the map that the text of a lambda describes, as traces save it.

        Parameters
        ----------
        text : str
            E.g. ``"lambda i, j: (j, i // 4, i % 4)"``, of integer arithmetic and constants.

        Returns
        -------
        IndexMap

        Raises
        ------
        ArgumentError
            If it is anything else.
        """
        tree = ast.parse(text, mode="eval").body
        if not isinstance(tree, ast.Lambda):
            raise ArgumentError(f"IndexMap: expected a lambda, got {show(text)}")
        variables = {argument.arg: Var(argument.arg, "int32") for argument in tree.args.args}
        items = tree.body.elts if isinstance(tree.body, ast.Tuple) else [tree.body]
        return IndexMap(tuple(variables.values()), tuple([_read(item, variables) for item in items]))

    def map_indices(self, indices: Sequence[ExprLike], analyzer: Analyzer | None = None) -> tuple[PrimExpr, ...]:
        """Return what indices are mapped to.

        Parameters
        ----------
        indices : sequence of PrimExpr or int
            One for each initial index.
        analyzer : Analyzer, optional
            What knows about variables.

        Returns
        -------
        tuple of PrimExpr

        Raises
        ------
        ArgumentError
            If there are not as many as the map takes.
        """
        given = as_exprs(indices)
        if len(given) != len(self.initial_indices):
            raise ArgumentError(
                f"IndexMap: expected {counted(len(self.initial_indices), 'index', 'indices')}, got {len(given)}"
            )
        values = dict(zip(self.initial_indices, given, strict=True))
        simplify = (analyzer or Analyzer()).simplify
        return tuple([simplify(_typed(substitute(index, values), given)) for index in self.final_indices])

    def map_ranges(self, ranges: Sequence[Range], analyzer: Analyzer | None = None) -> tuple[Range, ...]:
        """Return a box that holds what a box of indices is mapped to.

        Parameters
        ----------
        ranges : sequence of Range
            One for each initial index.
        analyzer : Analyzer, optional
            What knows about variables.

        Returns
        -------
        tuple of Range
        """
        analyzer = analyzer or Analyzer()
        if all(isinstance(r.extent, IntImm) and r.extent.value == 1 for r in ranges):
            points = self.map_indices([r.min for r in ranges], analyzer)
            return tuple([Range.from_fields(point, const(1, point.dtype)) for point in points])
        domains = dict(zip(self.initial_indices, ranges, strict=True))
        result = []
        for index in self.final_indices:
            interval = eval_set(index, domains, analyzer)
            extent = analyzer.simplify(interval.max_value - interval.min_value + 1)
            result.append(Range.from_fields(analyzer.simplify(interval.min_value), extent))
        return tuple(result)

    def map_shape(self, shape: Sequence[ExprLike]) -> tuple[PrimExpr, ...]:
        """Return the shape of what a shape is mapped to.

        Parameters
        ----------
        shape : sequence of PrimExpr or int
            In elements.

        Returns
        -------
        tuple of PrimExpr
        """
        dims = as_exprs(shape)
        domains = self._domains(dims)
        analyzer = Analyzer()
        for var, dom in domains.items():
            analyzer.bind(var, dom)
        return tuple([analyzer.simplify(eval_set(i, domains, analyzer).max_value + 1) for i in self.final_indices])

    def map_ndarray(self, arr_src: NDArray) -> NDArray:
        """Return an array in the layout that this maps to.

        Parameters
        ----------
        arr_src : NDArray
            Of the initial layout; the map introduces no padding.

        Returns
        -------
        NDArray
        """
        source = arr_src.numpy()
        shape = [dim.value if isinstance(dim, IntImm) else 0 for dim in self.map_shape(source.shape)]
        result = np.zeros(shape, source.dtype)
        # As Python's integers: the arithmetic wraps around at 64 bits, which integers of 64 bits cannot express.
        positions = np.indices(source.shape).astype(object)
        evaluate = _Evaluate(dict(zip(self.initial_indices, positions, strict=True)))
        result[tuple([np.asarray(evaluate.visit(index)).astype(np.int64) for index in self.final_indices])] = source
        return array(result)

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """Return whether another map is written alike, whatever its variables are called.

        Parameters
        ----------
        other_map : IndexMap

        Returns
        -------
        bool
        """
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        mapped = other_map.map_indices(self.initial_indices)
        return len(mapped) == len(self.final_indices) and all(
            Analyzer().can_prove_equal(a, b)
            for a, b in zip(self.map_indices(self.initial_indices), mapped, strict=True)
        )

    def inverse(self, shape: Sequence[ExprLike | Range]) -> IndexMap:
        """Return the map back.

        Parameters
        ----------
        shape : sequence of PrimExpr, int or Range
            Over which the map is one to one.

        Returns
        -------
        IndexMap

        Raises
        ------
        ArgumentError
            If it is not one to one.
        """
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        domains = self._domains(shape)
        inverse = self._inverted(domains)
        if inverse is None:
            raise ArgumentError(f"IndexMap.inverse: {self} is not one to one over {_shown(domains)}")
        return inverse

    def non_surjective_inverse(self, shape: Sequence[ExprLike | Range]) -> tuple[IndexMap, PrimExpr]:
        """Return the map back, and which indices of the new layout no element is mapped to.

        Parameters
        ----------
        shape : sequence of PrimExpr, int or Range
            Of the initial layout.

        Returns
        -------
        tuple of IndexMap and PrimExpr
            The condition is in terms of the indices that the map back takes.

        Raises
        ------
        ArgumentError
            If two elements are mapped to the same index.
        """
        domains = self._domains(shape)
        if self.inverse_index_map is not None:
            return self.inverse_index_map, const(False)
        with_padding = self._inverse_with_padding(domains)
        if with_padding is not None:
            return with_padding
        for padded in self._padded(domains):
            inverse = self._inverted(padded)
            if inverse is not None:
                return inverse, self._unused(inverse, domains, self.map_shape(_extents(padded)))
        raise ArgumentError(f"IndexMap.non_surjective_inverse: {self} is not one to one over {_shown(domains)}")

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

    def _inverted(self, domains: Mapping[Var, Range]) -> IndexMap | None:
        result = detect_iter_map(self.final_indices, domains, True, IterMapLevel.Bijective)
        if not result.indices:
            return None
        outputs = [Var(f"axis{index}", expr.dtype) for index, expr in enumerate(self.final_indices)]
        return self._back(outputs, result.indices, domains)

    def _back(self, outputs: Sequence[Var], iterators: Sequence[IterSumExpr], domains: Mapping[Var, Range]) -> IndexMap:
        """Return the map from the values of iterators to the indices that they are made of."""
        values = inverse_affine_iter_map(iterators, outputs)
        simplify = Analyzer().simplify
        back = [simplify(values.get(var, domains[var].min)) for var in self.initial_indices]
        return IndexMap(tuple(outputs), tuple(back))

    def _unused(self, inverse: IndexMap, domains: Mapping[Var, Range], shape: Sequence[PrimExpr]) -> PrimExpr:
        """Return which new indices come from no index of the domains, or from one that is mapped to another index."""
        analyzer = Analyzer()
        for var, dim in zip(inverse.initial_indices, shape, strict=True):
            analyzer.bind(var, Range.from_fields(const(0, var.dtype), dim))
        origins = zip(inverse.final_indices, domains.values(), strict=True)
        images = zip(self.map_indices(inverse.final_indices), inverse.initial_indices, strict=True)
        conditions = [value < domain.min + domain.extent for value, domain in origins]
        conditions += [EQ(image, var) for image, var in images]
        needed = [analyzer.simplify(condition) for condition in conditions if not analyzer.can_prove(condition)]
        return analyzer.simplify(Not(reduce(And, needed))) if needed else const(False)

    def _inverse_with_padding(self, domains: Mapping[Var, Range]) -> tuple[IndexMap, PrimExpr] | None:
        """Return the map back where iterators begin or end inside of a block, and which new indices are padding then.

        None where there is no padding, or two elements may be mapped to the same index.
        """
        detected = detect_iter_map(
            self.final_indices, domains, True, IterMapLevel.NoCheck, simplify_trivial_iterators=False
        )
        if not detected.indices or isinstance(detected.padding_predicate, IntImm):
            return None
        outputs = [Var(f"axis{index}", expr.dtype) for index, expr in enumerate(self.final_indices)]
        inverse = self._back(outputs, detected.indices, domains)
        if not self._is_undone_by(inverse, domains):
            return None
        back = dict(zip(self.initial_indices, inverse.final_indices, strict=True))
        analyzer = Analyzer()
        for var, dim in zip(outputs, self.map_shape(_extents(domains)), strict=True):
            analyzer.bind(var, Range.from_fields(const(0, var.dtype), dim))
        return inverse, analyzer.simplify(substitute(detected.padding_predicate, back))

    def _is_undone_by(self, inverse: IndexMap, domains: Mapping[Var, Range]) -> bool:
        """Return whether another map is known to give back each index of some domains.

        Indices are counted from what new indices of zero come from: blocks begin there, which is easier to simplify.
        """
        analyzer = Analyzer()
        origin = inverse.map_indices([const(0, var.dtype) for var in inverse.initial_indices])
        shifted: dict[Var, PrimExpr] = {}
        for (var, domain), first in zip(domains.items(), origin, strict=True):
            from_first = Var(var.name, var.dtype)
            analyzer.bind(from_first, Range.from_min_extent(analyzer.simplify(domain.min - first), domain.extent))
            shifted[var] = from_first + first
        again = inverse.map_indices([analyzer.simplify(substitute(index, shifted)) for index in self.final_indices])
        return all(analyzer.can_prove_equal(a, shifted[var]) for a, var in zip(again, domains, strict=True))

    def _padded(self, domains: Mapping[Var, Range]) -> Iterator[dict[Var, Range]]:
        """Yield the domains, then larger ones that the divisors of the map divide evenly."""
        yield dict(domains)
        divisors: dict[Var, list[int]] = {var: [] for var in domains}

        def collect(n: Node) -> None:
            if isinstance(n, (FloorDiv, FloorMod)) and isinstance(n.b, IntImm):
                for var in free_vars(n.a):
                    divisors.get(var, []).append(n.b.value)

        for index in self.final_indices:
            post_order_visit(index, collect)
        for combine in (lambda numbers: math.lcm(*numbers), math.prod):
            yield {var: _rounded(dom, combine(divisors[var] or [1])) for var, dom in domains.items()}

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
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr=dtype), args=[argument]):
            return _read(argument, variables).astype(dtype)
    raise ArgumentError(f"IndexMap: {ast.unparse(n)!r} is not integer arithmetic")


def _variables(function: Callable[..., Any], ndim: int | None, dtype: str) -> list[Var]:
    """Return a variable for each parameter of a function."""
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


def _typed(index: PrimExpr, given: Sequence[PrimExpr]) -> PrimExpr:
    """Return a constant index in the type of the other ones."""
    return const(index.value, given[0].dtype) if isinstance(index, IntImm) and given else index


def _as(value: ExprLike, dtype: str) -> PrimExpr:
    expr = convert(value)
    return const(expr.value, dtype) if isinstance(expr, IntImm) else expr


def _extents(domains: Mapping[Var, Range]) -> list[PrimExpr]:
    return [dom.extent for dom in domains.values()]


def _shown(domains: Mapping[Var, Range]) -> str:
    return show([str(dom) for dom in domains.values()])


def _rounded(dom: Range, factor: int) -> Range:
    if not isinstance(dom.extent, IntImm):
        return dom
    return Range.from_fields(dom.min, const(-(-dom.extent.value // factor) * factor, dom.extent.dtype))


class _Evaluate(Functor):
    """Evaluates an index for arrays of values of its variables."""

    def __init__(self, values: Mapping[Var, Any]) -> None:
        self._values = values

    def visit_Var(self, n: Var) -> Any:
        return self._values[n]

    def visit_IntImm(self, n: IntImm) -> int:
        return n.value

    def visit_BinaryOp(self, n: BinaryOp) -> Any:
        return operation(type(n), n.dtype)(self.visit(n.a), self.visit(n.b))
