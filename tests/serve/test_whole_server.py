"""The command itself: its log, its end, and whatever its description lets clients send."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.running import Run
from support.serving import PATIENCE, Served, wait_until

pytestmark = pytest.mark.slow

EXAMPLES = os.environ.get("TRDEC_API_EXAMPLES", "25")
"""How many requests are made up for each address: a quarter of an hour for 1,000."""


@contextlib.contextmanager
def _command(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """`trdec serve` with these arguments: the process, its address, and the lines of its log so far."""
    command = [sys.executable, "-m", "trdec.cli.main", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+(?=/)", process.stderr.readline())
        assert found is not None
        lines: list[str] = []
        reader = threading.Thread(target=lines.extend, args=(process.stderr,))
        reader.start()
        try:
            yield process, found[0], lines
        finally:
            process.kill()
            reader.join()


def _wait(process: subprocess.Popen[str], address: str) -> None:
    """Wait for the models, but not for a server that has ended."""

    def ready() -> bool:
        assert process.poll() is None, "the server has ended"
        return httpx.get(f"{address}/health", timeout=PATIENCE).status_code == 200

    wait_until(ready)


def test_a_termination_signal_lets_requests_finish(model: Path, lines: list[str]) -> None:
    with _command(f"vel-en={model}", "--timeout", PATIENCE) as (process, address, log), ThreadPoolExecutor() as pool:
        _wait(process, address)
        texts = [lines[number % 3] for number in range(60)]
        body = {"q": texts, "source": "vel", "target": "en", "api_key": "somebody's key"}
        asked = pool.submit(httpx.post, f"{address}/translate", json=body, timeout=PATIENCE)
        wait_until(lambda: "trdec_characters_total{" in httpx.get(f"{address}/metrics", timeout=PATIENCE).text)
        process.send_signal(signal.SIGTERM)
        assert len(asked.result().json()["translatedText"]) == 60
        process.wait(PATIENCE)
    requests = [json.loads(line) for line in log if '"request"' in line]
    assert requests[-1]["status"] == 200
    assert requests[-1]["path"] == "/translate"
    assert not any(word in line for line in log for word in (*lines[0].split()[:-1], "somebody"))


def test_when_the_server_is_killed_its_models_end(model: Path) -> None:
    with _command(f"vel-en={model}") as (process, address, _):
        _wait(process, address)
        lists = [task.read_text().split() for task in Path(f"/proc/{process.pid}/task").glob("*/children")]
        children = [int(number) for numbers in lists for number in numbers]
        assert len(children) >= 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(map(_alive, children)))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1][:3]


def test_a_model_that_cannot_be_loaded_ends_the_server(trdec: Run) -> None:
    result = trdec("serve", "de-en=missing-model", "--port", 0)
    assert result.returncode == 1
    assert "missing-model" in result.stderr.splitlines()[-1]


def test_two_models_and_an_ensemble_are_served_together(model: Path, lines: list[str]) -> None:
    ensemble = (f"two={model}+{model}", "--languages", "two=om-en")
    with (
        _command(f"vel-en={model}", *ensemble, "--timeout", PATIENCE) as (process, address, _),
        httpx.Client(base_url=address, timeout=PATIENCE) as client,
    ):
        _wait(process, address)
        both = client.get("/v1/models").json()["models"]
        assert [(each["name"], each["source"]["code"]) for each in both] == [("vel-en", "vel"), ("two", "om")]
        answers = [
            client.post("/translate", data={"q": lines[1], "source": source, "target": "en"}).json()
            for source in ("vel", "om")
        ]
        assert answers == [{"translatedText": "The fish is not small ."}] * 2
        automatic = client.post("/translate", data={"q": lines[1], "source": "auto", "target": "en"}).json()
        assert automatic["detectedLanguage"]["language"] in ("vel", "om")
        named = {"text": lines[1], "model": "two", "attention": True}
        (found,) = client.post("/v1/translate", json=named).json()["translations"]
        assert found["sentences"][0]["attention"]["rows"]
        assert client.post("/v1/translate", json={"text": "a"}).json()["field"] == "model"


def test_nothing_that_the_description_allows_is_an_internal_error(served: Served) -> None:
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/spec", "--checks", checks]
    command += ["--max-examples", EXAMPLES, "--seed", "1", "--no-color", "--phases", "examples,coverage,fuzzing"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
