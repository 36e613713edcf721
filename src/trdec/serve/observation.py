"""What a server tells about itself: logs as JSON lines, and figures for Prometheus. Neither holds texts of users."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from types import TracebackType

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_KNOWN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: time, level, message, what was given as `extra`, and where an error came from."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        content: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        content |= {name: value for name, value in vars(record).items() if name not in _KNOWN}
        if record.exc_info and record.exc_info[0] is not None:
            content["error"] = record.exc_info[0].__name__
            content["places"] = _places(record.exc_info[2])
        return json.dumps(content, ensure_ascii=False, default=str)


def log_as_json() -> None:
    """Write all logs of this process to standard error, as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _places(traceback: TracebackType | None) -> list[str]:
    """Where an error passed: not what it says, which may quote a text."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append(f"{code.co_filename}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return found


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
        self._restarts = Counter(
            "trdec_model_restarts", "Processes that died or were given up.", ("model",), registry=registry
        )
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
        """A process died or was given up."""
        self._restarts.labels(model).inc()

    def states(self, models: Iterable[tuple[str, int, bool]]) -> None:
        """How all models are now: the name of each, the lines that wait for it, and whether it is ready."""
        self._waiting.clear()  # a model may have had another name while it was loaded
        self._ready.clear()
        for name, waiting, ready in models:
            self._waiting.labels(name).set(waiting)
            self._ready.labels(name).set(ready)

    def text(self) -> bytes:
        """All figures in Prometheus's text format."""
        return generate_latest(self._registry)
