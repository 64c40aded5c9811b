"""Models of PyTorch from files: what is read, and what is said of files that hold something else."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.relay.frontend.pytorch import ModelError

torch = pytest.importorskip("torch")
SHAPE = (2, 3, 6, 6)


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 5))


def stored(save: Callable[[Any, io.BytesIO], None], value: Any) -> bytes:
    file = io.BytesIO()
    save(value, file)
    return file.getvalue()


def script_file() -> bytes:
    return stored(torch.jit.save, torch.jit.trace(model().eval(), torch.zeros(SHAPE)))


def program_file() -> bytes:
    return stored(torch.export.save, torch.export.export(model().eval(), (torch.zeros(SHAPE),)))


@pytest.mark.parametrize("make", [script_file, program_file])
def test_a_file_is_read_with_the_shapes_that_it_names(make: Callable[[], bytes], tmp_path: Path) -> None:
    data = make()
    path = tmp_path / "model.pt"
    path.write_bytes(data)
    x = np.random.default_rng(0).standard_normal(SHAPE).astype("float32")
    expected = model().eval()(torch.from_numpy(x)).detach().numpy()
    for source in (data, path, str(path)):
        mod, params = relay.frontend.from_pytorch(source)
        (first, *_) = mod["main"].params
        assert tuple(int(d) for d in first.checked_type.shape) == SHAPE
        result = relay.create_executor("debug", mod=mod).evaluate()(x, **params)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_scripted_model_does_not_know_its_shapes() -> None:
    data = stored(torch.jit.save, torch.jit.script(torch.nn.ReLU()))
    with pytest.raises(ArgumentError, match="does not specify the shape of its input 'input': give input_infos"):
        relay.frontend.from_pytorch(data)
    mod, _ = relay.frontend.from_pytorch(data, [("x", (3,))])
    assert "nn.relu" in str(mod)


@pytest.mark.parametrize("make", [script_file, program_file])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_file_is_named(make: Callable[[], bytes], share: float) -> None:
    data = make()
    with pytest.raises(ModelError, match=r"from_pytorch: the model \([\d,]+ bytes\) (is damaged|is not a model)"):
        relay.frontend.from_pytorch(data[: int(len(data) * share)])


@pytest.mark.parametrize("make", [script_file, program_file])
def test_an_archive_that_lacks_a_member_is_named(make: Callable[[], bytes]) -> None:
    whole = zipfile.ZipFile(io.BytesIO(make()))
    kinds = ("constants.pkl", "archive_format")
    for lacking in whole.namelist():
        if ("/data/" not in lacking and not lacking.endswith(("data.pkl", "model.json"))) or lacking.endswith(kinds):
            continue
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name in whole.namelist():
                if name != lacking:
                    archive.writestr(name, whole.read(name))
        with pytest.raises(ModelError, match=r"from_pytorch: the model .* is damaged"):
            relay.frontend.from_pytorch(file.getvalue(), [("x", SHAPE)])


class Mark:
    """A pickle that calls a function of this machine when it is read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_a_pickle_is_not_executed(tmp_path: Path) -> None:
    path = tmp_path / "executed"
    for data in (stored(torch.save, Mark(str(path))), stored(torch.save, model().state_dict())):
        with pytest.raises(ModelError, match="holds weights or a pickled module: store the program itself"):
            relay.frontend.from_pytorch(data)
    archive = zipfile.ZipFile(io.BytesIO(script_file()))
    hostile = io.BytesIO()
    pickled = zipfile.ZipFile(io.BytesIO(stored(torch.save, Mark(str(path)))))
    with zipfile.ZipFile(hostile, "w") as forged:
        for name in archive.namelist():
            forged.writestr(name, pickled.read("archive/data.pkl") if name.endswith("data.pkl") else archive.read(name))
    with pytest.raises(ModelError, match="is damaged"):
        relay.frontend.from_pytorch(hostile.getvalue(), [("x", SHAPE)])
    assert not path.exists()


def test_pickles_within_an_exported_program_are_not_executed(tmp_path: Path) -> None:
    """PyTorch's own reader would load examples of inputs, some weights and opaque objects as any pickles."""
    path = tmp_path / "executed"
    archive = zipfile.ZipFile(io.BytesIO(program_file()))
    names = archive.namelist()
    (constants,) = (name for name in names if name.endswith("constants_config.json"))
    (weights,) = (name for name in names if name.endswith("weights_config.json"))
    opaque = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
    pickled = json.loads(archive.read(weights))
    for entry in pickled["config"].values():
        entry["use_pickle"] = True
    mark, tensors = pickle.dumps(Mark(str(path))), stored(torch.save, Mark(str(path)))
    forgeries: list[dict[str, bytes]] = [
        {name: payload}
        for name in names
        if "weight_" in name or name.endswith("model.pt")
        for payload in (mark, tensors)
    ]
    forgeries += [
        {weights: json.dumps(pickled).encode(), **{name: tensors for name in names if "weight_" in name}},
        {
            constants: json.dumps({"config": {"c": opaque}}).encode(),
            f"{constants.rpartition('/')[0]}/opaque_obj_0": mark,
        },
    ]
    for forgery in forgeries:
        hostile = io.BytesIO()
        with zipfile.ZipFile(hostile, "w") as forged:
            for name in dict.fromkeys([*names, *forgery]):
                forged.writestr(name, forgery[name] if name in forgery else archive.read(name))
        with contextlib.suppress(ModelError):  # what stands for numbers may be read as such
            relay.frontend.from_pytorch(hostile.getvalue())
        assert not path.exists()


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'.*none\.pt' cannot be read: No such file"):
        relay.frontend.from_pytorch(tmp_path / "none.pt")
    with pytest.raises(ModelError, match="a pickle of an old"):
        relay.frontend.from_pytorch(b"\x80\x02}q\x00.")
    with pytest.raises(ArgumentError, match="script_module must be"):
        relay.frontend.from_pytorch(3)


def test_a_file_is_read_whatever_it_says_of_its_lines() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(script_file())) as archive, zipfile.ZipFile(data, "w") as damaged:
        names = archive.namelist()
        for name in names:
            content = archive.read(name)
            damaged.writestr(name, b"\xff" * len(content) if name.endswith(".debug_pkl") else content)
    assert any(name.endswith(".debug_pkl") for name in names)
    mod, _ = relay.frontend.from_pytorch(data.getvalue())
    assert "nn.conv2d" in str(mod)


def test_a_program_without_operators_in_place_is_not_traced_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = torch.export.export(model().eval(), (torch.zeros(SHAPE),))

    class InPlace(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.clone().add_(1)

    changing = torch.export.export(InPlace(), (torch.zeros(SHAPE),))

    def refuse(*_: object) -> None:
        raise RuntimeError("traced anew")

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", refuse)
    relay.frontend.from_pytorch(plain)
    with pytest.raises(RuntimeError, match="traced anew"):
        relay.frontend.from_pytorch(changing)
