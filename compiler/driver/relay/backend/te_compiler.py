"""The compiler of kernels, under TVM's name for it: ``tvm.relay.backend.te_compiler``."""

from __future__ import annotations

from compiler.driver.relay.kernels import clear_cache
from compiler.relay.op_strategy import get_valid_implementations, select_implementation

__all__ = ["TECompiler", "get", "get_valid_implementations", "select_implementation"]


class TECompiler:
    """What makes kernels of fused functions, and keeps those that it has made."""

    def clear(self) -> None:
        """Forget the kernels that were made."""
        clear_cache()


_COMPILER = TECompiler()


def get() -> TECompiler:
    """Return the compiler of kernels; there is one.

    Returns
    -------
    TECompiler
    """
    return _COMPILER
