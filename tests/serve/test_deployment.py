"""The files in `deploy` are what the programs that read them expect."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


def _check(*command: object) -> subprocess.CompletedProcess[str]:
    beside = shutil.which(str(command[0]), path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if beside is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([beside, *map(str, command[1:])], capture_output=True, text=True, check=False)


def test_the_dockerfile_satisfies_its_linter() -> None:
    result = _check("hadolint", "--no-color", DEPLOY / "Dockerfile")
    assert (result.returncode, result.stdout) == (0, "")


def test_the_unit_is_one(tmp_path: Path) -> None:
    unit = tmp_path / "trdec.service"
    unit.write_text((DEPLOY / "trdec.service").read_text().replace("/opt/trdec/bin/trdec", "/bin/true"))
    result = _check("systemd-analyze", "verify", unit)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_proxys_settings_are_read(tmp_path: Path) -> None:
    names = {"-keyout": tmp_path / "translate.example.org.key", "-out": tmp_path / "translate.example.org.pem"}
    own = [part for pair in names.items() for part in pair]
    _check("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 1, "-subj", "/CN=a", *own)
    given = re.sub("/etc/ssl/(certs|private)", str(tmp_path), (DEPLOY / "nginx.conf").read_text())
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid; events {{}} http {{ {given} }}")
    result = _check("nginx", "-t", "-q", "-c", whole)
    assert (result.returncode, result.stderr) == (0, "")
