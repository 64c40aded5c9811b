"""Arrays of tensors against NumPy, and under TVM's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler.classic.testing.relay
import compiler.relay
from compiler.classic.relay.prelude import Prelude, StaticTensorArrayOps
from compiler.ir import IRModule
from compiler.ir.error import ArgumentError
from compiler.relay.ty import AnyDim
from tests.compiler.relay.transform.meaning import run

relay: Any = compiler.relay

A, B, C = (np.arange(6, dtype="float32").reshape(2, 3) + 10 * i for i in range(3))


def _static(p: Prelude) -> Callable[[str], Any]:
    StaticTensorArrayOps(p, "float32", (2, 3)).register()
    return lambda name: p.get_global_var_static(name, "float32", (2, 3))


def _dynamic(p: Prelude) -> Callable[[str], Any]:
    return lambda name: p.get_global_var(name, "float32")


def _made(p: Prelude, kind: Any, value: Any) -> Any:
    if kind is _static:
        return p.get_tensor_ctor_static("tensor_constructor", "float32", (2, 3))(value)
    return p.get_tensor_ctor("tensor2", "float32")(value)


def _array(p: Prelude, kind: Any, of: Callable[[str], Any], params: Any) -> Any:
    array = of("tensor_array")(relay.const(len(params)))
    for place, param in enumerate(params):
        array = of("tensor_array_write")(array, relay.const(place), _made(p, kind, param))
    return array


def _tensors(value: Any) -> list[Any]:
    """Return the tensors of a value, in their order."""
    if isinstance(value, (np.ndarray, np.generic)):
        return [np.asarray(value)]
    return [tensor for part in value[1] for tensor in _tensors(part)]


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "read": (lambda of, array, p: of("tensor_array_read")(array, relay.const(1)), [B]),
    "stack": (lambda of, array, p: of("tensor_array_stack")(array), [np.stack([A, B, C])]),
    "gather": (
        lambda of, array, p: of("tensor_array_gather")(array, relay.const(np.array([2, 0], "int32"))),
        [np.stack([C, A])],
    ),
    "scatter": (
        lambda of, array, p: of("tensor_array_scatter")(array, relay.const(np.array([2, 0, 1], "int32")), array),
        [B, C, A],
    ),
    "expand_dims": (
        lambda of, array, p: of("tensor_expand_dims")(of("tensor_array_read")(array, relay.const(0))),
        [A[None]],
    ),
    "concatenate": (
        lambda of, array, p: of("tensor_concatenate")(
            *[of("tensor_array_read")(array, relay.const(i)) for i in (0, 2)]
        ),
        [np.concatenate([A, C])],
    ),
    "take": (
        lambda of, array, p: of("tensor_take")(
            of("tensor_array_read")(array, relay.const(2)), relay.const(1), relay.const(2)
        ),
        [C[1:2]],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [_static, _dynamic])
def test_arrays_of_tensors(name: str, kind: Callable[[Prelude], Callable[[str], Any]]) -> None:
    build, expected = CASES[name]
    p = Prelude(IRModule())
    params = [relay.var(n, shape=(2, 3)) for n in "abc"]
    of = kind(p)
    p.mod["main"] = relay.Function(params, build(of, _array(p, kind, of, params), p))
    tensors = _tensors(run(p.mod, A, B, C))
    assert len(tensors) == len(expected)
    for tensor, reference in zip(tensors, expected, strict=True):
        np.testing.assert_array_equal(tensor, reference)


def test_a_tensor_is_split_and_joined() -> None:
    p = Prelude(IRModule())
    StaticTensorArrayOps(p, "float32", (5, 2)).register()
    of = lambda name, shape: p.get_global_var_static(name, "float32", shape)  # noqa: E731
    value = np.arange(10, dtype="float32").reshape(5, 2)
    x, parts = relay.var("x", shape=(5, 2)), (AnyDim(), 2)
    made = p.get_tensor_ctor_static("tensor_constructor", "float32", (5, 2))(x)
    lengths = relay.const(np.array([3, 2], "int32"))
    array = of("tensor_array_split", (5, 2))(of("tensor_array", parts)(relay.const(2)), made, lengths)
    p.mod["main"] = relay.Function([x], relay.Tuple([array, of("tensor_array_concat", (5, 2))(array)]))
    array, joined = run(p.mod, value)
    for tensor, reference in zip(_tensors(array), (value[:3], value[3:]), strict=True):
        np.testing.assert_array_equal(tensor, reference)
    np.testing.assert_array_equal(_tensors(joined)[0], value)


def test_names() -> None:
    p = Prelude(IRModule())
    assert p.get_name("tensor_t", "int8") == "tensor_int8_t"
    assert p.get_name("tensor_array_read", "int8") == "tensor_array_read_int8"
    assert p.get_name_static("tensor_t", "int8", (AnyDim(), 2)) == "static_tensor_int8_any_2_t"
    assert p.get_name_static("tensor_array_read", "int8", (), 1) == "tensor_array_read_int8_batch1_scalar"
    assert p.get_name_static("tensor_nil", "int8", (4,), 1) == "tensor_nil_int8_4"


def test_modules_that_come_with_the_compiler() -> None:
    mod = IRModule()
    mod.import_from_std("prelude.rly")
    mod.import_from_std("nat.rly")
    assert {"map", "nat_add"} <= {var.name_hint for var in mod.get_global_vars()}
    modules = r"core\.rly, gradient\.rly, nat\.rly, prelude\.rly"
    with pytest.raises(ArgumentError, match=rf"expected one of {modules}, got 'other\.rly'"):
        mod.import_from_std("other.rly")


def test_types_of_generic_functions_are_equal_whatever_their_variables_are_called() -> None:
    def identity(name: str) -> Any:
        var = relay.TypeVar(name)
        return relay.FuncType([var], var, [var])

    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    assert identity("a") == identity("b")
    assert hash(identity("a")) == hash(identity("b"))
    assert relay.FuncType([a, b], a, [a, b]) == relay.FuncType([b, a], b, [b, a])
    assert relay.FuncType([a, b], a, [a, b]) != relay.FuncType([a, b], b, [a, b])
    assert relay.FuncType([a], a) != relay.FuncType([b], b)


def test_a_module_with_arrays_has_the_tensors_of_all_data_types() -> None:
    p = Prelude()
    before = {var.name_hint for var in p.mod.type_definitions}
    p.get_tensor_ctor("tensor1", "int32")
    after = {var.name_hint for var in p.mod.type_definitions}
    dtypes = ["float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint16", "uint8"]
    assert sorted(after - before) == [f"tensor_{dtype}_t" for dtype in dtypes]
    constructors = p.mod.get_type("tensor_float32_t")[1:]
    names = ["tensor_nil_float32", *(f"tensor{rank}_float32" for rank in range(7))]
    assert sorted(c.name_hint for c in constructors) == sorted(names)
