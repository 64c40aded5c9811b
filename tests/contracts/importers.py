"""How many operators each importer converts: ``python -m tests.contracts.importers`` prints the table of the README."""

from __future__ import annotations

import importlib

IMPORTERS = {
    "compiler.relay.frontend.onnx": "`from_onnx`",
    "compiler.relay.frontend.pytorch": "`from_pytorch`",
    "compiler.classic.frontend.tflite": "`from_tflite`",
    "compiler.classic.frontend.tensorflow": "`from_tensorflow`",
    "compiler.classic.frontend.keras": "`from_keras`",
}


def counts() -> dict[str, int]:
    """Return the number of operators in the table of each importer whose extra is installed."""
    numbers = {}
    for package in IMPORTERS:
        try:
            importlib.import_module(f"{package}.converters")
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "tflite"):
                raise
            continue
        numbers[package] = len(importlib.import_module(f"{package}.registry").supported())
    return numbers


if __name__ == "__main__":
    for package, number in counts().items():
        print(f"| {IMPORTERS[package]} | {number} |")
