"""Programs without functions as values compute what they computed with them."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.analysis.kinds import type_parts

LIST = """
type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
def @foldl[A, B](%f: fn(B, A) -> B, %acc: B, %xs: List[A]) -> B {
  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc }
}
def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) -> fn(A) -> C { fn(%x: A) -> C { %f(%g(%x)) } }
def @id[A](%x: A) -> A { %x }
def @double(%x: float32) -> float32 { %x + %x }
def @plus(%x: float32, %y: float32) -> float32 { %x + %y }
"""

PROGRAMS = {
    "a literal is an argument": """
def @main(%x: float32, %y: float32) -> float32 {
  @foldl(fn(%a: float32, %b: float32) -> float32 { %a * %b }, %x, Cons(%y, Cons(3f, Nil)))
}""",
    "one captures variables": """
def @main(%x: float32, %y: float32) -> float32 {
  let %f = fn(%a: float32) -> float32 { %a * %x + %y };
  @foldl(@plus, 0f, @map(%f, Cons(%y, Cons(%x, Nil))))
}""",
    "one is chosen when the program runs": """
def @main(%x: float32, %y: float32) -> float32 {
  let %f = if (less(%x, %y)) { @double } else { fn(%a: float32) -> float32 { %a - %y } };
  %f(%f(%x))
}""",
    "one is a result": """
def @main(%x: float32, %y: float32) -> float32 {
  let %f = @compose(@double, @compose(fn(%a: float32) -> float32 { %a + %y }, @id));
  %f(%x)
}""",
    "they are elements of a list": """
def @main(%x: float32, %y: float32) -> float32 {
  let %fs = Cons(@double, Cons(fn(%a: float32) -> float32 { %a * %y }, Nil));
  @foldl(fn(%a: float32, %f: fn(float32) -> float32) -> float32 { %f(%a) }, %x, %fs)
}""",
    "one calls itself": """
def @main(%x: float32, %y: float32) -> float32 {
  let %grow = fn(%a: float32) -> float32 { if (less(%a, 100f)) { %grow(%a + 60f + %y * %y) } else { %a } };
  @foldl(@plus, 0f, @map(%grow, Cons(%x, Cons(%y, Nil))))
}""",
    "one generic function is used for two types": """
def @main(%x: float32, %y: float32) -> float32 {
  let %pairs = @map(fn(%a: float32) -> (float32, float32) { (%a, %a * %x) }, Cons(%x, Cons(%y, Nil)));
  @foldl(@plus, 1f, @map(fn(%p: (float32, float32)) -> float32 { %p.0 - %p.1 }, @map(@id, %pairs)))
}""",
    "they are fields of a tuple": """
def @main(%x: float32, %y: float32) -> float32 {
  let %pair = (@double, @plus);
  let %f = %pair.0;
  let %g = %pair.1;
  %g(%f(%x), %y)
}""",
}


def _holds_functions(t):
    return isinstance(t, relay.FuncType) or any(map(_holds_functions, type_parts(t)))


def _reachable(mod, name, seen):
    """Return the parts of a function and of all that it calls."""
    var = mod.get_global_var(name)
    if var in seen:
        return []
    seen.add(var)
    parts = relay.analysis.post_order(mod[var])
    inner = [part for v in parts if isinstance(v, relay.GlobalVar) for part in _reachable(mod, v.name_hint, seen)]
    return [*parts, *inner]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_the_same_without_functions_as_values(name):
    before = relay.transform.InferType()(relay.fromtext(f'#[version = "0.0.5"]{LIST}{PROGRAMS[name]}'))
    after = relay.transform.InferType()(before.shallow_copy())
    after["main"] = relay.transform.Defunctionalization(after["main"], after)
    after = relay.transform.InferType()(after)
    for part in _reachable(after, "main", set()):
        if isinstance(part, relay.Call):
            assert not any(_holds_functions(e.checked_type) for e in (part, *part.args)), part
    for x, y in ((2.0, 5.0), (5.0, 2.0), (-1.5, 0.25)):
        values = [
            relay.create_executor(kind, mod=mod).evaluate()(np.float32(x), np.float32(y)).numpy()
            for kind, mod in (("debug", before), ("debug", after))
        ]
        np.testing.assert_allclose(values[1], values[0], rtol=1e-6)


def test_functions_of_higher_order_are_refused():
    mod = relay.transform.InferType()(relay.fromtext(f'#[version = "0.0.5"]{LIST}'))
    for name in ("compose", "map", "id"):
        with pytest.raises(tvm.error.TVMError, match="must be neither polymorphic nor higher-order"):
            relay.transform.Defunctionalization(mod[name], mod)


def test_lines_of_a_clause_need_no_braces():
    head = '#[version = "0.0.5"]\ntype List[A] { Cons(A, List[A]), Nil }\ndef @f(%l: List[int32]) -> int32 {'
    plain = relay.fromtext(head + " match (%l) { Cons(%x, _) => %0 = %x + 1; %0 * %0, Nil => let %y = 2; %y } }")
    braces = relay.fromtext(
        head + " match (%l) { Cons(%x, _) => { %0 = %x + 1; %0 * %0 }, Nil => { let %y = 2; %y } } }"
    )
    assert tvm.ir.structural_equal(plain, braces)
