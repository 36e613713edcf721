"""One server for all tests that need a model: starting torch takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.model_directory import trained
from support.serving import PATIENCE, Served, server, wait_until
from trdec.serve.settings import ModelArgument, ServerLimits, ServerSettings

LIMITS = ServerLimits(characters=2_000, texts=30, body=100_000, queue=40, attention=100_000, seconds=PATIENCE)


@pytest.fixture(scope="session")
def model() -> Path:
    """The directory of a small model that knows three sentences."""
    return trained()


@pytest.fixture(scope="session")
def lines(model: Path) -> list[str]:
    """The sentences that it knows."""
    return (model.parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[:3]


@pytest.fixture(scope="session")
def served(model: Path) -> Iterator[Served]:
    """A server of the model, which is ready."""
    settings = ServerSettings((ModelArgument("vel-en", (model,)),), limits=LIMITS, names={"vel": "Velu"})
    with server(settings) as running:
        wait_until(lambda: running.client.get("/health").status_code == 200)
        yield running


@pytest.fixture(scope="session")
def empty() -> Iterator[Served]:
    """A server without models, which never gets ready; nobody may take long over a body."""
    limits = ServerLimits(body=1_000, body_seconds=0.5)
    with server(
        ServerSettings((), limits=limits, keys=frozenset({"secret"}), origins=("https://one.example",))
    ) as running:
        yield running
