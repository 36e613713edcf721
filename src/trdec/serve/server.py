"""A server that listens until it is told to stop, and then answers what it has accepted."""

from __future__ import annotations

import socket
from collections.abc import Callable

from trdec.errors import TrdecError, UsageError
from trdec.serve.settings import ServerSettings


def serve(settings: ServerSettings, host: str, port: int, listening: Callable[[int], None]) -> None:
    """Serve until a signal says otherwise; `listening` is called with the port once connections are accepted.

    A model that cannot be loaded ends the server with its error.
    """
    try:
        import uvicorn

        from trdec.serve.app import make_app
        from trdec.serve.observation import log_as_json
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the server needs the package {error.name}, which is not installed. Install it with: "
            "pip install 'trdec[serve]'"
        ) from error
    log_as_json()
    failures: list[TrdecError] = []

    def failed(error: TrdecError) -> None:
        failures.append(error)
        server.should_exit = True

    app, service = make_app(settings, failed)

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service.drain()
            await super().shutdown(sockets)

    configuration = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        log_config=None,
        lifespan="on",
        server_header=False,
        timeout_keep_alive=75,  # longer than proxies keep their connections, so that none is closed under a request
        timeout_graceful_shutdown=int(settings.limits.seconds) + 1,
        h11_max_incomplete_event_size=1 << 16,
    )
    server = Server(configuration)
    with _bound(host, port) as listener:
        listening(listener.getsockname()[1])
        server.run([listener])
    if failures:
        raise failures[0]


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        raise UsageError(f"{host}:{port}: cannot be listened on: {error.strerror}. Choose another port.") from error
    return listener
