"""The inputs and outputs of the parts that external compilers get."""

from __future__ import annotations

import numpy as np

from compiler import relay
from compiler.classic.relay.calibration_data import get_calibration_data
from compiler.ir import IRModule
from compiler.relay.transform import InferType


def _part(mod: IRModule, name: str, combine: object) -> relay.GlobalVar:
    x, y = (relay.var(n, shape=(2, 3)) for n in "xy")
    body = combine(x, y)  # type: ignore[operator]
    var = relay.GlobalVar(name)
    mod[var] = relay.Function([x, y], body).with_attr("Compiler", "elsewhere")
    return var


def test_every_part_is_observed() -> None:
    mod = IRModule()
    first = _part(mod, "first", lambda x, y: relay.Tuple([x + y, x - y]))
    second = _part(mod, "second", lambda x, y: x * y)
    x, y, z = (relay.var(n, shape=(2, 3)) for n in "xyz")
    both = first(x, y)
    mod["main"] = relay.Function([x, y, z], relay.exp(second(relay.TupleGetItem(both, 1), z)))
    mod = InferType()(mod)
    values = {n: np.random.default_rng(i).normal(size=(2, 3)).astype("float32") for i, n in enumerate("xyz")}
    data = {var.name_hint: seen for var, seen in get_calibration_data(mod, values).items()}
    total, difference = values["x"] + values["y"], values["x"] - values["y"]
    expected = {
        "first": {"inputs": [values["x"], values["y"]], "outputs": [total, difference]},
        "second": {"inputs": [difference, values["z"]], "outputs": [difference * values["z"]]},
    }
    assert data.keys() == expected.keys()
    for name, seen in expected.items():
        for kind, arrays in seen.items():
            assert len(data[name][kind]) == len(arrays)
            for got, wanted in zip(data[name][kind], arrays, strict=True):
                np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)
