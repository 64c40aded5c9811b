"""What the arithmetic of loop bounds and indices can prove, simplify and solve."""

import tvm
from tvm import arith, te, tir

x, y, n = te.var("x"), te.var("y"), te.size_var("n")
analyzer = arith.Analyzer()
analyzer.bind(x, tvm.ir.Range(0, 16))
analyzer.bind(y, tvm.ir.Range(2, 8))

print("-- simplified, where x is in 0..15 and y in 2..7")
for expr in [
    (x * 8 + y) // 8, (x * 8 + y) % 8, x // 4 * 4 + x % 4, tir.max(x - 20, 0), tir.min(x + y, 30), (x + 16) // 16,
    tir.if_then_else(x < 16, y, 0), tir.all(x >= 0, y < 3, x < 99), tir.any(x > 20, y > 1), (x * 4 + 6) // 2 - 2 * x,
    tir.floormod(x * 6 + 4, 3), tir.truncdiv(x * 2 + 1, 2), tir.Select(y > 1, x, n), tir.Cast("int64", x) + 0,
    tir.abs(y), x << 2, tir.bitwise_and(x, 15), (n + 3) // 4 * 4 - n, tir.EQ(x * 2, 7), tir.Not(tir.LT(x, y)),
]:  # fmt: skip
    print(f"{expr!s:45} {analyzer.simplify(expr)}")

print("-- bounds and moduli")
print("x * 3 - y is", analyzer.const_int_bound(x * 3 - y))
print("x * 6 + 4 is", analyzer.modular_set(x * 6 + 4))
print("x * y is", analyzer.int_set(x * y, {x: arith.IntervalSet(0, 3), y: arith.IntervalSet(2, 7)}))
print("proved:", analyzer.can_prove(x + y < 23), analyzer.can_prove(x < y), analyzer.can_prove_equal(x * 2, x + x))
with analyzer.constraint_scope(x % 4 == 0):
    print("if 4 divides x, (x + 3) // 4 =", analyzer.simplify((x + 3) // 4), "and x % 2 =", analyzer.simplify(x % 2))
print("canonical", analyzer.canonical_simplify(x * 3 + y - x), "rewritten", analyzer.rewrite_simplify(x + 0 < x + 1))

print("-- linear equations: coefficients, and the rest")
print(arith.detect_linear_equation(x * 4 + y * n + 7, [x, y]))
print(arith.detect_clip_bound(tir.all(x >= 2, x < n), [x]))
print("x * 4 < 17 where x is", arith.deduce_bound(x, x * 4 < 17, {}, {}))
print("x + y >= n where x is", arith.deduce_bound(x, x + y >= n, {y: arith.IntervalSet(2, 7)}, {}))

i, j, k = (tir.Var(name, "int32") for name in "ijk")
domain = {i: tvm.ir.Range(0, 8), j: tvm.ir.Range(0, 4), k: tvm.ir.Range(0, 6)}
print("-- iteration maps")
for indices in [[i * 4 + j], [(i * 4 + j) // 8, (i * 4 + j) % 8], [i * 5 + j], [i // 2, i % 2 * 6 + k], [i + k]]:
    found = arith.detect_iter_map(indices, domain)
    sums = [arith.normalize_iter_map_to_expr(index) for index in found.indices]
    print(f"{indices!s:40} {sums or 'not one: ' + '; '.join(map(str, found.errors))}")
mapped = arith.detect_iter_map([i * 4 + j, k], domain).indices
a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
print("inverse:", arith.inverse_affine_iter_map(mapped, [a, b]))
outer, inner = tir.Var("outer", "int32"), tir.Var("inner", "int32")
tiles = {outer: tvm.ir.Range(0, 8), inner: tvm.ir.Range(0, 4)}
divided = arith.subspace_divide([outer * 4 + inner], tiles, [inner])[0]
print("divided:", *(arith.normalize_iter_map_to_expr(mark.source) for mark in divided))
print("simplified:", arith.normalize_iter_map_to_expr(mapped[0]), arith.iter_map_simplify([i * 4 + j - j], domain))

print("-- sets of integers")
sets = [arith.IntervalSet(0, 7), arith.IntervalSet(4, 11)]
print(*sets, arith.IntSet.vector(x), arith.IntSet.single_point(y))
print(arith.estimate_region_lower_bound([tvm.ir.Range(i * 4, i * 4 + 4)], domain, tir.const(True)))
print(arith.estimate_region_upper_bound([tvm.ir.Range(i * 4, i * 4 + 4)], domain, tir.const(True)))

print("-- solved")
unknowns = [x, y]
ranges = {x: tvm.ir.Range(0, 10), y: tvm.ir.Range(0, 10)}
solved = arith.solve_linear_equations([tir.EQ(x + y, 10), tir.EQ(x - y, 2)], unknowns, ranges)
print("x + y == 10, x - y == 2:", solved.src_to_dst)
print("x + y <= 5, x >= 1:", arith.solve_linear_inequalities([x + y <= 5, x >= 1], unknowns, ranges))
