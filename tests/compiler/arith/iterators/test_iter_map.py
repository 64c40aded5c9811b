"""Affine index maps, against all values of their iterators."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping

import pytest

import compiler.tir  # noqa: F401  (which writes expressions)
from compiler.arith import (
    Analyzer,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    estimate_region_lower_bound,
    estimate_region_upper_bound,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
)
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.arith.iterators.inverse_affine_iter_map import inverse_affine_iter_map
from compiler.arith.iterators.subspace_divide import subspace_divide
from compiler.arith.linear.linear_form import NotLinearError, linear_form
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import And, IntImm, Min, Or, PrimExpr, Ramp, Range, SizeVar, Var, const
from compiler.ir.expr.substitute import free_vars, substitute

Domains = dict[Var, Range]


def value(e: PrimExpr, at: Mapping[Var, int]) -> int:
    result = Analyzer().simplify(substitute(e, {var: const(v, var.dtype) for var, v in at.items()}))
    assert isinstance(result, IntImm)
    return result.value


def points(domains: Domains) -> Iterator[dict[Var, int]]:
    extents = [range(value(d.min, {}), value(d.min, {}) + value(d.extent, {})) for d in domains.values()]
    for values in itertools.product(*extents):
        yield dict(zip(domains, values, strict=True))


def random_map(rng: random.Random) -> tuple[list[PrimExpr], Domains]:
    """Split and fuse iterators a few times; the result is a bijection between them and the indices."""
    axes: list[tuple[PrimExpr, int]] = []
    domains: Domains = {}
    for i in range(rng.choice([1, 2, 3])):
        extent = rng.choice([2, 3, 4, 6])
        var = Var(f"i{i}")
        domains[var] = Range(0, extent)
        axes.append((var, extent))
    for _ in range(rng.randrange(5)):
        at = rng.randrange(len(axes))
        e, extent = axes.pop(at)
        factor = rng.choice([f for f in range(1, extent + 1) if extent % f == 0])
        if rng.random() < 0.5 or not axes:
            axes += [(e // factor, extent // factor), (e % factor, factor)]
            rng.shuffle(axes)
        else:
            other, size = axes.pop(rng.randrange(len(axes)))
            axes.append((e * size + other, extent * size))
    return [e for e, _ in axes], domains


@pytest.mark.parametrize("seed", range(25))
def test_a_bijection_is_detected_divided_and_inverted(seed: int) -> None:
    indices, domains = random_map(random.Random(seed))
    detected = detect_iter_map(indices, domains, check_level=IterMapLevel.Bijective)
    assert len(detected) == len(indices), detected.errors
    written = [normalize_iter_map_to_expr(s) for s in detected]
    simplified = iter_map_simplify(indices, domains)
    outputs = [Var(f"output{i}") for i in range(len(indices))]
    inverse = inverse_affine_iter_map(detected, outputs)
    inner = list(domains)[-1:]
    divided = subspace_divide(indices, domains, inner)
    for at in points(domains):
        values = [value(index, at) for index in indices]
        assert values == [value(e, at) for e in written] == [value(e, at) for e in simplified]
        named = dict(zip(outputs, values, strict=True))
        assert {var: value(e, named) for var, e in inverse.items()} == at | {v: at[v] for v in inverse}
        for index, (out, sub) in zip(values, divided[:-1], strict=False):
            parts = [value(normalize_iter_map_to_expr(mark.source), at) for mark in (out, sub)]
            assert index == parts[0] * value(sub.extent, {}) + parts[1]


def test_what_is_no_bijection() -> None:
    i, j = Var("i"), Var("j")
    domains = {i: Range(0, 4), j: Range(0, 6)}
    assert not detect_iter_map([i, i], domains)
    assert not detect_iter_map([i * 5 + j], domains, check_level="bijective")  # overlapping
    assert not detect_iter_map([i * 7 + j], domains)  # 6 is left out
    assert not detect_iter_map([i * j], domains)
    assert not detect_iter_map([i // 3, i % 3], domains)  # (1, 1) is left out
    assert not detect_iter_map([i], domains, check_level="bijective")
    assert detect_iter_map([i], domains).errors == []
    assert "overlap" in detect_iter_map([i, i], domains).errors[0]


def test_predicates_shorten_iterators() -> None:
    i, j, k = Var("i"), Var("j"), Var("k")
    domains = {i: Range(0, 4), j: Range(0, 5), k: Range(0, 2)}
    index, predicate = i * 9 + j * 2 + k, j * 2 + k < 9
    (s,) = detect_iter_map([index], domains, predicate)
    assert value(s.args[0].extent, {}) == 36
    reached = {value(index, at) for at in points(domains) if value(predicate, at)}
    assert reached == set(range(36))
    assert not detect_iter_map([index], domains, check_level="bijective")
    assert not detect_iter_map([i * 10 + j * 2 + k], domains, predicate)
    (s,) = detect_iter_map([j - 1], domains, j >= 1)
    assert (value(s.args[0].extent, {}), value(s.base, {})) == (4, 0)


@pytest.mark.parametrize("seed", range(60))
def test_maps_that_overlap_and_need_padding(seed: int) -> None:
    rng = random.Random(seed)
    i, j = Var("i"), Var("j")
    domains = {i: Range(0, rng.randrange(1, 6)), j: Range(0, rng.randrange(1, 9))}
    flat = i * rng.randrange(1, 8) + j + rng.randrange(4)
    factor = rng.choice([2, 3, 4])
    indices = rng.choice([[flat], [flat // factor], [flat % factor], [flat // factor, flat % factor], [j // factor, i]])
    at_all = [tuple(value(index, at) for index in indices) for at in points(domains)]
    for level in IterMapLevel:
        detected = detect_iter_map(indices, domains, check_level=level, simplify_trivial_iterators=rng.random() < 0.5)
        if not detected:
            assert level != IterMapLevel.NoCheck or detected.errors
            continue
        written = [normalize_iter_map_to_expr(s) for s in detected]
        assert [tuple(value(e, at) for e in written) for at in points(domains)] == at_all
        if level is not IterMapLevel.NoCheck:
            sides = [range(value(s.args[0].extent if s.args else const(1), {})) for s in detected]
            scales = [value(s.args[0].scale, {}) if s.args else 1 for s in detected]
            bases = [value(s.base, {}) for s in detected]
            box = {
                tuple(b + v * c for v, c, b in zip(at, scales, bases, strict=True)) for at in itertools.product(*sides)
            }
            assert set(at_all) == box
            assert level is IterMapLevel.Surjective or len(set(at_all)) == len(at_all)


def test_padding_is_what_all_divisions_ask_for() -> None:
    """As classic TVM pads: 18 = 6 * 3 of 16 values, 20 = 5 * 4 of 16 that begin at 1, 24 for quarters and twelfths."""
    x = Var("x")
    sixteen = {x: Range(0, 16)}
    for indices, domain, extents in (
        ([x // 3, x % 3], sixteen, [6, 3]),
        ([(x + 1) // 4, (x + 1) % 4], sixteen, [5, 4]),
        ([x // 12, x % 12 // 4, x % 4], {x: Range(0, 22)}, [2, 3, 4]),
        ([(x + 3) // 5, (x + 3) % 5], {x: Range(0, 17)}, [4, 5]),
    ):
        detected = detect_iter_map(indices, domain, check_level="nocheck")
        assert [value(s.args[0].extent, {}) for s in detected] == extents
        assert isinstance(detected.padding_predicate, (And, Or)), detected.padding_predicate
        assert not detect_iter_map(indices, domain), "the pairs are not all reached"
    assert value(detect_iter_map([x // 5], {x: Range(0, 26)})[0].args[0].extent, {}) == 6
    assert detect_iter_map([x // 4], sixteen, check_level="nocheck").padding_predicate.value == 0  # type: ignore[attr-defined]
    (quotient,) = detect_iter_map([x // 4], {x: Range(0, Var("n"))})
    assert value(quotient.args[0].extent, dict.fromkeys(free_vars(quotient.args[0].extent), 9)) == 3
    assert "different values" in detect_iter_map([x // 4, (x + 1) // 4], sixteen, check_level="nocheck").errors[0]


def test_symbolic_extents() -> None:
    n, x = Var("n"), Var("x")
    quotient, remainder = detect_iter_map([x // n, x % n], {x: Range(0, n * 8)})
    assert str(quotient.args[0].extent) == "8"
    assert remainder.args[0].extent is n


def test_a_product_of_symbolic_extents_is_split() -> None:
    n, fused = Var("n"), Var("fused")
    indices = [fused // (n * 128), fused % (n * 128) // n, fused % n]
    result = detect_iter_map(indices, {fused: Range(0, n * 16384)})
    extents = [split.args[0].extent for split in result.indices]
    assert [str(extent) for extent in extents] == ["128", "128", "n"]
    assert not detect_iter_map([fused // n, fused % n], {fused: Range(0, n * 3 + 1)}).indices


def test_indices_share_no_part_of_an_iterator() -> None:
    x = Var("x")
    for indices in ([x, x + 1], [x // 4, x // 4 + 3], [x // 4, x // 6]):
        for level in IterMapLevel:
            assert detect_iter_map(indices, {x: Range(0, 16)}, check_level=level).errors


def test_predicates_about_different_parts_of_one_iterator() -> None:
    outer, i, j, inner = (Var(name) for name in ("outer", "i", "j", "inner"))
    domains = {outer: Range(0, 4), i: Range(0, 2), j: Range(0, 6), inner: Range(0, 3)}
    fused = i * 6 + j
    indices = [outer * 2 + fused // 6, fused % 6 // 3, fused % 3 * 3 + inner]
    predicate = And(indices[0] < 7, indices[2] < 8)
    *parts, predicates = subspace_divide(indices, domains, [j, inner], predicate)
    assert [str(normalize_iter_map_to_expr(part.source)) for pair in parts for part in pair] == [
        "outer * 2 + i", "0", "0", "j // 3", "0", "j % 3 * 3 + inner",
    ]  # fmt: skip
    assert [str(part.extent) for part in predicates] == ["outer * 2 + i < 7", "j % 3 * 3 + inner < 8"]
    reached = {tuple(value(e, at) for e in indices) for at in points(domains) if value(predicate, at)}
    assert len(reached) == 7 * 2 * 8
    assert [value(s.args[0].extent, {}) for s in detect_iter_map(indices, domains, predicate)] == [7, 2, 8]


def test_parts_of_one_iterator_are_merged() -> None:
    """A quotient times the divisor and the remainder are the iterator, whatever it was made of."""
    x, y, n = Var("x", "int64"), Var("y", "int64"), SizeVar("n", "int64")
    flat = x * 32 + y
    by_blocks = {x: Range(const(0, "int64"), n * n), y: Range(0, 32)}
    square = n * n

    def parts(e: PrimExpr) -> PrimExpr:
        return e // square % 32 * square + e // n % n * n + e % n

    for index, domains, text in (
        (x // 4 * 4 + x % 4, {x: Range(0, 16)}, "x"),
        (x // 8 * 16 + x % 8 * 2, {x: Range(0, 32)}, "x * 2"),
        (x % 12 // 4 * 4 + x % 4, {x: Range(0, 24)}, "x % 12"),
        (flat // 12 * 12 + flat % 12 // 3 * 3 + flat % 3, {x: Range(0, 12), y: Range(0, 32)}, "x * 32 + y"),
        (parts(x), {x: Range(const(0, "int64"), square * 32)}, "x"),
        (parts(flat), by_blocks, "x * 32 + y"),
    ):
        (simplified,) = iter_map_simplify([index], domains)
        assert str(simplified).replace("T.int64(", "").replace(")", "") == text
    (apart,) = iter_map_simplify([x // 4 * 8 + x % 4], {x: Range(0, 16)})
    assert value(apart, {x: 7}) == 11


def test_sums_are_ordered_by_symbolic_scales_first() -> None:
    x, y, z, n = (Var(name) for name in "xyzn")
    domains = {x: Range(0, 9), y: Range(0, 4), z: Range(0, 3)}
    s = normalize_to_iter_sum(z + (y + x * 4 + 2) * n + 3, domains)
    assert [split.source.source for split in s.args] == [x, y, z]
    assert len(normalize_to_iter_sum(x % n * 4 + x, domains).args) == 2
    (third,) = normalize_to_iter_sum(x // 4, domains).args
    assert third.source.source is x
    assert (value(third.lower_factor, {}), value(third.extent, {})) == (4, 3)


def test_sums_of_splits_are_written_by_scale() -> None:
    i, j = Var("i"), Var("j")
    s = normalize_to_iter_sum(j + i * 8 + 3, {i: Range(0, 4), j: Range(0, 8)})
    assert str(normalize_iter_map_to_expr(s)) == "i * 8 + j + 3"
    s = normalize_to_iter_sum(i * j + i * 3, {i: Range(0, 4), j: Range(0, 8)})
    assert (str(s.base), len(s.args)) == ("i * j", 1)
    mark = IterMark(i, 4)
    assert str(normalize_iter_map_to_expr(IterSumExpr((IterSplitExpr(mark, 2, 2, 3),), const(1)))) == "i // 2 * 3 + 1"


def test_regions_of_buffers() -> None:
    i, j = Var("i"), Var("j")
    domains = {i: Range(0, 8), j: Range(0, 4)}
    region = [Range.from_min_extent(i * 4 + j, const(4)), Range.from_min_extent(const(2), const(3))]
    sets = estimate_region_lower_bound(region, domains)
    assert sets is not None
    assert [str(s) for s in sets] == ["IntervalSet[0, 34]", "IntervalSet[2, 4]"]
    gaps = [Range.from_min_extent(i * 4, const(2))]
    assert estimate_region_lower_bound(gaps, domains) is None
    assert [str(s) for s in estimate_region_upper_bound(gaps, domains)] == ["IntervalSet[0, 29]"]
    for start in (i, const(2)):
        assert estimate_region_lower_bound([Range.from_min_extent(start, Var("n"))], domains) is None
    for step, extent, text in ((-1, 1, "[-7, 0]"), (-4, 4, "[-28, 3]"), (4, 4, "[0, 31]"), (-4, 3, None), (4, 3, None)):
        sets = estimate_region_lower_bound([Range.from_min_extent(i * step, const(extent))], domains)
        assert (None if sets is None else str(sets[0])) == (text and f"IntervalSet{text}")


def test_iterators_of_one_value_stay_where_they_are_to() -> None:
    i, j = Var("i"), Var("j")
    domains = {i: Range(0, 1), j: Range(0, 64)}
    indices = [(i * 64 + j) // 8, (i * 64 + j) % 8]
    assert [str(e) for e in iter_map_simplify(indices, domains)] == ["j // 8", "j % 8"]
    kept = iter_map_simplify(indices, domains, simplify_trivial_iterators=False)
    assert [str(e) for e in kept] == ["(i * 64 + j) // 8", "(i * 64 + j) % 8"]


def test_indices_that_are_no_affine_map_stay() -> None:
    i, j = Var("i"), Var("j")
    (simplified,) = iter_map_simplify([i * j + j // 8], {i: Range(0, 4), j: Range(0, 8)})
    assert str(simplified) == "i * j + j // 8"


def test_parts_of_one_iterator_side_by_side_are_the_iterator() -> None:
    i = Var("i")
    for whole in (i // 32 * 32 + i % 32, i % 8 + i // 8 % 4 * 8 + i // 32 * 32):
        (simplified,) = iter_map_simplify([whole], {i: Range(0, 128)})
        assert simplified is i


def test_a_condition_that_never_holds_leaves_no_box() -> None:
    i, j = Var("i", "int32"), Var("j", "int32")
    one, eight = Range.from_fields(const(0), const(1)), Range.from_fields(const(0), const(8))
    region = [Range.from_fields(i, const(1)), Range.from_fields(j, const(1))]
    for condition in ((i % 2).equal(1), i > 0, j > 8, i + j < 0):
        assert estimate_region_lower_bound(region, {i: one, j: eight}, condition) is None


def _any_map(rng: random.Random) -> tuple[list[PrimExpr], Domains, PrimExpr]:
    """Return indices that are often no affine map, and a condition on the iterators and their sums."""
    names = "ijk"[: rng.choice([1, 2, 2, 3])]
    domains = {
        Var(name): Range.from_min_extent(rng.choice([0, 0, 0, 1]), rng.choice([1, 2, 3, 4, 6, 8])) for name in names
    }

    def term() -> PrimExpr:
        e: PrimExpr = rng.choice(list(domains))
        for _ in range(rng.choice([0, 0, 1, 2])):
            c = rng.choice([-2, 1, 2, 3, 4])
            e = rng.choice([e * c, e + c, e // abs(c), e % abs(c), e * c + rng.choice(list(domains))])
        if rng.random() < 0.05:
            e = rng.choice([e * rng.choice(list(domains)), e // (rng.choice(list(domains)) + 1)])
        return e

    indices = [term() for _ in range(rng.choice([1, 1, 2, 3]))]
    condition: PrimExpr = const(True, "bool")
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        e = rng.choice([rng.choice(indices), term()])
        bound = rng.randrange(-2, 12)
        condition = And(condition, rng.choice([e < bound, e >= bound, e > bound, e <= bound, e.equal(bound)]))
    return indices, domains, condition


def _values(s: IterSumExpr) -> set[int]:
    """Return what a sum of whole iterators runs through."""
    terms = [[value(split.scale, {}) * v for v in range(value(split.extent, {}))] for split in s.args]
    return {value(s.base, {}) + sum(at) for at in itertools.product(*terms)}


@pytest.mark.parametrize("seed", range(150))
def test_what_is_detected_holds_of_any_indices_under_any_condition(seed: int) -> None:
    """Every value of the box is reached, just once if bijective; what is divided multiplies to what was there."""
    rng = random.Random(seed)
    indices, domains, condition = _any_map(rng)
    within = [at for at in points(domains) if value(condition, at)]
    reached = [tuple(value(index, at) for index in indices) for at in within]
    for level in (IterMapLevel.Surjective, IterMapLevel.Bijective):
        detected = detect_iter_map(indices, domains, condition, check_level=level)
        if not detected:
            assert detected.errors
            continue
        written = [normalize_iter_map_to_expr(s) for s in detected]
        assert [tuple(value(e, at) for e in written) for at in within] == reached
        assert set(reached) == set(itertools.product(*map(_values, detected)))
        assert level is IterMapLevel.Surjective or len(set(reached)) == len(reached)
    divided = subspace_divide(indices, domains, list(domains)[rng.randrange(len(domains)) :], condition)
    for at in within if divided else []:
        for index, (out, sub) in zip(indices, divided[:-1], strict=True):
            parts = [value(normalize_iter_map_to_expr(mark.source), at) for mark in (out, sub)]
            assert value(index, at) == parts[0] * value(sub.extent, {}) + parts[1]


def test_a_condition_on_an_index_that_runs_backwards() -> None:
    i, j = Var("i"), Var("j")
    domains = {i: Range(0, 2), j: Range(0, 8)}
    for condition, extent in ((j * -2 <= -4, 6), (j * -2 > -5, 3), (5 - j >= 2, 4), (j * -3 < -20, 1)):
        (s, _) = detect_iter_map([j, i], domains, condition)
        assert value(s.args[0].extent, {}) == extent, condition
    assert "no value of" in detect_iter_map([j], domains, j * -2 > 11).errors[0]


def test_an_inverse_has_an_output_for_each_index() -> None:
    i = Var("i")
    detected = detect_iter_map([i // 4, i % 4], {i: Range(0, 16)}, check_level="bijective")
    with pytest.raises(ArgumentError, match="expected 2 outputs, one per index, got 1"):
        inverse_affine_iter_map(detected, [Var("a")])
    with pytest.raises(ValueError, match=r"expected one of .*bijective.*, got 'injective'"):
        IterMapLevel.from_str("injective")
    assert IterMapLevel.from_str(None) is IterMapLevel.NoCheck  # type: ignore[arg-type]


def test_conditions_that_no_iterators_can_be_shortened_by() -> None:
    i, j, k = (Var(name) for name in "ijk")
    domains = {i: Range(0, 4), j: Range(0, 4), k: Range(0, 4)}
    index = i * 16 + j * 4 + k
    for condition, reason in (
        (And(i * 4 + j < 7, j * 4 + k < 7), "two predicates constrain overlapping sets of iterators"),
        (Or(i < 2, j < 2), "is not a comparison"),
        (i * 4 + k < 7, "a predicate compares iterators that are not adjacent in the indices"),
        (i * 5 + j * 2 < 7, "no split has the scale"),
        (i * i < 7, "is a product of iterators"),
        (i - j < 2, "is not positive"),
        (const(3) < const(2), "is not a comparison"),
        (i < -1, "no value of i is within its bounds"),
        (j // 4 >= 1, "0 is outside of its bounds 1 and None"),
        (j // 4 + 2 < 2, "2 is outside of its bounds None and 2"),
    ):
        errors = detect_iter_map([index], domains, condition).errors
        assert errors, condition
        assert reason in errors[0], (condition, errors)
    for divisor in (j, j + 1):
        assert "the divisor of" in detect_iter_map([i // divisor], domains).errors[0]


def test_what_is_not_a_part_of_each_side_is_not_divided() -> None:
    i, j = Var("i"), Var("j")
    domains = {i: Range(0, 4), j: Range(0, 6)}
    fused = i * 6 + j
    for indices, inner, condition in (
        ([fused * 2], [j], const(True, "bool")),
        ([fused], [i], const(True, "bool")),
        ([fused // 4, fused % 4], [j], const(True, "bool")),
        ([fused], [j], fused < 17),
        ([fused], [j], And(fused >= 3, fused < 15)),
        ([fused % 8], [j], const(True, "bool")),
    ):
        assert detect_iter_map(indices, domains, condition).indices
        assert subspace_divide(indices, domains, inner, condition) == [], indices
    for indices in ([fused // 2, fused % 2], [fused // 12, fused % 12], [fused // 3, fused % 3], [j * 4], [i * 4, j]):
        for (outer, sub), index in zip(subspace_divide(indices, domains, [j])[:-1], indices, strict=True):
            for at in points(domains):
                parts = [value(normalize_iter_map_to_expr(mark.source), at) for mark in (outer, sub)]
                assert value(index, at) == parts[0] * value(sub.extent, {}) + parts[1]


@pytest.mark.parametrize(
    ("indices", "predicate", "level", "expected"),
    [
        # a condition that the indices need not know of
        (["x // 4"], "x < 2", "surjective", ["0"]),
        (["x // 4 * 4", "y"], "x < 2", "surjective", ["0", "y"]),
        # one value, inside of its bounds and just outside
        (["one"], "one >= 0", "surjective", ["0"]),
        (["one"], "one > 0", "surjective", "0 is outside of its bounds 1 and None"),
        (["one"], "one < 1", "surjective", ["0"]),
        (["one"], "one < 0", "surjective", "0 is outside of its bounds None and 0"),
        (["one"], "one < n", "surjective", ["0"]),
        (["one + n"], "one + n > 7", "surjective", ["n"]),
        # padding that a part consists of
        (["(x + 1) // 2", "(x + 1) % 2"], "True", "surjective", "only take values from the padding"),
        (["x // 2", "x % 2"], "x > 0", "surjective", "only take values from the padding"),
        (["x % 4 * 4"], "x > 1", "surjective", ["x % 4 * 4"]),
        (["(w + 5) % 4"], "True", "surjective", ["(w + 1) % 4"]),
        (["x // n", "x % 5"], "True", "nocheck", "an iterator needs both n and 5 for its divisions"),
        # scales
        (["x * n + y * m", "x"], "True", "surjective", "no scale divides all others"),
        (["0 - x + y * 8"], "True", "surjective", "the scale -1 of a split is not positive"),
        (["0 * x + (0 - x) % 4"], "True", "surjective", "neither of -1 and 4 divides the other"),
        (["x * y"], "True", "surjective", "is a product of iterators"),
        (["min(x, y)"], "True", "surjective", "is not affine in the iterators"),
        (["x // (w + 1)"], "True", "surjective", "the divisor of"),
        # parts of two iterators, and of one iterator that are different
        (["y // 4 * 4 + x % 4"], "True", "surjective", ["y // 4 * 4 + x % 4"]),
        (["x + y", "y"], "True", "surjective", "the splits of y overlap, or do not cover it"),
        (["x + y * 9"], "True", "surjective", "no split has the scale 8"),
        # every iterator is asked for
        (["x", "y", "w"], "True", "bijective", ["x", "y", "w"]),
        (["x", "y"], "True", "bijective", "no index depends on w"),
        (["x", "y"], "True", "surjective", ["x", "y"]),
        # a predicate within another one
        (["y * 6 + x"], "And(x < 6, y * 6 + x < 20)", "surjective", ["y * 6 + x"]),
        (["y * 8 + x"], "And(y * 8 + x < 32, x * 2 + 2 + 2 + 2 < 20)", "surjective", "are not adjacent"),
        (["y * 8 + x"], "And(y * 8 + x < 32, x < 7)", "surjective", "no split has the scale 7"),
    ],
)
def test_what_is_a_map_and_what_is_just_none(
    indices: list[str], predicate: str, level: str, expected: list[str] | str
) -> None:
    """The reason is named, or the map is as it is written."""
    names = {name: Var(name) for name in ("x", "y", "w", "one", "n", "m")}
    x, y, w, one = (names[name] for name in ("x", "y", "w", "one"))
    domains = {x: Range(0, 8), y: Range(0, 8), w: Range(0, 4), one: Range(0, 1)}
    read = {**names, "And": And, "min": Min}
    found = detect_iter_map([eval(index, read) for index in indices], domains, eval(predicate, read), level)
    if isinstance(expected, str):
        assert expected in found.errors[0]
    else:
        assert found.errors == []
        assert [str(Analyzer().simplify(normalize_iter_map_to_expr(s))) for s in found.indices] == expected


@pytest.mark.parametrize("e", [const(1.0), Var("x", "float32") + 1.0, Var("u", "uint8"), Ramp(Var("i"), 1, 4)])
def test_a_linear_form_is_one_of_signed_scalars(e: PrimExpr) -> None:
    with pytest.raises(NotLinearError, match=e.dtype):
        linear_form(e)
