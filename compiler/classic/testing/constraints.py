"""Checks of integer expressions: proofs, and all values of small ranges."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, Var
from compiler.ir.expr.substitute import substitute

__all__ = ["assert_prim_expr_equal", "check_bool_expr_is_true", "check_int_constraints_trans_consistency"]

Ranges = Mapping[Var, Range]


class Constraints(Protocol):
    """Variables with their ranges, and conditions over them."""

    variables: Sequence[Var]
    ranges: Ranges
    relations: Sequence[PrimExpr]


class Transformation(Protocol):
    """Two systems of constraints, and the variables of each in terms of the other's."""

    src: Constraints
    dst: Constraints
    src_to_dst: Mapping[Var, PrimExpr]
    dst_to_src: Mapping[Var, PrimExpr]


def assert_prim_expr_equal(lhs: PrimExpr, rhs: PrimExpr) -> None:
    """Check that two expressions have one value whatever their variables are.

    Raises AssertionError if that cannot be proved.
    """
    if not Analyzer().can_prove_equal(lhs, rhs):
        raise AssertionError(f"{lhs} and {rhs} are not proved equal")


def check_bool_expr_is_true(bool_expr: PrimExpr, vranges: Ranges, cond: PrimExpr | None = None) -> None:
    """Check that a condition holds for all values of its variables, all of which, constant ranges, are tried.

    Raises
    ------
    AssertionError
        Naming the values for which it does not hold.
    """
    for values in _assignments(vranges):
        if cond is not None and not _holds(cond, values):
            continue
        if not _holds(bool_expr, values):
            at = ", ".join(f"{var.name} = {value}" for var, value in values.items())
            raise AssertionError(f"{bool_expr} does not hold for {at}" + ("" if cond is None else f", where {cond}"))


def check_int_constraints_trans_consistency(constraints_trans: Transformation, vranges: Ranges | None = None) -> None:
    """Check that both directions of a transformation keep the constraints, and that one undoes the other.

    The transformation has systems ``src`` and ``dst`` with the mappings ``src_to_dst`` and ``dst_to_src``; ``vranges``
    are of variables that the systems leave open.

    Raises
    ------
    AssertionError
        Naming values for which they do not.
    """
    given = vranges or {}
    trans = constraints_trans
    _check_forward(trans.src, trans.dst, trans.src_to_dst, trans.dst_to_src, given)
    _check_forward(trans.dst, trans.src, trans.dst_to_src, trans.src_to_dst, given)


def _check_forward(
    source: Constraints, target: Constraints, forth: Mapping[Var, PrimExpr], back: Mapping[Var, PrimExpr], given: Ranges
) -> None:
    """Check every solution of one system: it solves the other one, and comes back as it was.

    ``forth`` has the source's variables in terms of the target's, ``back`` the target's in terms of the source's.
    """
    open_variables = {**given, **source.ranges}
    for values in _assignments(open_variables):
        if not all(_holds(condition, values) for condition in source.relations):
            continue
        images = {var: _value(expr, values) for var, expr in back.items()}
        for var, bounds in target.ranges.items():
            low, high = _value(bounds.min, images | values), _value(bounds.min + bounds.extent, images | values)
            if var in images and not low <= images[var] < high:
                raise AssertionError(f"{var.name} = {images[var]} is outside of its range [{low}, {high}) at {values}")
        for condition in target.relations:
            if not _holds(condition, images | values):
                raise AssertionError(f"{condition} does not hold at {values}")
        for var, expr in forth.items():
            if var in values and _value(expr, images | values) != values[var]:
                raise AssertionError(f"{var.name} = {values[var]} comes back as {_value(expr, images | values)}")


def _assignments(ranges: Ranges) -> Iterator[dict[Var, int]]:
    """Yield all values of variables within constant ranges."""
    extents = []
    for var, bounds in ranges.items():
        low, extent = Analyzer().simplify(bounds.min), Analyzer().simplify(bounds.extent)
        if not isinstance(low, IntImm) or not isinstance(extent, IntImm):
            raise ArgumentError(f"the range of {var.name} must be constant, got {bounds}")
        extents.append(range(low.value, low.value + extent.value))
    for values in itertools.product(*extents):
        yield dict(zip(ranges, values, strict=True))


def _value(expr: PrimExpr, values: Mapping[Var, int]) -> int:
    constants = {var: IntImm(var.dtype, value) for var, value in values.items()}
    result = Analyzer().simplify(substitute(expr, constants))
    if not isinstance(result, IntImm):
        raise ArgumentError(f"{expr} has no value: {result} is left")
    return result.value


def _holds(condition: PrimExpr, values: Mapping[Var, int]) -> bool:
    return bool(_value(condition, values))
