"""Searching for schedules: ``tvmc.tune``."""

from __future__ import annotations

from typing import NoReturn

from compiler.driver.tvmc.model import TVMCModel
from compiler.ir.error import UnavailableError

__all__ = ["tune_model"]


def tune_model(tvmc_model: TVMCModel, target: object = "llvm", **options: object) -> NoReturn:
    """Search for schedules, which does not exist here: kernels have the schedules of ``topi``.

    Parameters
    ----------
    tvmc_model : TVMCModel
    target : str or Target
    **options
        As TVM takes them.

    Raises
    ------
    UnavailableError
        Always.
    """
    raise UnavailableError("tvmc.tune: schedules are not searched for yet; kernels have the schedules of topi")
