"""Running models of PyTorch as the importer converts them, beside PyTorch itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from compiler import relay

torch = pytest.importorskip("torch")


class Calling(torch.nn.Module):
    """A model of one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def traced(model: Any, inputs: Sequence[Any]) -> Any:
    """Return the trace of a module or function."""
    module = model.eval() if isinstance(model, torch.nn.Module) else Calling(model)
    return torch.jit.trace(module, tuple(x.clone() for x in inputs), check_trace=False)


def infos(inputs: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return the shapes and data types of inputs, as the importer takes them."""
    return [(f"x{i}", (tuple(x.shape), str(x.dtype).removeprefix("torch."))) for i, x in enumerate(inputs)]


def flat(value: Any) -> list[Any]:
    """Return the arrays in a nested result, in order."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if not hasattr(value, "numpy") and hasattr(value, "__len__"):
        return [array for item in value for array in flat(item)]
    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    return [np.asarray(value.numpy() if hasattr(value, "numpy") else value)]


def compare(script: Any, inputs: Sequence[Any], rtol: float = 1e-4, atol: float = 1e-5, kind: str = "debug") -> None:
    """Compare what an imported model computes with what PyTorch does."""
    with torch.no_grad():
        expected = flat(
            (script.module() if isinstance(script, torch.export.ExportedProgram) else script)(
                *(x.clone() for x in inputs)
            )
        )
    mod, params = relay.frontend.from_pytorch(script, infos(inputs))
    run = relay.create_executor(kind, mod=mod).evaluate()
    results = flat(run(*(x.numpy() for x in inputs), **{name: value.numpy() for name, value in params.items()}))
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert result.shape == reference.shape
        assert result.dtype == reference.dtype
        np.testing.assert_allclose(result, reference, rtol=rtol, atol=atol)
