"""Whether what `--dask` is given can be the address of a scheduler at all."""

from __future__ import annotations

import sys

import pytest

from trdec.errors import UsageError
from trdec.experiment.cluster import cluster_of

_BAD = [
    "",
    "nonsense",
    "tcp://",
    "tcp://host",
    "tcp://host:0",
    "tcp://host:99999",
    "tcp://host:1e3",
    "tcp://[::",
    "host:1:2",
]
_BAD += [
    "http://host:8786",
    "file:///etc/passwd:1",
    "tcp://user@host:1",
    "tcp://ho\udcffst:1",
    "tcp://a b:1",
    "tcp://host:²",
]


@pytest.mark.parametrize("address", _BAD)
def test_what_is_no_address_is_refused_without_asking_anybody(address: str) -> None:
    with pytest.raises(UsageError, match="expected the address of a scheduler"), cluster_of(address, 1.0):
        pass


@pytest.mark.parametrize("address", ["localhost:1", "tcp://127.0.0.1:1", "tls://[::1]:1", "ws://my-host.example:1"])
def test_an_address_that_may_be_one_is_tried(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="needs the package distributed"), cluster_of(address, 1.0):
        pass


def test_tls_without_certificates_is_refused() -> None:
    with (
        pytest.raises(UsageError, match=r"tls://127.0.0.1:1: .* needs certificates"),
        cluster_of("tls://127.0.0.1:1", 1.0),
    ):
        pass
