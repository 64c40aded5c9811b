"""Measures candidates on other machines: built here, compared there, each in a session that ends with its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from compiler.ir.error import ArgumentError, RPCError, RPCSessionTimeoutError
from compiler.ir.instrument import uninstrumented
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.runtime.modules.module import Module
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.rpc.client import RPCSession
from compiler.runtime.rpc.remote import RemoteModule
from compiler.search.measurer import REFUSALS, Build, Measurement, wrong_result
from compiler.search.pairing import Pairing, Patience, paired

_CORES_OF_ITS_OWN = 1
"""A mode of ``runtime.config_threadpool``."""


@dataclass
class RemoteMeasurer:
    """Measures kernels on the same arrays, on whatever machine each session is.

    Calling ``session`` begins a session.
    """

    arrays: Sequence[NumPyArray]
    session: Callable[[], RPCSession]
    threads: int = 1
    patience: Patience = field(default_factory=Patience)
    is_flushing: bool = False
    tolerance: float = 0.0
    _reference: bytes = field(default=b"", init=False)
    _expected: list[NumPyArray] = field(default_factory=list, init=False)

    def expect(self, build: Build) -> Measurement:
        """Take the default's results as what is to be computed, and the default as the reference."""
        try:
            self.refer(build)
            with self.session() as remote:
                copies = self._copies(remote)
                self._loaded(remote, "default", self._reference)(*copies)
                self._expected = [copy.view() for copy in copies]
        except REFUSALS as failed:
            return _failure(failed)
        return Measurement()

    def refer(self, build: Build) -> None:
        """Take another kernel as the reference."""
        self._reference = _code(build)

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        """Measure candidates beside the reference, in their order."""
        for build in builds:
            yield self._measured(build, patience or self.patience)

    def _measured(self, build: Build, patience: Patience) -> Measurement:
        started = time.process_time()
        try:
            code = _code(build)
            seconds = time.process_time() - started
            with self.session() as remote:
                return replace(self._compared(remote, code, patience), seconds=seconds)
        except REFUSALS as failed:
            return _failure(failed)

    def _compared(self, remote: RPCSession, code: bytes, patience: Patience) -> Measurement:
        kernel, reference = self._loaded(remote, "candidate", code), self._loaded(remote, "reference", self._reference)
        copies = self._copies(remote)
        kernel(*copies)
        if wrong := wrong_result([copy.view() for copy in copies], self._expected, self.tolerance):
            return Measurement("wrong", wrong)
        return Measurement(pairing=self._paired(remote, kernel, reference, copies, patience))

    def _paired(
        self,
        remote: RPCSession,
        kernel: RemoteModule,
        reference: RemoteModule,
        arguments: Sequence[NDArray],
        patience: Patience,
    ) -> Pairing:
        """Compare two kernels by turns that the server times: one is a measurement there."""
        flush = "cache_flush_cpu_non_first_arg" if self.is_flushing else ""
        milliseconds = round(patience.turn * 1e3)
        told = [0.0]

        def turns(module: RemoteModule) -> Callable[[], None]:
            evaluate = module.time_evaluator(
                module.entry_name, remote.cpu(), number=1, min_repeat_ms=milliseconds, f_preproc=flush
            )

            def turn() -> None:
                told[0] += evaluate(*arguments).mean

            return turn

        return paired(turns(kernel), turns(reference), replace(patience, turn=0.0), lambda: told[0])

    def _loaded(self, remote: RPCSession, name: str, code: bytes) -> RemoteModule:
        remote.get_function("runtime.config_threadpool")(_CORES_OF_ITS_OWN, self.threads)
        remote.upload(code, f"{name}.tar")
        return remote.load_module(f"{name}.tar")

    def _copies(self, remote: RPCSession) -> list[NDArray]:
        return [array(values, remote.cpu()) for values in self.arrays]


def _code(build: Build) -> bytes:
    with uninstrumented():
        built = build()
        if not isinstance(built, Module):
            raise ArgumentError("search: what is measured elsewhere must be a module")
        return built.exported("candidate.tar")


def _failure(error: Exception) -> Measurement:
    """Return what is to be known of a candidate without a time."""
    kind = "crashed" if isinstance(error, RPCError) else "refused"
    if isinstance(error, RPCSessionTimeoutError):
        kind = "hung"
    return Measurement(kind, f"{type(error).__name__}: {error}")
