"""SavedModels of both generations of TensorFlow, as 2.21 wrote them, and what is said of damaged ones."""

from __future__ import annotations

import io
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow import ModelError, saved_model
from compiler.ir.error import TVMError

DATA = Path(__file__).parent / "data"
INDEX = "v2/variables/variables.index"
SHARD = "v2/variables/variables.data-00000-of-00001"


def run(model: Any, x: Any) -> Any:
    mod, params = relay.frontend.from_tensorflow(model)
    return relay.create_executor("debug", mod=mod).evaluate()(x, **params)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A module whose two layers have variables of the same name, in its folder."""
    with zipfile.ZipFile(DATA / "saved_v2.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_functions_with_variables_compute_what_tensorflow_did(tmp_path: Path) -> None:
    recorded = np.load(DATA / "saved_v2.npz")
    shutil.unpack_archive(DATA / "saved_v2.zip", tmp_path)
    archive = DATA / "saved_v2.zip"
    for source in (archive, archive.read_bytes(), tmp_path / "v2", str(tmp_path / "v2" / "saved_model.pb")):
        logits, scores = run(source, recorded["x"])
        np.testing.assert_allclose(logits.numpy(), recorded["logits"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(scores.numpy(), recorded["scores"], rtol=1e-5, atol=1e-6)


def test_functions_may_be_bound_to_other_handles_than_those_that_are_restored() -> None:
    """So ``tf.saved_model.save`` writes a model of Keras 3."""
    recorded = np.load(DATA / "saved_keras.npz")
    result = run(DATA / "saved_keras.zip", recorded["x"])
    np.testing.assert_allclose(result.numpy(), recorded["y"], rtol=1e-5, atol=1e-6)


def test_variables_become_parameters_by_their_names() -> None:
    _, params = relay.frontend.from_tensorflow(DATA / "saved_v2.zip")
    assert {name: value.shape for name, value in params.items()} == {"w": (6, 6), "w_1": (6, 6), "b": (6,)}


def test_sessions_of_the_first_generation_are_read() -> None:
    """``y = relu(x @ a + b)``, where a variable is a reference and the other a resource."""
    x = np.array([[1, -2, 3, 0.5]], "float32")
    expected = x @ np.arange(12, dtype="float32").reshape(4, 3) + np.arange(3, dtype="float32")
    np.testing.assert_allclose(run(DATA / "saved_v1.zip", x).numpy(), np.maximum(expected, 0), rtol=1e-6)


def test_what_is_missing_is_named(files: dict[str, bytes], tmp_path: Path) -> None:
    graph = files["v2/saved_model.pb"]
    with pytest.raises(
        ModelError, match=r"has 4 variables, but no variables/variables.index: give the whole directory"
    ):
        relay.frontend.from_tensorflow(graph)
    with pytest.raises(ModelError, match=r"is not a SavedModel: it has no saved_model\.pb"):
        relay.frontend.from_tensorflow(tmp_path)
    with pytest.raises(ModelError, match=r"has no variables/variables.data-00000-of-00001"):
        relay.frontend.from_tensorflow(packed({k: v for k, v in files.items() if k != SHARD}))
    with pytest.raises(ModelError, match=r"must hold one SavedModel, with its saved_model.pb; found 0"):
        relay.frontend.from_tensorflow(packed({"notes.txt": b"nothing"}))


def test_damage_is_named(files: dict[str, bytes]) -> None:
    with pytest.raises(ModelError, match="is a damaged ZIP archive; its end may be missing"):
        relay.frontend.from_tensorflow(packed(files)[:-30])
    with pytest.raises(ModelError, match=r"variable '.*' of shape .* claims .* bytes at byte"):
        relay.frontend.from_tensorflow(packed(files | {SHARD: files[SHARD][:20]}))
    with pytest.raises(ModelError, match=r"the index of the checkpoint \(.* bytes\) is not one, or is truncated"):
        relay.frontend.from_tensorflow(packed(files | {INDEX: files[INDEX][:-9]}))
    with pytest.raises(ModelError, match=r"saved_model.pb of the graph is damaged"):
        relay.frontend.from_tensorflow(packed(files | {"v2/saved_model.pb": files["v2/saved_model.pb"][:-9]}))


def varint(number: int) -> bytes:
    return (bytes([number & 127 | 128]) + varint(number >> 7)) if number > 127 else bytes([number])


def block(*entries: tuple[int, bytes, bytes]) -> bytes:
    """Return a block of a table; each entry says how much of the key before it its own begins with."""
    heads = (varint(shared) + varint(len(key)) + varint(len(value)) for shared, key, value in entries)
    contents = (head + key + value for head, (_, key, value) in zip(heads, entries, strict=True))
    return b"".join(contents) + struct.pack("<I", 0)


def table(data: bytes, times: int = 1) -> bytes:
    """Return a table that names its only block of data so many times."""
    places = block(*[(0, b"k", varint(0) + varint(len(data)))] * times)
    footer = varint(0) + varint(0) + varint(len(data) + 5) + varint(len(places))
    return data + bytes(5) + places + bytes(5) + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def test_a_small_index_does_not_grow(files: dict[str, bytes]) -> None:
    longer = block(*((length, b"a", b"") for length in range(12_000)))
    with pytest.raises(ModelError, match="the keys of the checkpoint take more than 67,108,864 bytes"):
        relay.frontend.from_tensorflow(packed(files | {INDEX: table(longer)}))
    with pytest.raises(ModelError, match="the index of the checkpoint is damaged: blocks overlap at byte 0"):
        relay.frontend.from_tensorflow(packed(files | {INDEX: table(block((0, b"a", b"")), times=2)}))


def test_what_would_take_much_memory_is_refused(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sum(map(len, files.values()))
    monkeypatch.setattr(saved_model, "MAX_UNPACKED", whole - 1)
    with pytest.raises(ModelError, match=rf"holds {whole:,} bytes when unpacked; {whole - 1:,} are allowed"):
        relay.frontend.from_tensorflow(packed(files))
    monkeypatch.setattr(saved_model, "MAX_UNPACKED", 100)
    with pytest.raises(ModelError, match="the variables hold more than 100 bytes together"):
        saved_model.freeze(lambda name: files.get(f"v2/{name}"), "the model")


def test_names_in_an_archive_lead_nowhere(files: dict[str, bytes], tmp_path: Path) -> None:
    """They are looked up in the archive, and never opened."""
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "variables.index").write_bytes(files[INDEX])
    graph = files["v2/saved_model.pb"]
    with pytest.raises(ModelError, match=r"has 4 variables, but no variables/variables\.index"):
        relay.frontend.from_tensorflow(packed({f"{tmp_path}/saved_model.pb": graph}))
    with pytest.raises(ModelError, match=r"has 4 variables, but no variables/variables\.index"):
        relay.frontend.from_tensorflow(packed({"../../saved_model.pb": graph}))


def test_an_index_with_a_changed_byte_is_read_or_refused(files: dict[str, bytes]) -> None:
    rng = np.random.default_rng(0)
    said = []
    for _ in range(60):
        index = bytearray(files[INDEX])
        index[rng.integers(len(index))] = rng.integers(256)
        try:
            relay.frontend.from_tensorflow(packed(files | {INDEX: bytes(index)}))
        except TVMError as error:
            said.append(str(error))
    assert 10 < len(said) < 60
    assert all(message.startswith("from_tensorflow: ") for message in said), said
