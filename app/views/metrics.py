"""Numbers about the running server, for Prometheus."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING

from flask import Blueprint, Response, request

from app import __version__, counts
from app.errors import Forbidden
from app.sandbox import RemoteRunner
from app.services import Services, current_services
from app.views.health import storage_of

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

NO_LABELS: Mapping[str, str] = {}
bp = Blueprint("metrics", __name__)
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
"""Headers of a request that another machine may have sent through a proxy on this one."""


@bp.get("/metrics")
def metrics() -> Response:
    """Tell Prometheus how the server does; only this machine, or whoever has the token, may ask."""
    from prometheus_client import CollectorRegistry, ProcessCollector  # 20 ms, which no start waits for
    from prometheus_client.exposition import choose_encoder

    services = current_services()
    if not (_from_this_machine() or _has(services.config.metrics_token)):
        expected = "a request of this machine, or Authorization: Bearer with the value of STRATA_METRICS_TOKEN"
        raise Forbidden("the metrics are for the operator", expected=expected)
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    registry.register(_Collector(services))
    encode, media = choose_encoder(request.headers.get("Accept", ""))
    response = Response(encode(registry), content_type=media)
    response.headers["Cache-Control"] = "no-store"
    return response


def _from_this_machine() -> bool:
    """Whether a program of this machine asks, and not a proxy of it that the settings do not mention."""
    try:
        own = ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False
    return own and not any(name in request.headers for name in FORWARDED)


def _has(token: str) -> bool:
    given = request.headers.get("Authorization", "")
    return bool(token) and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


class _Collector:
    """Reads all numbers when Prometheus asks."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        """Yield what was counted, and how things are now."""
        for count in counts.EVERY:
            yield _counted(count)
        yield _timed(counts.WAITS)
        yield from self._queues()
        yield from self._memory()
        yield from self._storage()
        tier = self._services.runner.tier
        told = {"version": __version__, "sandbox": tier.name, "bounded_together": str(tier.bounded_together).lower()}
        yield _number("strata_info", "The version, and how scripts are isolated.", 1, told)
        if isinstance(self._services.runner, RemoteRunner):
            machines = len(self._services.runner.machines)
            yield _number("strata_machines", "Machines of the cluster that run scripts.", machines)

    def _queues(self) -> Iterator[Metric]:
        queues = {"compiling": self._services.compiling, "measuring": self._services.measuring}
        running = {name: queue.held for name, queue in queues.items()}
        waiting = {name: queue.waiting for name, queue in queues.items()}
        slots = {name: queue.capacity for name, queue in queues.items()}
        yield _gauge("strata_queue_running", "Jobs that hold a slot or are in overtime.", running, "queue")
        yield _gauge("strata_queue_waiting", "Requests that wait for a slot.", waiting, "queue")
        yield _gauge("strata_queue_slots", "Slots.", slots, "queue")

    def _memory(self) -> Iterator[Metric]:
        memory, links = self._services.memory, self._services.link_bytes
        held = {
            "bodies": memory.bodies.held,
            "incoming": memory.incoming.held,
            "cache": self._services.compiler.cached_bytes,
            "links": links.held,
        }
        limits = {
            "bodies": memory.bodies.total,
            "incoming": memory.incoming.total,
            "cache": memory.cache,
            "links": links.total,
        }
        yield _gauge("strata_memory_bytes", "Memory in use, by budget.", held, "budget")
        yield _gauge("strata_memory_limit_bytes", "Size of the budget.", limits, "budget")

    def _storage(self) -> Iterator[Metric]:
        storage = storage_of(self._services)
        if storage is None:
            return
        yield _number("strata_disk_free_bytes", "Free disk space of the data directory.", storage.free_bytes)
        yield _number("strata_uploads_bytes", "Disk space that uploaded files take.", storage.uploads_bytes)
        yield _number("strata_uploads_limit_bytes", "Disk space that they may take.", storage.uploads_limit)
        if storage.backup is not None:
            made = storage.backup.made.timestamp()
            yield _number("strata_backup_timestamp_seconds", "When the newest backup was made.", made)
            yield _number("strata_backup_links", "Links in the newest backup.", storage.backup.links)


def _counted(count: counts.Count) -> CounterMetricFamily:
    from prometheus_client.core import CounterMetricFamily

    out = CounterMetricFamily(count.name, count.text, labels=count.labels)
    for values, number in sorted(count.values.items()):
        out.add_metric(values, number)
    return out


def _timed(durations: counts.Durations) -> HistogramMetricFamily:
    from prometheus_client.core import HistogramMetricFamily

    out = HistogramMetricFamily(durations.name, durations.text, labels=[durations.label])
    bounds = [*map(str, durations.BOUNDS), "+Inf"]
    for kind, (numbers, total) in sorted(durations.values.items()):
        so_far = [sum(numbers[: end + 1]) for end in range(len(numbers))]
        out.add_metric([kind], list(zip(bounds, so_far, strict=True)), total)
    return out


def _gauge(name: str, text: str, values: Mapping[str, float], label: str) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    out = GaugeMetricFamily(name, text, labels=[label])
    for kind, number in values.items():
        out.add_metric([kind], number)
    return out


def _number(name: str, text: str, number: float, labels: Mapping[str, str] = NO_LABELS) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    out = GaugeMetricFamily(name, text, labels=list(labels))
    out.add_metric(list(labels.values()), number)
    return out
