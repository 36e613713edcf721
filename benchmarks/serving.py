"""How a server does under load: throughput against batch translation, times of answers, and whether each is right.

    python benchmarks/serving.py MODEL LINES --clients 64 --seconds 60

starts `trdec serve` on this machine, lets clients ask for random lines for some seconds or a number of requests,
compares every answer with the offline translation of its lines, and prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from trdec.serve.sentences import split_text


def offline(model: Path, lines: Path, beam_size: int, threads: int) -> tuple[list[str], float]:
    """What `trdec translate` makes of the lines, and how many a second it does, loading left out."""
    script = (
        "import json, sys, time, torch\n"
        "from trdec.freed_memory import keep_freed_memory\n"
        "from trdec.translation.translator import Translator\n"
        "keep_freed_memory()\n"
        "torch.set_num_threads(int(sys.argv[4]))\n"
        "lines = open(sys.argv[2], encoding='utf-8').read().split('\\n')[:-1]\n"
        "translator = Translator.load(sys.argv[1])\n"
        "translator.translate(lines[:8], int(sys.argv[3]))\n"
        "begin = time.perf_counter()\n"
        "found = [each.text for each in translator.translate(lines, int(sys.argv[3]))]\n"
        "json.dump([found, len(lines) / (time.perf_counter() - begin)], sys.stdout)\n"
    )
    command = [sys.executable, "-c", script, str(model), str(lines), str(beam_size), str(threads)]
    found, rate = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found, rate


@contextmanager
def running(model: Path, beam_size: int, threads: int, queue: int) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that is ready."""
    command = [sys.executable, "-m", "trdec.cli.main", "serve", f"de-en={model}", "--languages", "de-en=de-en"]
    command += ["--port", "0", "--beam-size", str(beam_size), "--threads", str(threads), "--queue", str(queue)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = next(part for part in process.stderr.readline().split() if part.startswith("http"))
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
            while httpx.get(f"{address}health").status_code != 200:
                time.sleep(0.1)
            yield address, process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
            drain.terminate()
            drain.wait()


def memory(process: int) -> dict[str, float]:
    """MB that the server and the processes of its models hold."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    sizes = {}
    for name, number in {"server": str(process), "models": children[-1]}.items():
        status = Path(f"/proc/{number}/status").read_text()
        sizes[name] = round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1)
    return sizes


class Load:
    """Clients that each send a request, wait for its answer, compare it, and send the next."""

    def __init__(self, address: str, lines: list[str], expected: list[str], per_request: int) -> None:
        self._address = address
        self._pairs = list(zip(lines, expected, strict=True))
        self._per_request = per_request
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.mismatches: list[tuple[str, str]] = []
        self.translated = 0

    async def run(self, clients: int, seconds: float, requests: int | None) -> float:
        """Ask until the time is over or the requests are made; gives the seconds that it took."""
        begin = time.perf_counter()
        end = begin + seconds
        remaining = iter(range(requests)) if requests is not None else None
        await asyncio.gather(*(self._client(number, end, remaining) for number in range(clients)))
        return time.perf_counter() - begin

    async def _client(self, seed: int, end: float, remaining: Iterator[int] | None) -> None:
        generator = random.Random(seed)
        async with httpx.AsyncClient(base_url=self._address, timeout=120) as client:
            while time.perf_counter() < end and (remaining is None or next(remaining, None) is not None):
                pairs = generator.choices(self._pairs, k=self._per_request)
                begin = time.perf_counter()
                body = {"q": [line for line, _ in pairs], "source": "de", "target": "en"}
                answer = await client.post("/translate", json=body)
                self.statuses[answer.status_code] += 1
                if answer.status_code == 429:
                    await asyncio.sleep(float(answer.headers["retry-after"]) / 4)
                elif answer.status_code == 200:
                    self.seconds.append(time.perf_counter() - begin)
                    self._compare([expected for _, expected in pairs], answer.json()["translatedText"])

    def _compare(self, expected: list[str], found: list[str]) -> None:
        assert len(expected) == len(found)
        self.translated += len(found)
        self.mismatches += [pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1]]

    def report(self, elapsed: float) -> dict[str, Any]:
        """Throughput, times, errors."""
        ordered = sorted(self.seconds)

        def at(share: float) -> float | None:
            return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4) if ordered else None

        return {
            "seconds": round(elapsed, 2),
            "requests": sum(self.statuses.values()),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "lines_per_second": round(self.translated / elapsed, 2),
            "p50": at(0.5),
            "p95": at(0.95),
            "p99": at(0.99),
            "mismatches": len(self.mismatches),
            "examples": self.mismatches[:3],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("lines", type=Path, help="sentences to translate, one per line")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--requests", type=int, help="stop after so many requests, however long it takes")
    parser.add_argument("--per-request", type=int, default=1, help="lines in each request")
    parser.add_argument("--first", type=int, default=500, help="use only so many lines of the file")
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--queue", type=int, default=1_000, help="the server's; smaller than the load to see refusals")
    arguments = parser.parse_args()
    # Only lines that are one sentence for the server too have the same translation there.
    given = arguments.lines.read_text(encoding="utf-8").split("\n")
    lines = [line for line in given if split_text(line, "de", "en", 1_000).sentences == (line,)][: arguments.first]
    chosen = Path(f"{arguments.model}.benchmark-lines")
    chosen.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    try:
        expected, rate = offline(arguments.model, chosen, arguments.beam_size, arguments.threads)
    finally:
        chosen.unlink()
    with running(arguments.model, arguments.beam_size, arguments.threads, arguments.queue) as (address, process):
        load = Load(address, lines, expected, arguments.per_request)
        asyncio.run(load.run(min(4, arguments.clients), 2.0, None))  # so that caches are warm
        before = memory(process)
        load = Load(address, lines, expected, arguments.per_request)
        limit = arguments.seconds if arguments.requests is None else float("inf")
        report = load.report(asyncio.run(load.run(arguments.clients, limit, arguments.requests)))
        after = memory(process)
    report |= {
        "clients": arguments.clients,
        "lines_per_request": arguments.per_request,
        "offline_lines_per_second": round(rate, 2),
        "share_of_offline": round(report["lines_per_second"] / rate, 3),
        "memory_mb_before": before,
        "memory_mb_after": after,
        "processors": len(os.sched_getaffinity(0)),
    }
    print(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    main()
