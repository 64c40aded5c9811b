"""Continuation-passing style: types, and the same results as the function it was made of."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.relay.transform import ToCPS, to_cps, un_cps

_LOOP = """
#[version = "0.0.5"]
type Peano { Stop, More(Peano[]) }
def @again(%f: fn (Tensor[(3), float32]) -> Tensor[(3), float32], %n: Peano[]) -> fn (Tensor[(3), float32]) -> \
Tensor[(3), float32] {
  match (%n) {
    More(%m) => fn (%x: Tensor[(3), float32]) -> Tensor[(3), float32] { @again(%f, %m)(%f(%x)) },
    Stop => fn (%x: Tensor[(3), float32]) -> Tensor[(3), float32] { %x }
  }
}
def @main(%x: Tensor[(3), float32], %c: bool) -> Tensor[(3), float32] {
  let %count = ref(More(More(Stop)));
  %0 = if (%c) { ref_write(%count, More(ref_read(%count))) } else { () };
  let %_ = %0;
  let %double = fn (%y: Tensor[(3), float32]) -> Tensor[(3), float32] { add(%y, %y) };
  %1 = @again(%double, ref_read(%count));
  %2 = (%1(%x), %x);
  subtract(%2.0, %2.1)
}
"""


def _typed(func, mod=None):
    mod = tvm.IRModule() if mod is None else mod
    mod["main"] = func
    return relay.transform.InferType()(mod)["main"]


@pytest.mark.parametrize("flag", [False, True])
def test_functions_closures_branches_and_references(flag):
    x = np.array([1, -2, 3], "float32")
    mod = relay.parse(_LOOP)
    expected = relay.create_executor("debug", mod=mod).evaluate()(x, np.array(flag)).numpy()
    np.testing.assert_array_equal(expected, x * (8 if flag else 4) - x)
    mod["main"] = ToCPS(mod["main"], mod)
    assert "again_cps" in {var.name_hint for var in mod.get_global_vars()}
    mod = relay.transform.InferType()(mod)
    *_, continuation = mod["main"].params
    answer = mod["main"].type_params[-1]
    assert mod["main"].ret_type == answer
    assert continuation.checked_type == relay.FuncType([relay.TensorType((3,))], answer)
    mod["main"] = un_cps(mod["main"])
    mod = relay.transform.InferType()(mod)
    assert mod["main"].ret_type == relay.TensorType((3,))
    result = relay.create_executor("debug", mod=mod).evaluate()(x, np.array(flag))
    np.testing.assert_array_equal(result.numpy(), expected)


def test_functions_that_are_parameters_take_continuations():
    t = relay.TypeVar("t")
    x, f = relay.var("x", t), relay.var("f", relay.FuncType([t], t))
    made = _typed(to_cps(_typed(relay.Function([f, x], f(f(x)), t, [t]))))
    own, answer = made.type_params
    continuation = relay.FuncType([own], answer)
    assert [p.checked_type for p in made.params] == [relay.FuncType([own, continuation], answer), own, continuation]


def test_a_long_chain_of_operators():
    x = relay.var("x", shape=(3,))
    body = x
    for _ in range(3000):
        body = relay.negative(body)
    func = _typed(relay.Function([x], body))
    mod = tvm.IRModule.from_expr(un_cps(_typed(to_cps(func))))
    value = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(relay.create_executor("debug", mod=mod).evaluate()(value).numpy(), value)


def test_what_is_no_function_in_the_style_is_refused():
    x = relay.var("x", shape=(3,))
    func = _typed(relay.Function([x], relay.exp(x)))
    with pytest.raises(tvm.TVMError, match="continuation"):
        un_cps(func)
    with pytest.raises(tvm.TVMError, match="to_cps"):
        to_cps(x)
