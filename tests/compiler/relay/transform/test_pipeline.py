"""Passes of users, and the passes of a build in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ir.error import TVMError
from compiler.ir.instrument import PassInstrument
from compiler.ir.op import Op
from compiler.ir.transform import PassContext, Sequential, module_pass
from compiler.target.target import Target
from tests.compiler.relay.transform.reading import kernels, module_of, relay, shown, transform
from tests.properties.graphs import evaluate, random_inputs


class Names(PassInstrument):
    def __init__(self) -> None:
        self.found: list[str] = []

    def run_before_pass(self, mod: Any, info: Any) -> None:
        self.found.append(info.name)


def block() -> Any:
    """A convolution, its normalisation, an activation and what they are added to."""
    x = relay.var("x", shape=(1, 16, 8, 8))
    rng = np.random.default_rng(0)
    w = relay.const(rng.normal(size=(16, 16, 3, 3)).astype("float32"))
    vectors = [relay.const(rng.random(16).astype("float32") + np.float32(0.5)) for _ in range(4)]
    norm = relay.nn.batch_norm(relay.nn.conv2d(x, w, padding=(1, 1)), *vectors)
    return relay.add(relay.nn.relu(norm[0]), x)


# passes of users


def test_a_class_makes_a_pass_over_functions() -> None:
    @transform.function_pass(opt_level=1)
    class Replace:
        """Replace relu by clip."""

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            class Replacer(relay.ExprMutator):
                def visit_call(self, call: Any) -> Any:
                    call = super().visit_call(call)
                    if isinstance(call.op, Op) and call.op.name == "nn.relu":
                        return relay.clip(call.args[0], a_min=0.0, a_max=float("inf"))
                    return call

            return Replacer().visit(func)

    mod = module_of(relay.nn.relu(relay.var("x", shape=(3,))))
    assert Replace().info.name == "Replace"
    assert Replace().info.opt_level == 1
    assert shown(Replace()(mod)["main"].body) == "clip(x)"
    with PassContext(opt_level=0):
        assert Sequential([Replace()])(mod) is mod
    assert Replace.__doc__ == "Replace relu by clip."


def test_a_pass_sees_every_step_of_a_chain() -> None:
    seen: list[int] = []

    @transform.function_pass(opt_level=1, name="count")
    def count(func: Any, mod: Any, ctx: Any) -> Any:
        calls: list[str] = []
        relay.analysis.post_order_visit(
            func, lambda e: calls.append(e.op.name) if isinstance(e, relay.Call) and isinstance(e.op, Op) else None
        )
        seen.append(len(calls))
        return func

    chain = Sequential([transform.InferType(), count, transform.SimplifyInference(), count, transform.FuseOps(), count])
    chain(module_of(block()))
    assert seen == [4, 14, 14]


def test_a_pass_over_modules_and_one_over_functions_that_returns_none() -> None:
    @module_pass(opt_level=2, name="own")
    class Own:
        def transform_module(self, mod: Any, ctx: Any) -> Any:
            for gvar, func in mod.functions.items():
                mod.update_func(gvar, func)
            return mod

    mod = module_of(block())
    assert Own()(mod) is mod
    broken = transform.function_pass(lambda func, mod, ctx: None, opt_level=0, name="broken")
    with pytest.raises(TVMError, match="pass broken: must return a Function, returned NoneType"):
        broken(mod)


def test_functions_can_refuse_to_be_optimised() -> None:
    mod = module_of(block())
    kept = relay.transform.InferType()(type(mod).from_expr(mod["main"].with_attr("SkipOptimization", 1)))
    assert transform.SimplifyInference()(kept) is kept


# the passes of a build


def test_the_order_is_that_of_tvm() -> None:
    names = [p.info.name for p in transform.build_passes(Target("llvm"))]
    wanted = [
        "SimplifyInference",
        "FoldConstant",
        "FoldScaleAxis",
        "CanonicalizeOps",
        "AlterOpLayout",
        "FuseOps",
        "InferType",
    ]
    places = [names.index(n, 1) for n in wanted]
    assert places == sorted(places)


LEVELS: list[tuple[int, set[str]]] = [
    (0, {"nn.conv2d", "nn.relu"}),
    (
        1,
        {
            "const add rsqrt multiply",
            "nn.conv2d expand_dims multiply negative multiply add expand_dims add nn.relu add",
        },
    ),
    (2, {"nn.conv2d multiply add nn.relu add"}),
    (3, {"layout_transform", "nn.contrib_conv2d_NCHWc add nn.relu add"}),
]


@pytest.mark.parametrize(("level", "wanted"), LEVELS)
def test_levels_do_more_and_more(level: int, wanted: set[str]) -> None:
    mod = module_of(block())
    with PassContext(opt_level=level):
        done = transform.optimize(mod, "llvm -mcpu=haswell")
    assert wanted <= kernels(done["main"].body)
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(done["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-3, atol=1e-3)


def test_passes_can_be_disabled_and_watched() -> None:
    names = Names()
    with PassContext(opt_level=3, disabled_pass=["AlterOpLayout", "FoldScaleAxis"], instruments=[names]):
        done = transform.optimize(module_of(block()), "llvm -mcpu=haswell")
    assert kernels(done["main"].body) == {"nn.conv2d multiply add nn.relu add"}
    assert "FuseOps" in names.found
    assert not {"AlterOpLayout", "FoldScaleAxis", "BackwardFoldScaleAxis"} & set(names.found)


def test_options_of_lessons_are_known() -> None:
    config = {
        "relay.FuseOps.max_depth": 5,
        "relay.backend.use_auto_scheduler": True,
        "relay.backend.tir_converter": "default",
    }
    with PassContext(opt_level=3, config=config, disabled_pass=["AlterOpLayout"]):
        done = transform.optimize(module_of(block()), "llvm")
    assert kernels(done["main"].body) == {"nn.conv2d add nn.relu add"}


def test_a_convolution_between_batches_of_pixels_is_one_kernel() -> None:
    x = relay.var("x", shape=(1, 5, 6, 4))
    w = relay.const(np.random.default_rng(0).standard_normal((3, 3, 4, 1)).astype("float32"))
    y = relay.nn.space_to_batch_nd(x, [2, 2], [[2, 3], [2, 2]])
    y = relay.nn.conv2d(y, w, groups=4, channels=4, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWOI")
    mod = module_of(relay.nn.batch_to_space_nd(y, [2, 2], [[0, 1], [0, 0]]))
    inputs = random_inputs(mod)
    for level in (0, 3, 4):
        with PassContext(opt_level=level):
            done = transform.optimize(mod, "llvm -mcpu=haswell")
        assert kernels(done["main"].body) == {"nn.conv2d"}
        np.testing.assert_allclose(evaluate(done["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("operator", "attrs", "shape", "is_one"),
    [
        ("layer_norm", {}, (4, 9, 24), True),
        ("layer_norm", {"axis": 1}, (4, 24, 9), False),
        ("group_norm", {"num_groups": 6}, (2, 24, 5, 7), True),
        ("group_norm", {"num_groups": 6, "axis": 3}, (2, 5, 7, 24), False),
        ("instance_norm", {}, (2, 24, 35), True),
        ("instance_norm", {}, (2, 24, 5, 7), False),
    ],
)
def test_rows_are_normalised_by_one_kernel_of_a_cpu(
    operator: str, attrs: dict[str, int], shape: tuple[int, ...], is_one: bool
) -> None:
    """Images between convolutions are not: arithmetic takes their layouts."""
    for dtype, target in (("float32", "llvm"), ("float64", "llvm"), ("float32", "cuda")):
        x, factors = relay.var("x", shape=shape, dtype=dtype), relay.const(np.arange(24) / 8, dtype)
        mod = module_of(getattr(relay.nn, operator)(x, factors, factors, **attrs))
        assert (f"nn.{operator}" in str(transform.optimize(mod, target))) == (
            is_one and (dtype, target) == ("float32", "llvm")
        )
        if target == "llvm":
            inputs = random_inputs(mod)
            found = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*inputs).numpy()
            np.testing.assert_allclose(found, evaluate(mod["main"], inputs), rtol=1e-4, atol=1e-5)
