"""Files of Keras, which Keras itself reads."""

from __future__ import annotations

import os
import zipfile
from importlib.util import find_spec
from typing import TYPE_CHECKING

from compiler.relay.frontend.shared.errors import ModelError

if find_spec("tensorflow") is None:
    # Keras computes with TensorFlow where nothing else is said; the extra installs PyTorch for it.
    os.environ.setdefault("KERAS_BACKEND", "torch")
import keras

if TYPE_CHECKING:
    from compiler.relay.frontend.keras.reader import Model

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Model:
    """Return the model in a file, ``.keras`` or ``.h5``.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    ModelError
        If it cannot be read.
    """
    name = os.fspath(path)
    if name.endswith(".keras") and os.path.isfile(name) and not zipfile.is_zipfile(name):
        raise ModelError(f"from_keras: {name!r} cannot be read: a .keras file is a zip archive, and this one is not")
    try:
        model: Model = keras.saving.load_model(path, compile=False, safe_mode=True)
        return model
    except Exception as exc:  # Keras, zipfile, json and h5py each have errors of their own for a damaged file
        raise ModelError(f"from_keras: {name!r} cannot be read: {exc}") from None
