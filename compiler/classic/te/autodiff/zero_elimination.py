"""Zero elimination: restricts reductions to the iterations whose terms are not zero.

The gradient of an element ``j`` of a tensor is a sum over all iterations whose read has the index ``j``.  Of the
iterations ``(y, r)`` of a convolution that reads ``X[2 * y + r]`` these are few; they are found by solving
``2 * y + r == j`` over the integers, so that the sum runs over the solutions instead of over all iterations::

    for y in range(8): for r in range(3): if 2 * y + r == j: …    →    for r in range(2): if …: y = …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.arith import Analyzer, IntConstraints, eval_set
from compiler.arith.deep_equal import deep_equal
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.classic.arith.solve_linear_equations import solve_linear_equations
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import And, FloorDiv, FloorMod, IntImm, IterVar, PrimExpr, Range, Var, binary, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Mutator


@dataclass(frozen=True, slots=True)
class Iterations:
    """Some iterations of a loop nest, as the loops (``axes``) that run over them, where ``condition`` holds.

    ``values`` has the variables of the nest in terms of ``axes`` and of the element.
    """

    axes: tuple[IterVar, ...]
    values: dict[Var, PrimExpr]
    condition: PrimExpr


def iterations_that_read(
    axes: Sequence[IterVar], indices: Sequence[PrimExpr], element: Sequence[IterVar]
) -> Iterations:
    """Return the iterations of a loop nest with ``indices[d] == element[d]`` for all dimensions.

    Indices that are not made of sums, multiples, quotients and remainders by constants, such as elements of tensors,
    are compared in every iteration.

    References
    ----------
    S. Grechanik, Automatic differentiation for tensor expressions, TVM RFC 2498, 2019.
    """
    system = _System(axes, element)
    for index, axis in zip(indices, element, strict=True):
        system.add(index, axis)
    return system.solve()


@dataclass(slots=True)
class _Constraint:
    """``0 <= value < extent``, where ``value`` is linear in the unknown variables."""

    value: PrimExpr
    extent: PrimExpr
    name: str


class _System:
    """The equations between the indices of a read and an element."""

    def __init__(self, axes: Sequence[IterVar], element: Sequence[IterVar]) -> None:
        self.ranges: dict[Var, Range] = {}
        self._parameters = {axis.var: _domain(axis) for axis in element}
        self._axes = axes
        self._equations: list[tuple[PrimExpr, list[Var]]] = []
        self._conditions: list[PrimExpr] = []
        self._solvable: list[PrimExpr] = []
        self._analyzer = Analyzer()
        for var, dom in self._parameters.items():
            self._analyzer.bind(var, dom)
        for axis in axes:
            self.declare(axis.var, self._bounded(axis))
        self._quotients = _Quotients(self)

    def declare(self, var: Var, dom: Range) -> None:
        """Add an unknown variable."""
        self.ranges[var] = dom
        self._analyzer.bind(var, dom, override=True)

    def _bounded(self, axis: IterVar) -> Range:
        """Return the domain of a loop; where that depends on other loops, one that covers it."""
        dom = _domain(axis)
        if not any(var in self.ranges for var in free_vars((dom.min, dom.extent))):
            return dom
        low = self._analyzer.const_int_bound(dom.min).min_value
        high = self._analyzer.const_int_bound(dom.min + dom.extent).max_value
        if max(abs(low), abs(high)) >= 2**31:
            raise ArgumentError(f"gradient: axis {axis.var.name!r} has a domain without constant bounds: {dom}")
        self._conditions += [axis.var >= dom.min, axis.var < dom.min + dom.extent]
        return Range.from_min_extent(const(low, axis.var.dtype), const(max(high - low, 0), axis.var.dtype))

    def add(self, index: PrimExpr, axis: IterVar) -> None:
        """Require that an index is the element's."""
        self.equate(self._quotients.visit(self._analyzer.simplify(index)), axis.var)

    def equate(self, left: PrimExpr, right: PrimExpr) -> None:
        """Require that two integers are equal: an equation where they are linear, else a condition."""
        equation = left.equal(right)
        unknown = self.linear_in(left - right)
        if unknown:
            self._equations.append((equation, unknown))
        else:
            self._conditions.append(equation)

    def linear_in(self, e: PrimExpr) -> list[Var]:
        """Return the unknown variables that an expression is a linear function of; none if it is not linear."""
        used = _used(e, self.ranges)
        coefficients = detect_linear_equation(e, used) if used else []
        return used if all(isinstance(c, IntImm) for c in coefficients[:-1]) and coefficients else []

    def bounds(self, e: PrimExpr) -> tuple[int, int] | None:
        """Return the smallest and the largest value of an expression, if it has some."""
        bound = self._analyzer.const_int_bound(e)
        largest = max(abs(bound.min_value), abs(bound.max_value))
        return (bound.min_value, bound.max_value) if largest < 2**31 else None

    def solve(self) -> Iterations:
        """Return the iterations that satisfy all equations."""
        values: dict[Var, PrimExpr] = {}
        new_axes: list[IterVar] = []
        for unknown, equations in self._components():
            if not equations:
                axis = _reduce_axis(self.ranges[unknown[0]], unknown[0].name)
                new_axes.append(axis)
                values[unknown[0]] = axis.var
                continue
            system = IntConstraints(tuple(unknown), self._parameters, tuple(equations))
            solution = solve_linear_equations(system)
            if not solution.src_to_dst:
                return Iterations((), {}, const(False, "bool"))
            tightened = self._tighten(solution.src_to_dst, solution.dst_to_src)
            new_axes += [axis for axis, _ in tightened.values()]
            offsets = {var: value for var, (_, value) in tightened.items()}
            values |= {var: substitute(e, offsets) for var, e in solution.src_to_dst.items()}
            self._require_ranges(unknown)
            self._solvable += solution.dst.relations
        return self._result(new_axes, values)

    def _components(self) -> list[tuple[list[Var], list[PrimExpr]]]:
        """Return the unknown variables in groups that no equation connects, each with its equations."""
        groups: list[tuple[set[Var], list[PrimExpr]]] = [({var}, []) for var in self.ranges]
        for equation, unknown in self._equations:
            joined: tuple[set[Var], list[PrimExpr]] = (set(), [equation])
            for group in [g for g in groups if not g[0].isdisjoint(unknown)]:
                joined = (joined[0] | group[0], group[1] + joined[1])
                groups.remove(group)
            groups.append(joined)
        order = {var: i for i, var in enumerate(self.ranges)}
        sorted_groups = [(sorted(unknown, key=order.__getitem__), equations) for unknown, equations in groups]
        return sorted(sorted_groups, key=lambda group: order[group[0][0]])

    def _require_ranges(self, unknown: Sequence[Var]) -> None:
        for var in unknown:
            dom = self.ranges[var]
            self._solvable += [var >= dom.min, var < dom.min + dom.extent]

    def _tighten(
        self, values: Mapping[Var, PrimExpr], inverse: Mapping[Var, PrimExpr]
    ) -> dict[Var, tuple[IterVar, PrimExpr]]:
        """Return an axis for each variable of a solution, and the variable's value: the shortest axes that suffice."""
        constraints = [
            _Constraint(e - self.ranges[var].min, self.ranges[var].extent, var.name) for var, e in values.items()
        ]
        for new, e in inverse.items():
            own = eval_set(e, self.ranges, self._analyzer).cover_range(_EVERYTHING, self._analyzer)
            if own is not _EVERYTHING:
                constraints.append(_Constraint(new - own.min, own.extent, new.name))
        tightened: dict[Var, tuple[IterVar, PrimExpr]] = {}
        while len(tightened) < len(inverse):
            offsets = {var: value for var, (_, value) in tightened.items()}
            open_vars = [var for var in inverse if var not in tightened]
            candidates = [c for constraint in constraints if (c := self._shortest(constraint, open_vars, offsets))]
            var, axis, value = min(candidates, key=lambda c: _length(c[1]))
            tightened[var] = (axis, value)
        return tightened

    def _shortest(
        self, constraint: _Constraint, open_vars: Sequence[Var], offsets: Mapping[Var, PrimExpr]
    ) -> tuple[Var, IterVar, PrimExpr] | None:
        """Return the axis of a variable that follows from a constraint on it alone."""
        value = substitute(constraint.value, offsets)
        used = _used(value, open_vars)
        if len(used) != 1:
            return None
        factor, rest = detect_linear_equation(self._analyzer.simplify(value), used)
        assert isinstance(factor, IntImm)
        size = abs(factor.value)
        # 0 <= factor * var + rest < extent
        least = -rest if factor.value > 0 else rest - constraint.extent + 1
        begin = self._analyzer.simplify((least + (size - 1)) // size)
        length = self._analyzer.simplify((constraint.extent + (size - 1)) // size)
        axis = _reduce_axis(Range.from_min_extent(const(0, begin.dtype), length), constraint.name)
        return used[0], axis, begin + axis.var

    def _result(self, axes: Sequence[IterVar], values: Mapping[Var, PrimExpr]) -> Iterations:
        for axis in axes:
            self._analyzer.bind(axis.var, _domain(axis), override=True)
        simplify = self._analyzer.simplify
        original = {axis.var: simplify(values[axis.var]) for axis in self._axes}
        conditions = [simplify(substitute(c, values)) for c in self._solvable + self._conditions]
        return Iterations(tuple(a for a in axes if not _is_one(a)), *_without_ones(axes, original, _all(conditions)))


_EVERYTHING = Range.from_min_extent(const(0, "int32"), const(2**31 - 1, "int32"))


class _Quotients(Mutator):
    """Names quotients and remainders, so that what is made of them is linear: ``e == 4 * q + r`` with ``r < 4``."""

    def __init__(self, system: _System) -> None:
        self._system = system
        self._parts: list[tuple[PrimExpr, int, tuple[Var, Var]]] = []

    def visit_FloorDiv(self, n: FloorDiv) -> PrimExpr:
        return self._part(n, 0)

    def visit_FloorMod(self, n: FloorMod) -> PrimExpr:
        return self._part(n, 1)

    def _part(self, n: FloorDiv | FloorMod, which: int) -> PrimExpr:
        e: PrimExpr = self.visit(n.a)
        if not isinstance(n.b, IntImm) or n.b.value <= 0 or not self._system.linear_in(e):
            return n
        for seen, divisor, parts in self._parts:
            if divisor == n.b.value and deep_equal(seen, e):
                return parts[which]
        bounds = self._system.bounds(e)
        if bounds is None:
            return n
        named = self._named(e, n.b.value, bounds)
        self._parts.append((e, n.b.value, named))
        return named[which]

    def _named(self, e: PrimExpr, divisor: int, bounds: tuple[int, int]) -> tuple[Var, Var]:
        quotient, remainder = Var("q", e.dtype), Var("r", e.dtype)
        low, high = bounds[0] // divisor, bounds[1] // divisor
        ends = ((quotient, low, high - low + 1), (remainder, 0, divisor))
        for var, begin, extent in ends:
            self._system.declare(var, Range.from_min_extent(const(begin, e.dtype), const(extent, e.dtype)))
        self._system.equate(e, quotient * divisor + remainder)
        return quotient, remainder


def _used(e: PrimExpr, variables: Iterable[Var]) -> list[Var]:
    free = set(free_vars(e))
    return [var for var in variables if var in free]


def _domain(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom


def _reduce_axis(dom: Range, name: str) -> IterVar:
    return IterVar(dom, Var(name, dom.extent.dtype), IterVar.CommReduce)


def _length(axis: IterVar) -> float:
    extent = _domain(axis).extent
    return extent.value if isinstance(extent, IntImm) else float("inf")


def _is_one(axis: IterVar) -> bool:
    return _length(axis) == 1


def _without_ones(
    axes: Iterable[IterVar], values: dict[Var, PrimExpr], condition: PrimExpr
) -> tuple[dict[Var, PrimExpr], PrimExpr]:
    """Put the only value of each axis of one iteration in its place."""
    only = {axis.var: _domain(axis).min for axis in axes if _is_one(axis)}
    return {var: substitute(e, only, fold=True) for var, e in values.items()}, substitute(condition, only, fold=True)


def _all(conditions: Iterable[PrimExpr]) -> PrimExpr:
    result: PrimExpr = const(True, "bool")
    for condition in conditions:
        result = binary(And, result, condition)
    return result
