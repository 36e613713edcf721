"""Two machines as network namespaces: each has a loopback and one address, and they reach each other alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Machine:
    """Where a process runs: an address, what its command line begins with, and its network interface."""

    address: str = "127.0.0.1"
    enter: tuple[str, ...] = ()
    interface: str = "lo"


HERE = Machine()


@contextlib.contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Two machines, removed in the end; the test is skipped where namespaces cannot be made."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces are made with `ip`, of iproute2, which is not installed")
    names = [f"trdec-{os.getpid()}-{number}" for number in range(2)]
    interfaces = [f"trdec{os.getpid() % 100_000}-{number}" for number in range(2)]  # 15 characters at most
    with contextlib.ExitStack() as made:
        for name in names:
            _ip("netns", "add", name)
            made.callback(_ip, "netns", "del", name)
        _ip("link", "add", interfaces[0], "netns", names[0], "type", "veth", "peer", interfaces[1], "netns", names[1])
        machines = []
        for number, (name, interface) in enumerate(zip(names, interfaces, strict=True), start=1):
            machine = Machine(f"10.213.77.{number}", ("ip", "netns", "exec", name), interface)
            _ip("-n", name, "address", "add", f"{machine.address}/30", "dev", interface)
            for device in ("lo", interface):
                _ip("-n", name, "link", "set", device, "up")
            machines.append(machine)
        yield machines[0], machines[1]


def _ip(*arguments: str) -> None:
    ended = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"network namespaces cannot be made here: ip {' '.join(arguments)}: {ended.stderr.strip()}")
