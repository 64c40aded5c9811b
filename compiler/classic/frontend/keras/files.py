"""Loading of model files with Keras."""

from __future__ import annotations

import os
import zipfile
from importlib.util import find_spec
from typing import TYPE_CHECKING

from compiler.relay.frontend.shared.errors import ModelError

if find_spec("tensorflow") is None:
    # Keras defaults to the TensorFlow backend; the extra installs PyTorch instead.
    os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

if TYPE_CHECKING:
    from compiler.classic.frontend.keras.reader import Model


def load(path: str | os.PathLike[str]) -> Model:
    """Load a model from a ``.keras`` or ``.h5`` file."""
    name = os.fspath(path)
    if name.endswith(".keras") and os.path.isfile(name) and not zipfile.is_zipfile(name):
        raise ModelError(f"from_keras: {name!r} cannot be read: a .keras file is a zip archive, and this one is not")
    try:
        model: Model = keras.saving.load_model(path, compile=False, safe_mode=True)
        return model
    except Exception as exc:  # Keras, zipfile, json and h5py raise different errors for a damaged file
        raise ModelError(f"from_keras: {name!r} cannot be read: {exc}") from None
