"""How a graph is quantized: ``tvm.relay.quantize.qconfig``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from types import TracebackType

from compiler.ir.error import require_options
from compiler.relay.expr import Call
from compiler.relay.operator import op_name


class QAnnotateKind(IntEnum):
    """What a value is to the operator that takes it."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


_KIND_NAMES = {
    QAnnotateKind.INPUT: "input",
    QAnnotateKind.WEIGHT: "weight",
    QAnnotateKind.ACTIVATION: "activation",
    QAnnotateKind.IDENTITY: "identity",
}


def kind2str(kind: int) -> str:
    """Return the name of a kind as the options have it."""
    return _KIND_NAMES[QAnnotateKind(kind)]


@dataclass(frozen=True)
class QConfig:
    """The options of quantization; as a context manager it is the current one.

    Parameters
    ----------
    nbit_input, nbit_weight, nbit_activation : int
        Bits of each kind of value.
    calibrate_mode : {'global_scale', 'kl_divergence', 'percentile'}
        How the scales of inputs are found; ``global_scale`` is the greatest magnitude of all inputs, for that mode.
    weight_scale : {'power2', 'max'}
        Whether the scale of a weight is a power of two.
    skip_dense_layer : bool
        Leave ``nn.dense`` in floating point.
    skip_conv_layers : sequence of int, optional
        The numbers of convolutions that stay in floating point; None for none.
    do_simulation : bool
        Leave the graph in floating point with the error of quantization.
    round_for_shift : bool
        Round to nearest before shifting to the right.
    debug_enabled_ops : sequence of str, optional
        The only operators that are realized as integers.
    rounding : {'UPWARD', 'TONEAREST'}
        Whether scales are multiplied in fixed point, or in floating point.
    calibrate_chunk_by : int
        How many values are collected at a time; all for -1.
    partition_conversions : {'disabled', 'enabled', 'fully_integral'}
        Whether conversions from and to floating point become functions of their own, and whether what is between them
        must be integral throughout.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    def get_nbit_by_kind(self, kind: int) -> int:
        """Return the bits of a kind of value."""
        bits: int = getattr(self, f"nbit_{kind2str(kind)}")
        return bits

    def get_dtype_by_kind(self, kind: int) -> str:
        """Return the data type of a kind of value."""
        dtype: str = getattr(self, f"dtype_{kind2str(kind)}")
        return dtype

    def __enter__(self) -> QConfig:
        _CURRENT.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _CURRENT.pop()


_CURRENT = [QConfig()]
_MISSPELT = {"paritition_conversions": "partition_conversions", "skip_dense_layers": "skip_dense_layer"}
"""Options that programs misspell, which TVM ignores."""


def qconfig(**kwargs: object) -> QConfig:
    """Return options of quantization (:class:`QConfig`), for a ``with``; those left out have their defaults.

    Raises ArgumentError if there is no such option.
    """
    given = {name: value for name, value in kwargs.items() if name not in _MISSPELT}
    require_options("qconfig", given, [field.name for field in fields(QConfig)])
    return QConfig(**given)  # type: ignore[arg-type]


def current_qconfig() -> QConfig:
    """Return the options of the innermost ``with qconfig(...)``."""
    return _CURRENT[-1]


class QuantizeContext:
    """Which operators were annotated so far, and whether annotation has ended."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self._convolutions = 0
        self._stopped = False

    def check_to_skip(self, ref_call: Call) -> bool:
        """Return whether an operator stays in floating point by the current options, and count it."""
        config, name = current_qconfig(), op_name(ref_call)
        if self._stopped:
            return True
        if name == "nn.conv2d" and config.skip_conv_layers is not None:
            self._convolutions += 1
            return self._convolutions - 1 in [int(number) for number in config.skip_conv_layers]
        return name == "nn.dense" and bool(config.skip_dense_layer)

    def stop_quantize(self) -> None:
        """Let all operators from here on stay in floating point."""
        self._stopped = True

    def __enter__(self) -> QuantizeContext:
        self.reset()
        return self

    def __exit__(self, *exc: object) -> None:
        """End nothing: what was counted stays until the next time."""


_CONTEXT = QuantizeContext()


def quantize_context() -> QuantizeContext:
    """Return the one context that programs share; ``with`` begins it anew."""
    return _CONTEXT
