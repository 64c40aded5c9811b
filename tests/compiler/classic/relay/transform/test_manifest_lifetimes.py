"""Values are killed after their last use, on every path through random programs, and never before."""

import random

import pytest

import compiler as tvm
from compiler import relay


def _random_program(seed):
    """Return a function in A-normal form, with nested conditions."""
    rng = random.Random(seed)
    x = relay.var("x", shape=(2,))

    def lines(scope, depth):
        scope, lets = list(scope), []
        for i in range(rng.randint(1, 4)):
            var = relay.var(f"v{depth}_{i}")
            if depth < 3 and rng.random() < 0.4:
                condition = relay.less(relay.mean(rng.choice(scope)), relay.const(rng.random(), "float32"))
                value = relay.If(condition, lines(scope, depth + 1), lines(scope, depth + 1))
            else:
                value = rng.choice((relay.add, relay.multiply))(rng.choice(scope), rng.choice(scope))
            lets.append((var, value))
            scope.append(var)
        result = rng.choice(scope)
        for var, value in reversed(lets):
            result = relay.Let(var, value, result)
        return result

    return relay.Function([x], lines([x], 0))


def _killed(expr):
    """Return the variable that a value kills; None of any other value."""
    is_kill = isinstance(expr, relay.Call) and expr.op == tvm.ir.Op.get("memory.kill")
    return expr.args[0] if is_kill else None


class _WithoutKills(relay.ExprMutator):
    def visit_let(self, let):
        return self.visit(let.body) if _killed(let.value) else super().visit_let(let)


def _paths(expr):
    """Yield the paths through a program, as pairs of the variables that a line uses and the one it kills."""
    if not isinstance(expr, relay.Let):
        yield [(set(relay.analysis.free_vars(expr)), None)]
        return
    if isinstance(expr.value, relay.If):
        uses = set(relay.analysis.free_vars(expr.value.cond))
        heads = [[(uses, None), *p] for b in (expr.value.true_branch, expr.value.false_branch) for p in _paths(b)]
    else:
        killed = _killed(expr.value)
        heads = [[(set() if killed else set(relay.analysis.free_vars(expr.value)), killed)]]
    for rest in _paths(expr.body):
        yield from ([*head, *rest] for head in heads)


@pytest.mark.parametrize("seed", range(12))
def test_no_path_uses_what_was_killed(seed):
    before = relay.transform.InferType()(tvm.IRModule.from_expr(_random_program(seed)))
    after = relay.transform.ManifestLifetimes()(before)
    for path in list(_paths(after["main"].body))[:200]:
        dead = set()
        for uses, killed in path:
            assert not uses & dead
            assert killed not in dead
            if killed is not None:
                dead.add(killed)
    tvm.ir.assert_structural_equal(_WithoutKills().visit(after["main"]), before["main"])


def test_values_are_killed_where_they_are_used_last():
    text = """#[version = "0.0.5"]
    def @main(%a: Tensor[(3), float32]) {
      let %b = add(%a, %a);
      let %c = less(mean(%b), 0f);
      let %e = if (%c) { let %d = add(%b, %b); %d } else { let %f = add(%a, %a); %f };
      let %alias = %e;
      let %g = add(%alias, %alias);
      %g
    }"""
    expected = """#[version = "0.0.5"]
    def @main(%a: Tensor[(3), float32]) {
      let %b = add(%a, %a);
      let %c = less(mean(%b), 0f);
      let %e = if (%c) {
        let %d = add(%b, %b);
        let %k = memory.kill(%b);
        %d
      } else {
        let %f = add(%a, %a);
        let %l = memory.kill(%a);
        %f
      };
      let %m = memory.kill(%c);
      let %g = add(%e, %e);
      let %n = memory.kill(%e);
      %g
    }"""
    infer = relay.transform.InferType()
    made = relay.transform.ManifestLifetimes()(infer(relay.fromtext(text)))
    tvm.ir.assert_structural_equal(made, infer(relay.fromtext(expected)))


def test_a_condition_without_a_variable_is_refused():
    x = relay.var("x", shape=(2,))
    branch = relay.If(relay.less(relay.mean(x), relay.const(0.0)), x, relay.add(x, x))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], branch)))
    with pytest.raises(tvm.error.TVMError, match="must be the value of a variable"):
        relay.transform.ManifestLifetimes()(mod)
