"""What ``relay.build`` returns, under TVM's names: ``tvm.relay.backend.executor_factory``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from compiler.driver.relay.aot.factory import AOTExecutorFactoryModule
from compiler.runtime.graph_factory import GraphExecutorFactory as GraphExecutorFactoryModule
from compiler.runtime.ndarray import NDArray

__all__ = ["AOTExecutorFactoryModule", "ExecutorFactoryModule", "GraphExecutorFactoryModule"]


@runtime_checkable
class ExecutorFactoryModule(Protocol):
    """What ``relay.build`` returns, whichever executor it was asked for.

    Attributes
    ----------
    libmod_name : str
        The name that the model was built under.
    """

    libmod_name: str

    def get_params(self) -> Mapping[str, NDArray]:
        """Return the constants of the model by name.

        Returns
        -------
        mapping of str to NDArray
        """

    def export_library(self, file_name: str, **options: object) -> None:
        """Write the model to a file that ``tvm.runtime.load_module`` reads.

        Parameters
        ----------
        file_name : str
        **options
            Accepted as TVM does.
        """
