"""Functions of external compilers: they become functions of the module, are marked, and are put back."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay

TEXT = """#[version = "0.0.5"]
def @compiled(%x: Tensor[(3), float32], Primitive=1, Compiler="one", global_symbol="compiled") { exp(%x) }
def @main(%a: Tensor[(3), float32]) {
  %0 = fn (%x: Tensor[(3), float32], Primitive=1, Compiler="one", global_symbol="foo") { add(%x, %x) };
  %1 = fn (%x: Tensor[(3), float32], Primitive=1, Compiler="two", global_symbol="bar") { multiply(%x, %x) };
  %0(@compiled(%1(%0(%a))))
}
"""
OUTLINE = relay.transform.OutlineCompilerFunctionsWithExistingGlobalSymbols


def _module(text=TEXT):
    return relay.transform.InferType()(relay.fromtext(text))


def _local_functions(mod):
    return {
        str(part.attrs["global_symbol"])
        for part in relay.analysis.post_order(mod["main"].body)
        if isinstance(part, relay.Function)
    }


@pytest.mark.parametrize(("name", "outlined"), [("one", {"foo"}), ("two", {"bar"}), ("", {"foo", "bar"})])
def test_local_functions_become_functions_of_the_module(name, outlined):
    mod = OUTLINE(name)(_module())
    assert {var.name_hint for var in mod} == {"main", "compiled"} | outlined
    assert _local_functions(mod) == {"foo", "bar"} - outlined
    assert all(mod[symbol].attrs["Compiler"] for symbol in outlined)


def test_inlining_undoes_outlining():
    outlined = OUTLINE()(_module())
    inlined = relay.transform.InlineCompilerFunctionsBoundTo(
        [outlined.get_global_var(name) for name in ("foo", "bar", "compiled", "main")]
    )(outlined)
    assert [var.name_hint for var in inlined] == ["main"]
    x = np.array([0.5, 1, -1], "float32")
    expected = 2 * np.exp(4 * x * x)
    np.testing.assert_allclose(relay.create_executor("debug", mod=inlined).evaluate()(x).numpy(), expected, rtol=1e-5)


def test_functions_of_the_module_are_marked_as_compiled_elsewhere():
    marked = relay.transform.MarkCompilerFunctionsAsExtern("one")(OUTLINE()(_module()))
    assert {var.name_hint: dict(func.attrs).get("Extern") for var, func in marked.items()} == {
        "main": None,
        "compiled": 1,
        "foo": 1,
        "bar": None,
    }
    assert set(marked["foo"].attrs) == {"Extern"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', global_symbol="foo"', "", "no global_symbol"),
        ('"bar"', '"foo"', "two different functions have the global_symbol 'foo'"),
        ('="foo"', '="compiled"', "the module already has a function 'compiled'"),
    ],
)
def test_global_symbols_that_name_no_one_function_are_refused(old, new, message):
    mod = _module(TEXT.replace(old, new))
    with pytest.raises(tvm.error.TVMError, match=message):
        OUTLINE()(mod)
