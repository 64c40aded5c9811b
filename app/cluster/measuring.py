"""Measures the candidates of a search on the machines of a cluster: built, checked and compared there, each a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import msgspec

from app.artifacts import Options
from app.protocol import Message, Request
from app.sandbox import Job, Limits, Machine, SandboxError
from app.sandbox.files import Files
from app.searches import Paired, PairSettings
from compiler.ir.base import save_json
from compiler.ir.error import ArgumentError
from compiler.search import Measurement, Pairing, Patience
from compiler.search.measurer import Build, program_of

LIMITS = Limits(wall_seconds=240.0, cpu_seconds=30.0)
STARTS = 4
"""How often a candidate is measured whose machine went away; the cluster itself tries another one, too."""
KINDS = {"timeout": "hung"}
"""What a measurement calls the ways in which jobs end; any other one is a crash."""


class Machines(Protocol):
    """What measures: a :class:`~app.cluster.runner.Cluster`."""

    @property
    def machines(self) -> list[Machine]:
        """The machines that are there now."""

    def start(self, request: bytes, files: Files | None, limits: Limits | None, cpu: str) -> Job:
        """Start a job on a machine with a certain processor."""


class ClusterMeasurer:
    """Measures on machines with one kind of processor, each candidate beside the reference on whichever has a slot.

    Arrays are drawn there. Raises SandboxError if no machine has the processor.

    Parameters
    ----------
    processor
        The kind, which records name; that of most machines if left out.
    """

    def __init__(self, cluster: Machines, target: str, threads: int, processor: str = "") -> None:
        kinds = [machine.cpu for machine in cluster.machines]
        if not kinds or (processor and processor not in kinds):
            raise SandboxError(f"no machine of the cluster has the processor {processor}; there are {kinds}")
        self.processor = processor or max(sorted(set(kinds)), key=kinds.count)
        self._cluster, self._target, self._threads = cluster, target, threads
        self._places = len(kinds)
        self._reference = ""

    def expect(self, build: Build) -> Measurement:
        """Take the default as the reference, if it can be built and run."""
        self.refer(build)
        (found,) = self.measure([build])
        return Measurement(found.kind, found.message)

    def refer(self, build: Build) -> None:
        """Take another program as the reference."""
        self._reference = save_json(program_of(build))

    def measure(self, builds: Sequence[Build], patience: Patience | None = None) -> Iterator[Measurement]:
        """Measure candidates beside the reference, as many at a time as there are machines; yield in their order."""
        requests = [self._request(build, patience or Patience()) for build in builds]
        with ThreadPoolExecutor(max(self._places, 1), thread_name_prefix="measuring") as pool:
            yield from pool.map(self._measured, requests)

    def _request(self, build: Build, patience: Patience) -> bytes:
        pair = PairSettings(target=self._target, **vars(patience))
        program, options = save_json(program_of(build)), Options(threads=self._threads)
        request = Request(mode="pair", program=program, original=self._reference, options=options, pair=pair)
        return msgspec.json.encode(request)

    def _measured(self, request: bytes) -> Measurement:
        """Return what came of a candidate; one that is lost with its machine is measured on another."""
        limits = msgspec.structs.replace(LIMITS, own_cpus=self._threads)
        detail = ""
        for _ in range(STARTS):
            job = self._cluster.start(request, None, limits, self.processor)
            said = [msgspec.json.decode(message, type=Message) for message in job.messages()]
            outcome = job.outcome
            if (machine := outcome.machine) is not None and machine.cpu != self.processor:
                raise ArgumentError(f"search: {machine.host} has the processor {machine.cpu}, not {self.processor}")
            if outcome.status == "ok" and said and isinstance(said[-1], Paired):
                return _measurement(said[-1])
            detail = outcome.detail
            if outcome.status not in ("lost", "setup"):
                return Measurement(KINDS.get(outcome.status, "crashed"), detail or outcome.status)
        raise SandboxError(f"the machines went away while they measured: {detail}")


def _measurement(told: Paired) -> Measurement:
    pairing = Pairing(told.ratio, told.error, told.seconds, told.reference, tuple(told.times)) if told.times else None
    return Measurement(told.kind, told.message, pairing, told.building, told.compared)
