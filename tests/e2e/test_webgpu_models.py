"""A small CNN that relay.build makes for WebGPU runs in the page, in the graph executor's order."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import write
from tests.e2e.test_webgpu import edited

CNN = """\
import numpy as np
import tvm
from tvm import relay

SHAPES = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (16, 8, 3, 3), "w3": (9000, 16), "w4": (10, 9000)}
x = relay.var("x", shape=(1, 3, 16, 16))
w = {name: relay.var(name, shape=shape) for name, shape in SHAPES.items()}
y = relay.nn.conv2d(x, w["w1"], kernel_size=(3, 3), channels=8, padding=(1, 1))
y = relay.nn.max_pool2d(relay.nn.relu(relay.nn.bias_add(y, w["b1"])), pool_size=(2, 2), strides=(2, 2))
y = relay.nn.relu(relay.nn.conv2d(y, w["w2"], kernel_size=(3, 3), channels=16, padding=(1, 1)))
y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), w["w3"])
y = relay.nn.dense(relay.nn.relu(y), w["w4"])
mod = tvm.IRModule.from_expr(relay.Function([x, *w.values()], relay.nn.softmax(y * relay.const(1e-3))))
random = np.random.default_rng(0)
params = {name: random.standard_normal(shape).astype("float32") for name, shape in SHAPES.items()}
lib = relay.build(mod, target="webgpu", params=params)
"""


@pytest.mark.long
def test_a_small_cnn_runs_in_the_browser(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer)
    programs: list[dict] = []
    edited(page, programs.append)
    write(page, CNN)
    page.evaluate("document.querySelector('[data-open=adapter]').click()")
    expect(page.locator("#body-adapter")).to_be_visible()
    page.click("#webgpu-run")
    expect(page.locator("#webgpu-run")).to_be_enabled()
    row = page.locator("#webgpu-rows tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("the kernels of the model, in the order of the graph executor")
    expect(row).to_contain_text(re.compile(r"[\d.]+ (µs|ms)"))
    expect(row).to_contain_text(
        "all elements compared with the model on the server's CPU, 2 large weights being random"
    )
    [program] = programs
    launched = [launch["kernel"] for launch in program["steps"][0]["launches"]]
    assert len(launched) >= 6
    order = ["conv2d_nn_bias_add", "max_pool2d", "conv2d_nn_relu", "global_avg_pool2d", "dense", "softmax"]
    places = [next(at for at, kernel in enumerate(launched) if name in kernel) for name in order]
    assert places == sorted(places)
