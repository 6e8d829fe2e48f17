"""What `/metrics` says: requests of this process, and the state of the work as the database has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.db import DatabaseError, connection
from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from checkpoints import doorbell, waiting
from checkpoints.services.health import worker_age_seconds
from checkpoints.services.sealing import unsealed_seconds

REQUESTS: Final = Counter("reviewqueue_api_requests", "Requests answered", ["method", "route", "status"])
SECONDS: Final = Histogram(
    "reviewqueue_api_request_seconds",
    "Time to answer, waiting included",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
)
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})

# States whose rows a partial index holds: counting them never walks the whole table.
OPEN: Final = """
    SELECT state, count(*), coalesce(extract(epoch FROM clock_timestamp() - min(received_at)), 0)
    FROM handoff WHERE state = ANY(%s) GROUP BY state
"""
COUNTED: Final = ("received", "flagged", "escalated", "dispatched")


def observe(request: HttpRequest, status: int, seconds: float) -> None:
    """Count one answered request. Unknown addresses and methods share a label: callers cannot invent series."""
    match = request.resolver_match
    route = (match.view_name or match.route) if match else "unknown"
    method = request.method if request.method in METHODS else "other"
    REQUESTS.labels(method, route, status).inc()
    SECONDS.labels(route).observe(seconds)


class Work(Collector):
    """Read at each scrape. Without a database the series are missing, not zero."""

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not ask the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "reviewqueue_waiters", "Requests that wait in this process", waiting.listener().count
        )
        yield CounterMetricFamily(
            "reviewqueue_doorbell_failures", "Bells that nobody heard", doorbell.failures
        )
        try:
            yield from self._of_database()
        except DatabaseError:
            connection.close()

    def _of_database(self) -> Iterator[Metric]:
        counts = GaugeMetricFamily("reviewqueue_handoffs_open", "Handoffs in open states", labels=["state"])
        ages = GaugeMetricFamily("reviewqueue_oldest_seconds", "Age of the oldest one", labels=["state"])
        with connection.cursor() as cursor:
            cursor.execute(OPEN, [list(COUNTED)])
            found = {state: (count, age) for state, count, age in cursor.fetchall()}
        for state in COUNTED:
            count, age = found.get(state, (0, 0))
            counts.add_metric([state], float(count))
            ages.add_metric([state], float(age))
        yield counts
        yield ages
        yield GaugeMetricFamily(
            "reviewqueue_audit_unsealed_seconds",
            "Age of the oldest audit entry not sealed",
            unsealed_seconds(),
        )
        if (age := worker_age_seconds()) is not None:
            yield GaugeMetricFamily("reviewqueue_worker_age_seconds", "Since a worker last swept", age)


def register(registry: CollectorRegistry) -> None:
    """Add the work's series to a registry, once."""
    if not getattr(registry, "_reviewqueue_work", False):
        registry.register(Work())
        registry._reviewqueue_work = True  # type: ignore[attr-defined]
