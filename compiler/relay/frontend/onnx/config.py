"""Options of the conversion: ``from_onnx(convert_config=…)``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, fields

from compiler.ir.context_stack import setting
from compiler.ir.error import ArgumentError, did_you_mean, show


@dataclass(frozen=True, slots=True)
class ConvertConfig:
    """The options of a conversion.

    With ``use_nt_batch_matmul`` batched products become ``nn.batch_matmul(transpose_b=True)`` of a ``transpose``, as
    libraries prefer it.  The kernels here need no transposition.
    """

    use_nt_batch_matmul: bool = False


_DEFAULT = ConvertConfig()
_CURRENT: ContextVar[ConvertConfig] = ContextVar("_CURRENT", default=_DEFAULT)


def checked_config(given: Mapping[str, object] | None) -> ConvertConfig:
    """Create the options from a mapping, with defaults for the others."""
    if given is None:
        return _DEFAULT
    if not isinstance(given, Mapping):
        raise ArgumentError(f"from_onnx: convert_config must map options to values, got {show(given)}")
    options = [option.name for option in fields(ConvertConfig)]
    checked: dict[str, bool] = {}
    for name, value in given.items():
        if name not in options:
            raise ArgumentError(f"from_onnx: convert_config has no option {show(name)}{did_you_mean(name, options)}")
        if not isinstance(value, bool):
            raise ArgumentError(f"from_onnx: convert_config: {name} must be a bool, got {show(value)}")
        checked[name] = value
    return ConvertConfig(**checked)


def converting(config: ConvertConfig) -> AbstractContextManager[None]:
    """Make these options current within the context."""
    return setting(_CURRENT, config)


def current_config() -> ConvertConfig:
    """Return the options of the current conversion."""
    return _CURRENT.get()
