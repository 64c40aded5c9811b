"""How many operators each importer converts: ``python -m tests.contracts.importers`` prints the table of the README."""

from __future__ import annotations

import importlib

IMPORTERS = {
    "onnx": "`from_onnx`",
    "pytorch": "`from_pytorch`",
    "tflite": "`from_tflite`",
    "tensorflow": "`from_tensorflow`",
    "keras": "`from_keras`",
}


def counts() -> dict[str, int]:
    """Return the number of operators in the table of each importer whose extra is installed."""
    numbers = {}
    for folder in IMPORTERS:
        package = f"compiler.relay.frontend.{folder}"
        try:
            importlib.import_module(f"{package}.converters")
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "tflite"):
                raise
            continue
        numbers[folder] = len(importlib.import_module(f"{package}.registry").supported())
    return numbers


if __name__ == "__main__":
    for folder, number in counts().items():
        print(f"| {IMPORTERS[folder]} | {number} |")
