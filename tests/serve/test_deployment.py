"""The files in `deploy` are what the programs that read them expect."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"


def _check(*command: object) -> subprocess.CompletedProcess[str]:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def test_the_dockerfile_satisfies_its_linter() -> None:
    result = _check("hadolint", "--no-color", DEPLOY / "Dockerfile")
    assert (result.returncode, result.stdout) == (0, "")


def test_the_unit_is_one(tmp_path: Path) -> None:
    unit = tmp_path / "trdec.service"
    unit.write_text((DEPLOY / "trdec.service").read_text().replace("/opt/trdec/bin/trdec", "/bin/true"))
    result = _check("systemd-analyze", "verify", unit)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_proxys_settings_are_read(tmp_path: Path) -> None:
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"events {{}} http {{ {(DEPLOY / 'nginx.conf').read_text()} }}")
    result = _check("crossplane", "parse", whole)
    assert json.loads(result.stdout)["errors"] == []
