"""Whatever layouts a graph is brought into, it has the type and computes the values that it had before.

``STRATA_EXAMPLES=200 python -m pytest tests/properties/test_layouts.py --timeout 0`` converts every operator to every
layout, and looks at that many random graphs.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import numpy as np
import pytest

from compiler import cpu as tvm_cpu
from compiler.classic.contrib import graph_executor
from compiler.ir import IRModule
from compiler.ir.error import TVMError
from compiler.ir.transform import PassContext
from compiler.relay.named_layouts import NamedLayouts
from compiler.relay.operator import RelayOp
from compiler.target.target import Target
from tests.compiler.relay.transform.reading import relay, transform
from tests.machines import processors
from tests.properties.graphs import evaluate, flat
from tests.properties.layout_calls import Recipe, call_of, image_layouts, operators, recipes, values_of
from tests.properties.layout_programs import random_layout_module, small_inputs

EXAMPLES = os.environ.get("STRATA_EXAMPLES")


def _letters(recipe: Recipe) -> str:
    return "".join(recipe.operands[0])


def _some(layouts: list[str], seed: str) -> list[str]:
    """Return what the suite looks at: the usual layouts, and some others."""
    if EXAMPLES:
        return layouts
    last = next(each for each in layouts if each[0] == "N" and each[-1] == "C")
    return [layouts[0], last, *Random(seed).sample(layouts[1:], 2)]


def _modules(op: RelayOp, recipe: Recipe) -> list[tuple[IRModule, list[Any]]]:
    """Return a call in its default layout and in others, with a layout of the result that is set, or another one."""
    named = NamedLayouts.of(op)
    assert named is not None
    made = []
    for seed, images in enumerate(["", *_some(list(image_layouts(_letters(recipe))), op.name)[-1:]]):
        own = images or str(op.attributes[named.images].default)
        layouts = dict.fromkeys(named.of_images, images) if images else {}
        for result in ("", own, _other(own)) if "out_layout" in op.attributes else ("",):
            try:
                call, variables = call_of(op, recipe, {**layouts, **({"out_layout": result} if result else {})})
                body = relay.abs(relay.Call(call.op, [relay.abs(call.args[0]), *call.args[1:]], call.attrs))
                mod = IRModule.from_expr(relay.Function([v for v, _ in variables], body))
                made.append((transform.InferType()(mod), values_of(variables, seed)))
            except TVMError:
                assert images, "an operator has the layout that is its default"
    return made


def _other(name: str) -> str:
    """Return another layout of the same dimensions."""
    letters = [each for each in name if each.isupper()]
    return "".join([letters[0], *letters[2:], letters[1]]) if letters[1] == "C" else "NC" + "".join(letters[1:-1])


def _check(mod: IRModule, inputs: list[Any], layouts: dict[str, list[str]]) -> bool:
    """Compare a graph with the same in other layouts; return whether the pass changed it."""
    with PassContext(opt_level=4):
        after = transform.InferType()(transform.ConvertLayout(layouts)(mod))
        assert after["main"].checked_type == mod["main"].checked_type
        static = transform.DynamicToStatic()
        results = [flat(evaluate(static(each)["main"], inputs)) for each in (mod, after)]
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"{layouts}\n{mod}\n{after}")
    return after is not mod


@pytest.mark.sample(3)
@pytest.mark.parametrize("op", operators(), ids=str)
def test_an_operator_is_converted_to_every_layout_that_it_has(op: RelayOp) -> None:
    changed = 0
    for recipe in recipes(op):
        wanted = _some(list(image_layouts(_letters(recipe))), f"{op.name} to")
        modules = _modules(op, recipe)
        assert modules
        for mod, inputs in modules:
            changed += sum(_check(mod, inputs, {op.name: [name, "default"]}) for name in wanted)
    only_one = ("nn.correlation", "image.grid_sample")
    assert changed or op.name in only_one


CPUS = ("x86-64", "haswell", "skylake-avx512", "sapphirerapids")
_RUNNING = processors()
SEEDS = int(EXAMPLES or 6)


def _program(seed: int) -> tuple[IRModule, list[Any], list[Any]]:
    random = Random(seed)
    mod = random_layout_module(random, random.randrange(1, 9))
    inputs = small_inputs(mod)
    return mod, inputs, flat(evaluate(mod["main"], inputs))


def _compare(found: list[Any], wanted: list[Any], what: Any) -> None:
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype
        near = 1e-4 * max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=near, err_msg=str(what))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_layouts_change_nothing_behind_convolutions(seed: int) -> None:
    mod, inputs, wanted = _program(seed)
    random = Random(seed)
    images = [random.choice(["NCHW", "NHWC", "NCHW8c", "HWNC"]) for _ in range(4)]
    names = ("nn.conv2d", "nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d")
    convert = transform.ConvertLayout({name: [each, "default"] for name, each in zip(names, images, strict=True)})
    alter = [transform.AlterOpLayout(Target(f"llvm -mcpu={cpu}")) for cpu in CPUS]
    with PassContext(opt_level=4):
        for each in ([convert], *[[a] for a in alter], [convert, transform.CanonicalizeOps(), random.choice(alter)]):
            after = transform.Sequential(each)(mod)
            assert transform.InferType()(after)["main"].checked_type == mod["main"].checked_type
            _compare(flat(evaluate(after["main"], inputs)), wanted, f"{images}\n{mod}\n{after}")


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", [3, 4])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_builds_compute_the_same_in_layouts_of_their_own(seed: int, level: int) -> None:
    mod, inputs, wanted = _program(seed)
    cpu = _RUNNING[seed % len(_RUNNING)]
    with PassContext(opt_level=level):
        module = graph_executor.GraphModule(relay.build(mod, f"llvm -mcpu={cpu}")["default"](tvm_cpu(0)))
    module.run(**{p.name_hint: a for p, a in zip(mod["main"].params, inputs, strict=True)})
    _compare([module.get_output(i).numpy() for i in range(len(wanted))], wanted, f"{cpu}\n{mod}")
