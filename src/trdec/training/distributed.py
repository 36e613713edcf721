"""Training on several processes, which are called ranks: what they tell each other, and what happens when one is lost.

The processes are started by torchrun, or by anything else that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
Short messages and gradients on processors go through gloo, gradients on GPUs through nccl.

A rank that fails writes the reason to the store that all ranks share; the others find it there when their next
exchange breaks. A rank that is killed or stopped writes nothing, but its pulse, a number in the store that a thread
of each rank raises every second, stands still.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Protocol

import torch
from torch import Tensor, distributed

from trdec.errors import LostRankError, TrdecError, UsageError

FAILED = "failed"
"""The key of the store that holds why the first rank to fail failed."""

BETWEEN_LOOKS = 0.01
"""Seconds between two looks at the store."""


class Ranks(Protocol):
    """The processes of a training, as one of them sees them."""

    number: int
    """Which of them this is, from 0."""
    count: int
    local: int
    """Which of those on this machine it is."""

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that prepares, writes and shows."""

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """The values of every rank, by rank; all must give equally many."""

    def add(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all ranks."""

    def copy_first(self, tensor: Tensor) -> None:
        """Replace a tensor by that of the first rank."""

    def turn_of_first(self) -> contextlib.AbstractContextManager[None]:
        """A block at whose end the others wait for the first rank, however long it takes."""


class Alone:
    """A training in one process."""

    number, count, local, is_first = 0, 1, 0, True

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """The values."""
        return [list(values)]

    def add(self, tensor: Tensor) -> None:
        """There is nothing to add."""

    def copy_first(self, tensor: Tensor) -> None:
        """This is the first."""

    def turn_of_first(self) -> contextlib.AbstractContextManager[None]:
        """Nobody waits."""
        return contextlib.nullcontext()


ALONE = Alone()


class Store(Protocol):
    """Values by key that all ranks share; a store that is lost raises RuntimeError, or never answers."""

    def set(self, key: str, value: str, /) -> None:
        """Write a value."""

    def get(self, key: str, /) -> bytes:
        """A value, once it is there."""

    def check(self, keys: list[str], /) -> bool:
        """Whether there are values."""


class Group:
    """Several processes that train together."""

    def __init__(self, store: Store, number: int, count: int, local: int, limit: float) -> None:
        """Rank `number` of `count`; one that is not heard of for `limit` seconds is lost."""
        self.number, self.count, self.local = number, count, local
        self._store, self._limit = store, limit
        self._pause = min(1.0, limit / 10)
        self._turns = 0
        self._answered = time.monotonic()
        self._ended = threading.Event()
        self._store.set(f"name/{number}", f"rank {number} (process {os.getpid()} on {socket.gethostname()})")
        threading.Thread(target=self._beat, daemon=True).start()

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that prepares, writes and shows."""
        return self.number == 0

    def gather(self, values: Sequence[float]) -> list[list[float]]:
        """The values of every rank, by rank; all must give equally many."""
        own = torch.tensor(values, dtype=torch.float64)
        every = [torch.empty_like(own) for _ in range(self.count)]
        with self._exchange():
            distributed.all_gather(every, own)
        return [each.tolist() for each in every]

    def add(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all ranks."""
        with self._exchange():
            distributed.all_reduce(tensor)

    def copy_first(self, tensor: Tensor) -> None:
        """Replace a tensor by that of the first rank."""
        with self._exchange():
            distributed.broadcast(tensor, src=0)

    @contextlib.contextmanager
    def turn_of_first(self) -> Iterator[None]:
        """A block at whose end the others wait for the first rank, however long it takes."""
        yield
        self._turns += 1
        done = f"turn/{self._turns}"
        with self._exchange():
            if self.is_first:
                self._store.set(done, "")
            else:
                self._ask(lambda: self._wait_for_first(done), self._limit)

    def fail(self, error: BaseException) -> None:
        """Tell the others why this rank ends."""
        reason = str(error) if isinstance(error, TrdecError) else f"{type(error).__name__}: {error}"
        with contextlib.suppress(RuntimeError):  # the store may be gone
            if not self._store.check([FAILED]):
                self._store.set(FAILED, f"rank {self.number} failed: {reason}")

    def leave(self) -> None:
        """End the pulse."""
        self._ended.set()

    def _beat(self) -> None:
        beats = 0
        with contextlib.suppress(RuntimeError):  # the store is gone: so is the training
            while not self._ended.wait(self._pause if beats else 0):
                beats += 1
                self._store.set(f"pulse/{self.number}", str(beats))

    def _value(self, key: str) -> str | None:
        """A value of the store, if it is there."""
        found = self._store.get(key).decode() if self._store.check([key]) else None
        self._answered = time.monotonic()
        return found

    def _ask(self, work: Callable[[], str], patience: float) -> str:
        """What the work finds in the store; RuntimeError if the store does not answer any more.

        The work has a thread to itself: a store whose process is stopped keeps it waiting for ever.
        """
        found: list[str | RuntimeError] = []

        def run() -> None:
            try:
                found.append(work())
            except RuntimeError as error:
                found.append(error)

        self._answered = time.monotonic()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(self._pause)
            if time.monotonic() - self._answered > patience:
                raise RuntimeError("the store does not answer")
        if isinstance(found[0], RuntimeError):
            raise found[0]
        return found[0]

    def _wait_for_first(self, done: str) -> str:
        pulse, since = None, time.monotonic()
        while (found := self._value(done)) is None:
            if self._value(FAILED) is not None:
                raise RuntimeError("the first rank failed")
            if (now := self._value("pulse/0")) != pulse:
                pulse, since = now, time.monotonic()
            elif time.monotonic() - since > self._limit:
                raise RuntimeError("the first rank is not heard of")
            time.sleep(BETWEEN_LOOKS)
        return found

    @contextlib.contextmanager
    def _exchange(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:  # what torch raises when a connection breaks or times out
            try:
                reason = self._ask(self._reason, 5 * self._pause)
            except RuntimeError:
                reason = f"rank 0, which holds the others together, {self._silence}"
            reason = reason or f"the ranks lost each other: {str(error).splitlines()[0]}."
            raise LostRankError(f"{reason} The same command resumes from the last checkpoint.") from error

    def _reason(self) -> str:
        """What a rank wrote before it ended, or whose pulse stands still; nothing if everything seems well."""
        others = [rank for rank in range(self.count) if rank != self.number]
        before = {rank: self._value(f"pulse/{rank}") for rank in others}
        limit = time.monotonic() + 3 * self._pause
        while time.monotonic() < limit:
            if (reason := self._value(FAILED)) is not None:
                return reason
            time.sleep(BETWEEN_LOOKS)
        silent = [rank for rank in others if self._value(f"pulse/{rank}") == before[rank]]
        names = ", ".join(self._value(f"name/{rank}") or f"rank {rank}" for rank in silent)
        return f"{names} {self._silence}" if names else ""

    @property
    def _silence(self) -> str:
        return f"died or has not answered for {self._limit:g} seconds (training.rank_timeout)."


def fresh_part(store: Store, number: int, count: int, limit: float) -> str:
    """A name that the ranks of this attempt agree on, and that nobody has used in the store before.

    torchrun keeps the store when it restarts ranks, so the addresses and messages of those that were killed are still
    in it. Each rank therefore leaves a new word; the first rank answers every word it finds, with a word of its own,
    and only a rank that lives can say that it got the answer.
    """
    own = secrets.token_hex(8)
    end = time.monotonic() + limit
    store.set(f"arrived/{number}", own)
    missing = set(range(1, count)) if number == 0 else {0}
    answer = own
    while missing:
        if time.monotonic() > end:
            raise RuntimeError(f"rank {min(missing)} did not arrive")
        if number == 0:
            for rank in sorted(missing):
                if store.check([f"arrived/{rank}"]):
                    store.set(f"answer/{store.get(f'arrived/{rank}').decode()}", own)
                if store.check([f"joined/{own}/{rank}"]):
                    missing.remove(rank)
        elif store.check([f"answer/{own}"]):
            answer = store.get(f"answer/{own}").decode()
            store.set(f"joined/{answer}/{number}", "")
            missing.clear()
        time.sleep(BETWEEN_LOOKS)
    return answer


@contextlib.contextmanager
def join_ranks(limit: float) -> Iterator[Ranks]:
    """The ranks of this training as the environment describes them: alone, if it names no others.

    A rank that is not heard of for `limit` seconds is lost, which ends the others.
    """
    if _number_in("WORLD_SIZE", 1) == 1 or "RANK" not in os.environ:
        yield ALONE
        return
    local = _number_in("LOCAL_RANK", _number_in("RANK", 0))
    from torch.distributed.distributed_c10d import PrefixStore  # not in every build of torch
    from torch.distributed.rendezvous import rendezvous

    patience = timedelta(seconds=limit)
    try:
        whole, number, count = next(iter(rendezvous("env://", timeout=patience)))
        store = PrefixStore(fresh_part(whole, number, count, limit), whole)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        distributed.init_process_group(backend, store=store, rank=number, world_size=count, timeout=patience)
    except (RuntimeError, ValueError) as error:
        raise LostRankError(
            f"the ranks of this training did not find each other within {limit:g} seconds (training.rank_timeout): "
            f"{str(error).splitlines()[0]}. Start it with torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and "
            "MASTER_PORT for each process."
        ) from error
    group = Group(store, number, count, local, limit)
    try:
        yield group
        group.gather(())  # the store may be in the first rank's process: none leaves before all are done
        distributed.destroy_process_group()
    except LostRankError:
        raise
    except BaseException as error:
        group.fail(error)
        raise
    finally:
        group.leave()


def _number_in(variable: str, otherwise: int) -> int:
    """The number that a variable of the environment has; `otherwise`, if there is no such variable."""
    text = os.environ.get(variable, str(otherwise))
    if not text.isdecimal():
        raise UsageError(
            f"{variable}: expected a number in this variable of the environment, found {text!r}. Start the training "
            "with torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each process."
        )
    return int(text)
