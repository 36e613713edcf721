"""Figures about a server, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60)
_LINES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServerMetrics:
    """Counts requests and batches."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter("trdec_requests", "Requests answered.", ("path", "status"), registry=registry)
        self._seconds = Histogram(
            "trdec_request_seconds",
            "Seconds until a request was answered.",
            ("path",),
            registry=registry,
            buckets=_SECONDS,
        )
        self._characters = Counter("trdec_characters", "Characters of texts translated.", ("model",), registry=registry)
        self._batch_lines = Histogram(
            "trdec_batch_lines", "Sentences translated together.", ("model",), registry=registry, buckets=_LINES
        )
        self._batch_seconds = Histogram(
            "trdec_batch_seconds", "Seconds that a batch took.", ("model",), registry=registry, buckets=_SECONDS
        )
        self._restarts = Counter("trdec_model_restarts", "Processes that died.", ("model",), registry=registry)
        self._waiting = Gauge("trdec_waiting_lines", "Sentences that wait.", ("model",), registry=registry)
        self._ready = Gauge("trdec_model_ready", "1 if the model is ready.", ("model",), registry=registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def characters(self, model: str, number: int) -> None:
        """Texts were accepted for translation."""
        self._characters.labels(model).inc(number)

    def batch(self, model: str, lines: int, seconds: float) -> None:
        """A batch was answered."""
        self._batch_lines.labels(model).observe(lines)
        self._batch_seconds.labels(model).observe(seconds)

    def restarted(self, model: str) -> None:
        """A process died."""
        self._restarts.labels(model).inc()

    def state(self, model: str, waiting: int, ready: bool) -> None:
        """How a model is now."""
        self._waiting.labels(model).set(waiting)
        self._ready.labels(model).set(ready)

    def text(self) -> bytes:
        """All figures in Prometheus's text format."""
        return generate_latest(self._registry)
