"""Restricted unpickling for processes of the cluster, by an allowlist of names.

Dask pickles functions, errors and a few of its own types, and loads all of them with one function.  This module
replaces the unpickler of that function by a restricted one, so that a peer that can reach the scheduler cannot execute
arbitrary code on a server or machine.  To protect a scheduler, run ``dask scheduler --preload app.cluster.pickles``.
"""

from __future__ import annotations

import builtins
import io
import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import distributed.protocol.pickle

_NAMES = frozenset(
    {
        ("app.cluster.host", "perform"),
        ("builtins", "bytes"),
        ("builtins", "NoneType"),
        ("dask._expr", "Expr._reconstruct"),
        ("dask._expr", "HLGExpr"),
        ("dask._expr", "LLGExpr"),
        ("dask._task_spec", "Task"),
        ("distributed.scheduler", "KilledWorker"),
        ("distributed.scheduler", "NoValidWorkerError"),
        ("distributed.shuffle._worker_plugin", "ShuffleWorkerPlugin"),
        ("tblib", "Code"),
        ("tblib", "Frame"),
        ("tblib", "Traceback"),
        ("tblib.pickling_support", "unpickle_exception"),
        ("tblib.pickling_support", "unpickle_exception_with_attrs"),
        ("tblib.pickling_support", "unpickle_traceback"),
    }
)
"""The names needed for joining, for submitting :func:`app.cluster.host.perform`, and for receiving its errors."""


class _Unpickler(pickle.Unpickler):
    """An unpickler that finds only the names of the allowlist and built-in exceptions."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the global that a pickle refers to.

        Raises
        ------
        UnpicklingError
            If the name is not in the allowlist.
        """
        kind = getattr(builtins, name, None) if module == "builtins" else None
        if (module, name) in _NAMES or (isinstance(kind, type) and issubclass(kind, Exception)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} may not be unpickled")


class _Pickles:
    """The subset of the :mod:`pickle` module that Dask uses, with the restricted unpickler."""

    HIGHEST_PROTOCOL = pickle.HIGHEST_PROTOCOL
    Pickler = pickle.Pickler
    dumps = staticmethod(pickle.dumps)

    @staticmethod
    def loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:
        """Unpickle an object, allowing only names of the allowlist."""
        return _Unpickler(io.BytesIO(data), buffers=buffers).load()


def restrict() -> None:
    """Install the restricted unpickler for the Dask messages of this process."""
    distributed.protocol.pickle.pickle = _Pickles


def dask_setup(_node: object, _arguments: Sequence[str] = ()) -> None:
    """Preload hook of ``dask scheduler --preload``."""
    restrict()
