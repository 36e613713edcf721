"""A server in this process, on a port of its own; its models run in processes of theirs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import uvicorn

from trdec.errors import TrdecError
from trdec.serve.app import make_app
from trdec.serve.service import TranslationService
from trdec.serve.settings import ServerSettings

PATIENCE = 600.0
"""Seconds that a test waits for what takes seconds on an idle machine: only something that hangs takes so long."""


@dataclass(frozen=True)
class Served:
    """A running server."""

    port: int
    service: TranslationService
    client: httpx.Client
    failures: list[TrdecError]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def process_id(self) -> int:
        """The process of its first model."""
        found = next(iter(self.service.models.values())).runner.process_id
        assert found is not None
        return found

    @contextlib.contextmanager
    def stopped_model(self) -> Iterator[None]:
        """The model's process answers nothing as long as the block lasts."""
        stopped = self.process_id
        os.kill(stopped, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(stopped, signal.SIGCONT)


@contextlib.contextmanager
def server(settings: ServerSettings) -> Iterator[Served]:
    """A server that runs as long as the block lasts; its models may still be loading."""
    failures: list[TrdecError] = []
    app, service = make_app(settings, failures.append)
    running = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="warning", lifespan="on"))
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        port = listener.getsockname()[1]
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, limits=httpx.Limits()) as client:
                yield Served(port, service, client, failures)
        finally:
            running.should_exit = True
            thread.join()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
