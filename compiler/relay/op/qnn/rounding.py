"""The rounding mode and compute data type of ``qnn.requantize``."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.context_stack import Entered
from compiler.ir.error import expected
from compiler.relay.op_registry import composite
from compiler.target.cpu.cpu_features import has_sse41
from compiler.target.target import Target

__all__ = ["RequantizeConfig", "current_requantize_config", "requantize_config"]

ROUNDINGS = ("None", "UPWARD", "TONEAREST")
COMPUTE_DTYPES = ("None", "int64", "float32", "float64")
_DEFAULT_ROUNDING = "UPWARD"
_DEFAULT_DTYPE = "int64"


@dataclass(frozen=True)
class RequantizeConfig(Entered):
    """How calls of ``qnn.requantize`` compute whose attributes do not say it; current within a ``with`` block.

    Raises ArgumentError if one of them is something else.

    Parameters
    ----------
    rounding : str
        ``UPWARD`` for halves upward, ``TONEAREST`` for halves away from zero; ``None`` leaves the usual one, upward.
    compute_dtype : str
        ``int64``, ``float32`` or ``float64``; ``None`` leaves the usual one: ``float32`` for an x86 CPU that the target
        names and that has SSE 4.1, else ``int64``.
    """

    rounding: str = "None"
    compute_dtype: str = "None"

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDINGS:
            expected("requantize_config", "rounding", " or ".join(map(repr, ROUNDINGS)), self.rounding)
        if self.compute_dtype not in COMPUTE_DTYPES:
            expected("requantize_config", "compute_dtype", " or ".join(map(repr, COMPUTE_DTYPES)), self.compute_dtype)

    def completed(self) -> RequantizeConfig:
        """Return what counts where the current context and the current target decide about what is left open."""
        current = current_requantize_config()
        rounding, dtype = self.rounding, self.compute_dtype
        if rounding == "None":
            rounding = current.rounding if current.rounding != "None" else _DEFAULT_ROUNDING
        if dtype == "None":
            dtype = current.compute_dtype if current.compute_dtype != "None" else _usual_dtype()
        return RequantizeConfig(rounding, dtype)


def _usual_dtype() -> str:
    target = Target.current()
    fast = target is not None and bool(target.mcpu) and has_sse41(target.triple, target.cpu, target.llvm_features)
    return "float32" if fast else _DEFAULT_DTYPE


@composite
def requantize_config(rounding: str = "None", compute_dtype: str = "None") -> RequantizeConfig:
    """Return how ``qnn.requantize`` computes within a ``with`` block; see :class:`RequantizeConfig`.

    Examples
    --------
    >>> with relay.qnn.op.requantize_config(rounding="TONEAREST"):
    ...     built = relay.build(mod, "llvm")
    """
    return RequantizeConfig(rounding, compute_dtype)


@composite
def current_requantize_config() -> RequantizeConfig:
    """Return how ``qnn.requantize`` computes by the innermost ``with`` block, where its attributes do not say it."""
    return RequantizeConfig._innermost() or RequantizeConfig()
