"""How a server does under load: throughput against batch translation, times of answers, and whether each is right.

    python benchmarks/serving.py MODEL LINES --clients 64 --seconds 60

starts `trdec serve` on this machine, lets clients ask for random lines for some seconds or a number of requests,
compares every answer with the offline translation of its lines, and prints one JSON object. With a small `--queue` the
load is more than the server takes; with `--kill-after` the model's process dies in the middle.
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
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from trdec.serve.sentences import split_text


def offline(model: Path, lines: Path, beam_size: int, threads: int) -> tuple[list[str], float, float]:
    """What batch translation makes of the lines, and how many a second it does, and a second of processor time."""
    script = (
        "import json, sys, time, torch\n"
        "from trdec.freed_memory import keep_freed_memory\n"
        "from trdec.translation.translator import Translator\n"
        "keep_freed_memory()\n"
        "torch.set_num_threads(int(sys.argv[4]))\n"
        "lines = open(sys.argv[2], encoding='utf-8').read().split('\\n')[:-1]\n"
        "translator = Translator.load(sys.argv[1])\n"
        "translator.translate(lines[:8], int(sys.argv[3]))\n"
        "begin, cpu = time.perf_counter(), time.process_time()\n"
        "found = [each.text for each in translator.translate(lines, int(sys.argv[3]))]\n"
        "seconds = time.perf_counter() - begin, time.process_time() - cpu\n"
        "json.dump([found, *(len(lines) / each for each in seconds)], sys.stdout)\n"
    )
    command = [sys.executable, "-c", script, str(model), str(lines), str(beam_size), str(threads)]
    found, rate, cpu_rate = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found, rate, cpu_rate


@contextmanager
def running(model: Path, options: dict[str, float]) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that is ready."""
    command = [sys.executable, "-m", "trdec.cli.main", "serve", f"de-en={model}", "--languages", "de-en=de-en"]
    command += ["--port", "0", *(str(part) for name, value in options.items() for part in (f"--{name}", value))]
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


LOST = 0
"""Counted in the place of a status where the connection was closed before there was one."""


class Usage:
    """What the server and the process of its model use."""

    def __init__(self, server: int) -> None:
        lists = [task.read_text().split() for task in Path(f"/proc/{server}/task").glob("*/children")]
        children = [int(number) for numbers in lists for number in numbers]
        self.model = max(children, key=_megabytes)
        self._processes = {"server": server, "model": self.model}

    def memory(self) -> dict[str, float]:
        """MB."""
        return {name: _megabytes(number) for name, number in self._processes.items()}

    def seconds(self) -> dict[str, float]:
        """Seconds of processor time, those of the clients in this process too."""
        ticks = os.sysconf("SC_CLK_TCK")
        found = {"clients": time.process_time()}
        for name, number in self._processes.items():
            fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
            found[name] = (int(fields[11]) + int(fields[12])) / ticks
        return found


def _megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return round(int(status.split("VmRSS:")[1].split()[0]) / 1024, 1)


def batch_size(address: str) -> float:
    """How many lines the server's batches have had, on average."""
    lines = dict(line.rsplit(" ", 1) for line in httpx.get(f"{address}metrics").text.splitlines())
    prefix, labels = "trdec_batch_lines_", '{model="de-en"}'
    return round(float(lines[f"{prefix}sum{labels}"]) / float(lines[f"{prefix}count{labels}"]), 1)


class Connection:
    """A connection that takes little of the processor, which the server needs: http clients take more than it does."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """A connection to this machine."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, content: object) -> tuple[int, dict[str, str], Any]:
        """The status, the headers and the content of the answer."""
        body = json.dumps(content).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        answer = await self._reader.readexactly(int(headers["content-length"]))
        return int(first.split()[1]), headers, json.loads(answer)

    def close(self) -> None:
        """Leave."""
        self._writer.close()


class Load:
    """Clients that each send a request, wait for its answer, compare it, and send the next."""

    def __init__(self, port: int, lines: list[str], expected: list[str], per_request: int) -> None:
        self._port = port
        self._pairs = list(zip(lines, expected, strict=True))
        self._per_request = per_request
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()
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
        connection = await Connection.open(self._port)
        while time.perf_counter() < end and (remaining is None or next(remaining, None) is not None):
            pairs = generator.choices(self._pairs, k=self._per_request)
            begin = time.perf_counter()
            body = {"q": [line for line, _ in pairs], "source": "de", "target": "en"}
            try:
                status, headers, answer = await connection.post("/translate", body)
            except (OSError, EOFError):
                self.statuses[LOST] += 1
                connection = await Connection.open(self._port)
                continue
            self.statuses[status] += 1
            if status != 200:
                self.errors[answer["error"]] += 1
            if status == 429:
                await asyncio.sleep(float(headers["retry-after"]))
            elif status == 200:
                self.seconds.append(time.perf_counter() - begin)
                self._compare([expected for _, expected in pairs], answer["translatedText"])
        connection.close()

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
            "errors": dict(self.errors.most_common(3)),
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
    parser.add_argument("--timeout", type=float, default=30.0, help="the server's: seconds until a request is given up")
    parser.add_argument("--kill-after", type=float, help="seconds after which the model's process is killed, once")
    arguments = parser.parse_args()
    # Only lines that are one sentence for the server too have the same translation there.
    given = arguments.lines.read_text(encoding="utf-8").split("\n")
    lines = [line for line in given if split_text(line, "de", "en", 1_000).sentences == (line,)][: arguments.first]
    chosen = Path(f"{arguments.model}.benchmark-lines")
    chosen.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    try:
        expected, rate, cpu_rate = offline(arguments.model, chosen, arguments.beam_size, arguments.threads)
    finally:
        chosen.unlink()
    options = {
        name: getattr(arguments, name.replace("-", "_")) for name in ("beam-size", "threads", "queue", "timeout")
    }
    with running(arguments.model, options) as (address, process):
        load = Load(httpx.URL(address).port or 80, lines, expected, arguments.per_request)
        asyncio.run(load.run(min(4, arguments.clients), 2.0, None))  # so that caches are warm
        usage = Usage(process)
        memory, seconds = usage.memory(), usage.seconds()
        load = Load(httpx.URL(address).port or 80, lines, expected, arguments.per_request)
        limit = arguments.seconds if arguments.requests is None else float("inf")
        if arguments.kill_after is not None:
            threading.Timer(arguments.kill_after, os.kill, (usage.model, signal.SIGKILL)).start()
        report = load.report(asyncio.run(load.run(arguments.clients, limit, arguments.requests)))
        if arguments.kill_after is None:
            used = {name: round(after - seconds[name], 2) for name, after in usage.seconds().items()}
            report |= {
                "cpu_seconds": used,
                "lines_per_cpu_second_of_model": round(load.translated / used["model"], 2),
                "offline_lines_per_cpu_second": round(cpu_rate, 2),
            }
        report |= {
            "memory_mb_before": memory,
            "memory_mb_after": Usage(process).memory(),
            "lines_per_batch": batch_size(address),
        }
        afterwards = Load(httpx.URL(address).port or 80, lines, expected, arguments.per_request)
        asyncio.run(afterwards.run(1, 5.0, 10))
        report["statuses_afterwards"] = afterwards.report(1.0)["statuses"]
    report |= {
        "clients": arguments.clients,
        "lines_per_request": arguments.per_request,
        "offline_lines_per_second": round(rate, 2),
        "share_of_offline": round(report["lines_per_second"] / rate, 3),
        "processors": len(os.sched_getaffinity(0)),
    }
    print(json.dumps(report, ensure_ascii=False))


if __name__ == "__main__":
    main()
