"""Restricted unpickling for processes of the cluster, by an allowlist of names.

Dask sends functions, errors and a few of its own types as pickles, and reads all of them by one function.  Here that
function is given an unpickler that finds nothing else, so that neither a server nor a machine runs what another that
can reach the scheduler makes up.  A scheduler is protected by ``dask scheduler --preload app.cluster.pickles``.
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
"""What joining, submitting :func:`app.cluster.host.perform` and hearing of its failure takes."""


class _Unpickler(pickle.Unpickler):
    """Finds the names of the allowlist, and exceptions of Python's own."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names.

        Raises
        ------
        UnpicklingError
            It is not in the allowlist.
        """
        kind = getattr(builtins, name, None) if module == "builtins" else None
        if (module, name) in _NAMES or (isinstance(kind, type) and issubclass(kind, Exception)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} may not be unpickled")


class _Pickles:
    """The functions of the module :mod:`pickle` that Dask uses, with the restricted unpickler."""

    HIGHEST_PROTOCOL = pickle.HIGHEST_PROTOCOL
    Pickler = pickle.Pickler
    dumps = staticmethod(pickle.dumps)

    @staticmethod
    def loads(data: bytes, *, buffers: Iterable[Any] = ()) -> Any:
        """Return what a pickle holds."""
        return _Unpickler(io.BytesIO(data), buffers=buffers).load()


def restrict() -> None:
    """Let this process unpickle nothing but the allowlist where Dask reads messages."""
    distributed.protocol.pickle.pickle = _Pickles


def dask_setup(_node: object, _arguments: Sequence[str] = ()) -> None:
    """Be the preload module of a scheduler."""
    restrict()
