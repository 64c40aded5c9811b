"""What external compilers get: annotations, regions, and functions of the module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.analysis.annotated_regions import AnnotatedRegionSet
from compiler.classic.relay.contrib.register import get_pattern_table, register_pattern_table
from compiler.classic.relay.dataflow_pattern import is_op, wildcard
from compiler.ir.error import BuildError
from compiler.relay import transform
from compiler.relay.analysis import post_order
from compiler.relay.operator import get, op_name


@pytest.fixture(autouse=True)
def supported() -> Iterator[None]:
    """Let compiler ``dsp`` support ``add`` and ``nn.relu``, and compiler ``npu`` support ``tanh``."""
    rules = {("add", "dsp"), ("nn.relu", "dsp"), ("tanh", "npu")}
    for op, compiler in rules:
        get(op).set_attr(f"target.{compiler}", lambda call: True)
    yield
    for op, compiler in rules:
        get(op).reset_attr(f"target.{compiler}")


def module(body: str) -> Any:
    source = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 5), float32], %y: Tensor[(4, 5), float32]) {{ {body} }}'
    return transform.InferType()(relay.fromtext(source))


CHAIN = "%0 = add(%x, %y); %1 = nn.relu(%0); %2 = tanh(%1); %3 = exp(%2); nn.relu(add(%3, %0))"


def values(func: Any, arrays: dict[str, Any]) -> Any:
    return relay.create_executor("debug", mod=tvm.IRModule.from_expr(func)).evaluate()(**arrays).numpy()


def merged(mod: Any) -> Any:
    mod = transform.AnnotateTarget(["dsp", "npu"])(mod)
    return transform.MergeCompilerRegions()(transform.InferType()(mod))


def test_annotating_twice_changes_nothing() -> None:
    once = transform.AnnotateTarget(["dsp", "npu"])(module(CHAIN))
    assert tvm.ir.structural_equal(transform.AnnotateTarget(["dsp", "npu"])(once), once)
    in_turn = transform.AnnotateTarget("npu")(transform.AnnotateTarget("dsp")(module(CHAIN)))
    assert tvm.ir.structural_equal(in_turn, once)
    assert {part.attrs["compiler"] for part in post_order(once["main"]) if op_name(part).startswith("annotation")} == {
        "dsp",
        "npu",
        "default",
    }


def test_annotations_keep_the_meaning() -> None:
    mod = module(CHAIN)
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal((4, 5)).astype("float32") for name in "xy"}
    wanted = values(mod["main"], arrays)
    annotated = transform.AnnotateTarget(["dsp", "npu"])(mod)
    np.testing.assert_array_equal(values(annotated["main"], arrays), wanted)
    np.testing.assert_array_equal(values(merged(mod)["main"], arrays), wanted)
    partitioned = transform.PartitionGraph()(merged(mod))
    whole = transform.Inline()(partitioned)
    np.testing.assert_array_equal(values(whole["main"], arrays), wanted)


def test_regions_are_merged_unless_one_waits_for_the_other() -> None:
    regions = [r for r in AnnotatedRegionSet(merged(module(CHAIN))["main"]) if r.target == "dsp"]
    # add and relu before tanh are one; those behind exp need it, and so are another.
    names = [{op_name(n) for n in r.nodes if not op_name(n).startswith("annotation")} for r in regions]
    assert names == [{"add", "nn.relu"}, {"add", "nn.relu"}]
    assert len(regions[0].rets) == 2, "its sum is used by the other region too"


def test_functions_of_external_compilers() -> None:
    mod = transform.PartitionGraph("model")(merged(module(CHAIN)))
    made = {var.name_hint: func for var, func in mod.items() if var.name_hint != "main"}
    assert {func.attrs["Compiler"] for func in made.values()} == {"dsp", "npu"}
    for name, func in made.items():
        assert name == func.attrs["global_symbol"]
        assert name.startswith(f"tvmgen_model_{func.attrs['Compiler']}_main_")
        assert func.attrs["Primitive"] == func.attrs["Inline"] == 1
    assert not any(op_name(part).startswith("annotation") for f in mod.functions.values() for part in post_order(f))


def test_constants_are_bound_where_asked() -> None:
    mod = merged(module("add(%x, 2f)"))
    [func] = [f for v, f in transform.PartitionGraph()(mod).items() if v.name_hint != "main"]
    assert len(func.params) == 1
    [func] = [f for v, f in transform.PartitionGraph(bind_constants=False)(mod).items() if v.name_hint != "main"]
    assert len(func.params) == 2


def test_tuples_of_constants_are_bound() -> None:
    get("stack").set_attr("target.dsp", lambda call: True)
    mod = merged(module("stack((1f, 2f), axis=0)"))
    get("stack").reset_attr("target.dsp")
    [func] = [f for v, f in transform.PartitionGraph()(mod).items() if v.name_hint != "main"]
    assert func.params == ()
    assert isinstance(func.body.args[0], relay.Tuple)


def test_an_empty_tuple_is_nobodys() -> None:
    mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function([], relay.Tuple([]))))
    for everything in (False, True):
        assert tvm.ir.structural_equal(transform.AnnotateTarget("dsp", everything)(mod), mod)


def test_checks_of_patterns_see_types() -> None:
    x = relay.var("x", shape=(4, 5))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.add(x, x))))
    table = [
        ("dsp.add", is_op("add")(wildcard(), wildcard())),
        ("dsp.relu", is_op("nn.relu")(wildcard()), lambda call: call.args[0].checked_type.shape[0] == 4),
    ]
    assert str(transform.MergeComposite(table)(mod)).count("Composite=") == 2


def test_a_function_of_the_compiler_improves_its_functions() -> None:
    tvm.register_func("relay.ext.dsp.optimize", lambda mod: transform.SimplifyExpr()(mod), override=True)
    try:
        [func] = [
            f for v, f in transform.PartitionGraph()(merged(module("add(%x, 0f)"))).items() if v.name_hint != "main"
        ]
    finally:
        tvm.register_func("relay.ext.dsp.optimize", lambda mod: mod, override=True)
    assert func.body is func.params[0]


def test_random_graphs_keep_their_meaning() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        values_so_far = [relay.var(name, shape=(2, 3)) for name in "xy"]
        for _ in range(8):
            a, b = (values_so_far[i] for i in rng.integers(0, len(values_so_far), 2))
            op = rng.choice(["add", "nn.relu", "tanh", "abs"])
            values_so_far.append(relay.add(a, b) if op == "add" else get(op)(a))
        body = relay.concatenate(tuple(values_so_far[2:]), axis=0)
        params = relay.analysis.free_vars(body)
        mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function(params, body)))
        arrays = {p.name_hint: rng.standard_normal((2, 3)).astype("float32") for p in params}
        partitioned = transform.PartitionGraph()(merged(mod))
        inlined = transform.Inline()(partitioned)
        np.testing.assert_array_equal(values(inlined["main"], arrays), values(mod["main"], arrays))


def test_functions_of_ccompiler_are_compiled_with_the_rest() -> None:
    annotate = relay.testing.byoc.CcompilerAnnotator()
    source = "multiply(subtract(add(%x, %y), %x), %y)"
    mod = module(source)
    partitioned = transform.PartitionGraph()(transform.InferType()(tvm.IRModule.from_expr(annotate.visit(mod["main"]))))
    assert [f.attrs["Compiler"] for v, f in partitioned.items() if v.name_hint != "main"] == ["ccompiler"]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((4, 5)).astype("float32") for _ in "xy"]
    for kind in ("graph", "vm"):
        run = relay.create_executor(kind, mod=partitioned, target="llvm").evaluate()
        np.testing.assert_allclose(run(*arrays).numpy(), (arrays[0] + arrays[1] - arrays[0]) * arrays[1], rtol=1e-5)


def test_other_compilers_are_named_in_the_error() -> None:
    partitioned = transform.PartitionGraph()(merged(module("add(%x, %y)")))
    with pytest.raises(BuildError, match=r"no external compiler is registered as 'relay\.ext\.dsp'"):
        relay.build(partitioned, "llvm")


def test_tables_of_patterns() -> None:
    @register_pattern_table("dsp")
    def patterns() -> list[Any]:
        return [("dsp.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]

    mod = transform.MergeComposite(get_pattern_table("dsp"))(module("nn.relu(add(%x, %y))"))
    [func] = [f for f in post_order(mod["main"]) if isinstance(f, relay.Function) and "Composite" in f.attrs]
    assert func.attrs["Composite"] == "dsp.add_relu"
    assert get_pattern_table("nobody") is None


def test_calls_without_arguments_belong_to_no_region() -> None:
    get("zeros").set_attr("target.dsp", lambda call: True)
    try:
        mod = module('add(zeros(shape=[4, 5], dtype="float32"), %x)')
        parts = transform.PartitionGraph()(merged(mod))
    finally:
        get("zeros").reset_attr("target.dsp")
    outside, inside = parts["main"].body, parts["tvmgen_default_dsp_main_0"]
    assert [op_name(arg) for arg in outside.args if isinstance(arg, relay.Call)] == ["zeros"]
    assert op_name(inside.body) == "add"


@pytest.mark.parametrize("everything", [True, False])
def test_what_a_let_binds_is_taken_from_its_region(everything: bool) -> None:
    mod = transform.AnnotateTarget("dsp", everything)(module("let %z = add(%x, %y); nn.relu(%z)"))
    value = mod["main"].body.value
    assert [op_name(value), op_name(value.args[0])] == ["annotation.compiler_begin", "annotation.compiler_end"]
    assert value.attrs["compiler"] == "dsp"


def test_values_with_names_are_partitioned_as_those_without() -> None:
    mod = transform.ToANormalForm()(module("%0 = tanh(%x); %1 = add(%0, %y); nn.relu(exp(%1))"))
    rng = np.random.default_rng(0)
    arrays = {name: rng.random((4, 5)).astype("float32") for name in "xy"}
    expected = relay.create_executor("debug", mod=mod).evaluate()(**arrays).numpy()
    made = transform.PartitionGraph()(merged(mod))
    assert len(made.functions) > 2
    np.testing.assert_allclose(relay.create_executor("debug", mod=made).evaluate()(**arrays).numpy(), expected)
