"""Functions over lists, options and trees, against Python's own lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler.classic.relay.prelude import FUNCTIONS, Prelude
from compiler.classic.testing.relay.nat import make_nat_expr
from compiler.driver.relay.executor import create_executor
from compiler.ir import IRModule
from compiler.ir.error import ArgumentError
from compiler.relay.analysis import well_formed
from compiler.relay.inference import infer_module
from compiler.relay.ty import TensorType, TupleType, scalar_type
from tests.compiler.relay.transform.meaning import run

relay: Any = compiler.relay

INT = scalar_type("int32")
ONE = relay.const(1)


def _list(p: Any, values: Sequence[Any]) -> Any:
    return reduce(lambda rest, v: p.cons(v, rest), reversed(values), p.nil())


def _ints(p: Any, values: Sequence[int]) -> Any:
    return _list(p, [relay.const(v) for v in values])


def _python(value: Any) -> Any:
    """Return a list as a list, a tree as (value, branches), and arrays as numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.item()
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        name, parts = value
        if name in ("Cons", "Nil"):
            found = []
            while parts:
                found.append(_python(parts[0]))
                parts = parts[1][1]
            return found
        return (name, *[_python(part) for part in parts])
    return tuple(_python(v) for v in value)


def _evaluate(p: Any, body: Any) -> Any:
    p.mod["main"] = relay.Function([], body)
    return _python(run(infer_module(p.mod), entry="main"))


def _fn(names: str, body: Any) -> Any:
    params = [relay.var(name, INT) for name in names]
    return relay.Function(params, body(*params))


def _sum_and_product(a: Any, b: Any) -> Any:
    return relay.Tuple([a + b, a * b])


XS = [3, 1, 4, 1, 5]

CASES: dict[str, tuple[Any, Any]] = {
    "id": (lambda p: p.id(relay.const(7)), 7),
    "compose": (
        lambda p: p.compose(_fn("a", lambda a: a + relay.const(1)), _fn("b", lambda b: b * b))(relay.const(3)),
        10,
    ),
    "flip": (lambda p: p.flip(_fn("ab", lambda a, b: a - b))(relay.const(2), relay.const(9)), 7),
    "hd": (lambda p: p.hd(_ints(p, XS)), 3),
    "tl": (lambda p: p.tl(_ints(p, XS)), XS[1:]),
    "nth": (lambda p: p.nth(_ints(p, XS), relay.const(2)), 4),
    "update": (lambda p: p.update(_ints(p, XS), relay.const(1), relay.const(9)), [3, 9, 4, 1, 5]),
    "map": (lambda p: p.map(_fn("a", lambda a: a * a), _ints(p, XS)), [9, 1, 16, 1, 25]),
    "foldl": (lambda p: p.foldl(_fn("ab", lambda a, b: a - b), relay.const(0), _ints(p, XS)), -14),
    "foldr": (lambda p: p.foldr(_fn("ab", lambda a, b: a - b), relay.const(0), _ints(p, XS)), 3 - (1 - (4 - (1 - 5)))),
    "foldr1": (lambda p: p.foldr1(_fn("ab", lambda a, b: a - b), _ints(p, XS)), 3 - (1 - (4 - (1 - 5)))),
    "sum": (lambda p: p.sum(_ints(p, XS)), 14),
    "length": (lambda p: p.length(_ints(p, XS)), 5),
    "concat": (lambda p: p.concat(_ints(p, XS), _ints(p, [7])), [*XS, 7]),
    "filter": (lambda p: p.filter(_fn("a", lambda a: relay.less(relay.const(1), a)), _ints(p, XS)), [3, 4, 5]),
    "zip": (lambda p: p.zip(_ints(p, XS), _ints(p, [7, 8])), [(3, 7), (1, 8)]),
    "rev": (lambda p: p.rev(_ints(p, XS)), XS[::-1]),
    "map_accumr": (
        lambda p: p.map_accumr(
            _fn("ab", lambda a, b: relay.Tuple([a + b, a * b])), relay.const(0), _ints(p, [1, 2, 3])
        ),
        (6, [5, 6, 0]),
    ),
    "map_accuml": (
        lambda p: p.map_accuml(
            _fn("ab", lambda a, b: relay.Tuple([a + b, a * b])), relay.const(0), _ints(p, [1, 2, 3])
        ),
        (6, [9, 2, 0]),
    ),
    "unfoldr": (lambda p: p.unfoldr(_countdown(p), relay.const(3)), [3, 2, 1]),
    "unfoldl": (lambda p: p.unfoldl(_countdown(p), relay.const(3)), [1, 2, 3]),
    "tmap": (lambda p: p.tmap(_fn("a", lambda a: a * a), _tree(p)), ("Rose", 9, [("Rose", 16, []), ("Rose", 25, [])])),
    "size": (lambda p: p.size(_tree(p)), 3),
    "iterate": (lambda p: p.iterate(_fn("a", lambda a: a + a), relay.const(5))(relay.const(3)), 96),
}


def _countdown(p: Any) -> Any:
    n = relay.var("n", INT)
    more = p.some(relay.Tuple([n - relay.const(1), n]))
    return relay.Function([n], relay.If(relay.equal(n, relay.const(0)), p.none(), more))


def _tree(p: Any) -> Any:
    leaves = [p.rose(relay.const(v), p.nil()) for v in (4, 5)]
    return p.rose(relay.const(3), _list(p, leaves))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    build, expected = CASES[name]
    p: Any = Prelude()
    assert _evaluate(p, build(p)) == expected


def test_all_of_it_is_well_typed_and_annotated() -> None:
    mod = Prelude().mod
    assert well_formed(mod)
    inferred = infer_module(mod)
    assert infer_module(inferred) is inferred


def test_types_are_generic() -> None:
    p: Any = Prelude()
    x, y = relay.var("x", TensorType((2, 3))), relay.var("y", INT)
    pairs = p.zip(p.cons(x, p.nil()), p.cons(y, p.nil()))
    p.mod["main"] = relay.Function([x, y], relay.Tuple([pairs, p.hd(pairs)]))
    found = infer_module(p.mod)["main"].ret_type
    pair = TupleType((TensorType((2, 3)), INT))
    assert found == TupleType((p.l(pair), pair))


def test_what_a_module_has_already_stays() -> None:
    first = Prelude()
    mod: IRModule = first.mod
    functions = dict(mod.functions)
    second = Prelude(mod)
    assert second.cons is first.cons
    assert second.map is first.map
    assert dict(mod.functions) == functions
    assert mod.get_type("List") == (first.l, first.cons, first.nil)
    with pytest.raises(AttributeError, match="Prelude has no function 'fold'"):
        second.fold  # noqa: B018


def test_core_defines_the_type_of_storage_once() -> None:
    mod = IRModule()
    mod.import_from_std("core.rly")
    mod.import_from_std("core.rly")
    mod.import_from_std("gradient.rly")
    assert [var.name_hint for var in mod.type_definitions] == ["Storage"]
    assert not mod.functions


def test_a_tag_names_one_constructor_of_a_module() -> None:
    mod = Prelude().mod
    mod.import_from_std("nat.rly")
    constructors = [c for data in mod.type_definitions.values() for c in data.constructors]
    assert all(mod.get_constructor(c.tag) is c for c in constructors)
    nil, cons = (mod[mod.get_global_type_var("List")].constructors[i] for i in (1, 0))
    assert nil.tag - cons.tag == 1
    with pytest.raises(ArgumentError, match="no constructor has the tag 0"):
        mod.get_constructor(0)


def test_nat_iterate_applies_a_function_again_and_again() -> None:
    prelude = Prelude()
    prelude.mod.import_from_std("nat.rly")
    iterate = prelude.mod.get_global_var("nat_iterate")
    x, start = relay.var("x", shape=(2,)), relay.var("start", shape=(2,))
    double = relay.Function([x], relay.add(x, x))
    prelude.mod["main"] = relay.Function([start], relay.Call(iterate(double, make_nat_expr(prelude, 3)), [start]))
    data = np.array([1, -2], "float32")
    for kind in ("debug", "vm"):
        result = create_executor(kind, mod=infer_module(prelude.mod)).evaluate()(data)
        np.testing.assert_allclose(result.numpy(), 8 * data)


def test_what_works_on_arrays_of_tensors_is_there_when_it_is_asked_for() -> None:
    mod = Prelude().mod
    assert "tensor_array_read_int64" not in mod
    read = mod.get_global_var("tensor_array_read_int64")
    assert infer_module(mod)[read].checked_type.ret_type.func.name_hint == "tensor_int64_t"
    other = infer_module(Prelude().mod)
    assert [c.name_hint for c in other.get_type("tensor_int8_t")[1:3]] == ["tensor_nil_int8", "tensor0_int8"]
    with pytest.raises(ArgumentError, match="no function is named 'tensor_array_turn_int64'"):
        other.get_global_var("tensor_array_turn_int64")
