"""The training loop, which can be killed at any moment and resumed with the same result."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import torch

from trdec.configuration.sections import TrainingConfiguration
from trdec.data.manifest import WEIGHTS
from trdec.errors import CheckpointError, FileError, TrainingError, TrainingInterrupted, memory_errors
from trdec.files import remove_leftovers
from trdec.model.weights import set_weights, weights_of, write_model_weights
from trdec.training.checkpoint import BestWeights, Checkpoint, Checkpoints
from trdec.training.distributed import ALONE, Ranks
from trdec.training.interfaces import AnyBatch, Batches, Observer, Trainable
from trdec.training.interrupt import Interrupt
from trdec.training.metrics import Kinds, KindSums, Window, measure_dev
from trdec.training.observers import JsonLines
from trdec.training.optimiser import EarlyStopping, Optimiser, make_schedule
from trdec.training.stream import Share, Stream, seed_of_batch, stride_after

LESS_TO_TRAIN = (
    "Choose smaller batches (batches.batch_size), shorter sentences (data.filters.max_source_length, "
    "data.filters.max_target_length, and shorter lines in dev) or a smaller model, each with another output. "
    "Checkpoints are intact: with more memory, the same command resumes."
)
"""What to change if a training needs too much memory."""

LOG = "log.jsonl"

WORST = 1e30
"""The score of weights whose dev loss is not a finite number."""


@dataclass(frozen=True)
class TrainingCorpus(Generic[AnyBatch]):
    """What to train on and to validate on, the kind of every action, and the fingerprint of these data."""

    train: Batches[AnyBatch]
    dev: Batches[AnyBatch]
    kinds: Kinds
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a training ended."""

    update: int
    best_update: int
    best_score: float
    skipped: int
    stopped_early: bool
    weights: Path


class Loop(Generic[AnyBatch]):
    """One training in one directory; `run` starts it, or resumes from its last checkpoint."""

    def __init__(
        self,
        model: Trainable[AnyBatch],
        corpus: TrainingCorpus[AnyBatch],
        configuration: TrainingConfiguration,
        directory: Path,
        observer: Observer,
        device: torch.device | str = "cpu",
        bleu: Callable[[], float] | None = None,
        seed: int = 1,
        ranks: Ranks = ALONE,
    ) -> None:
        if configuration.metric == "bleu" and bleu is None:
            raise TrainingError(
                "training.metric is bleu, but this training has no function that measures it. Set training.metric=loss."
            )
        if configuration.accumulate < ranks.count:
            raise TrainingError(
                f"{ranks.count} processes need a batch each for every update, but training.accumulate is "
                f"{configuration.accumulate}. Set training.accumulate={ranks.count} or more (with smaller "
                "batches.batch_size, if an update is to stay as large as it was), or start fewer processes."
            )
        self.seed = seed
        self.ranks = ranks
        self.model = model
        self.corpus = corpus
        self.configuration = configuration
        self.directory = directory
        self.observer = observer
        self.device = torch.device(device)
        self.bleu = bleu
        self.optimiser = Optimiser(model.named_parameters(), configuration.optimiser)
        rate = configuration.optimiser.learning_rate
        self.schedule = make_schedule(configuration.schedule, rate, configuration.max_updates)
        self.stopping = EarlyStopping(configuration.early_stopping)
        self.best = BestWeights(directory / "best", configuration.keep_best)
        self.checkpoints = Checkpoints(directory / "checkpoints")
        self.log = JsonLines(directory / LOG)
        self.stream = Stream(corpus.train)
        self.interrupt = Interrupt()
        self.window = Window()
        self.update = 0
        self.skipped = 0
        self.skipped_in_a_row = 0
        self.seconds = 0.0

    def run(self) -> Outcome:
        """Train to the end; raises `TrainingInterrupted` after a signal."""
        resumed = False
        with self.ranks.turn_of_first():
            if self.ranks.is_first:
                self.directory.mkdir(parents=True, exist_ok=True)
                resumed = self._resume()
        self._follow(resumed)
        try:
            self.observer.begin(self.update, self.configuration.max_updates)
            with self.interrupt, memory_errors(LESS_TO_TRAIN):
                while not self._finished():
                    written = self._turn()
                    if (number := self._signal()) and not self._finished():
                        if not written:
                            self._checkpoint()
                        raise TrainingInterrupted(
                            f"interrupted after update {self.update} of {self.configuration.max_updates}; "
                            f"a checkpoint is in {self.checkpoints.folder}. Run the same command again to resume.",
                            number,
                        )
            if self.window.updates:  # patience ran out between two lines of the log, or max_updates was lowered
                self._report()
            if not self._of_first(bool(self.best.kept)):  # max_updates was lowered to before the first validation
                self._validate(scheduled=False)
                self._checkpoint()
            self._export()
            if self.ranks.is_first:
                self.best.clear(())
        except BaseException:
            with contextlib.suppress(FileError):  # the first error is the one to report
                self.observer.end()
            raise
        finally:
            self.stream.close()
        self.observer.end()
        best_update, best_score = (self.best.kept[0].update, self.best.kept[0].score) if self.ranks.is_first else (0, 0)
        stopped = self.stopping.exhausted and self.update < self.configuration.max_updates
        weights = self.directory / WEIGHTS
        return Outcome(
            self.update, int(self._of_first(best_update)), self._of_first(best_score), self.skipped, stopped, weights
        )

    def _of_first(self, value: float) -> float:
        """The value that the first rank has."""
        return self.ranks.gather([value])[0][0]

    def _signal(self) -> int:
        """The signal that any rank received, so that all stop after the same update; 0 if none did."""
        return int(max(number for (number,) in self.ranks.gather([self.interrupt.signal or 0])))

    def _finished(self) -> bool:
        return self.update >= self.configuration.max_updates or self.stopping.exhausted

    def _turn(self) -> bool:
        """One update and what is due after it; returns whether a checkpoint was written."""
        if not self._step():
            return False
        self.observer.advance(self.update)
        due = self.update % self.configuration.validate_every == 0
        last = self.update >= self.configuration.max_updates
        if self.update % self.configuration.log_every == 0 or last:
            self._report()
        if due or last:
            # A last validation that is not scheduled may find the best weights, but must not change the rate: raising
            # max_updates later then gives the last weights of a longer training, though perhaps not its best.
            self._validate(scheduled=due)
        elif self.update % self.configuration.checkpoint_every:
            return False
        self._checkpoint()
        if due or last:
            self._export()
        return True

    def _step(self) -> bool:
        """One update; returns false if its batches were skipped, or put back because of a signal."""
        began = time.perf_counter()
        before = (self.stream.epoch, self.stream.position)
        own, unit, sentences = self._add_gradients()
        kinds = self.corpus.kinds
        shares = [Share.of_values(values, kinds) for values in self.ranks.gather(own.values(kinds))]
        if any(share.put_back for share in shares):
            self.optimiser.forget()
            self.stream.epoch, self.stream.position = before
            return False
        if bad := [share for share in shares if share.skipped]:
            first = min(bad, key=lambda share: share.skipped)
            self.stream.epoch, self.stream.position = first.epoch, first.position
            return self._skip(first.skipped, f"the loss is {first.total}")
        self.optimiser.add_gradients(self.ranks)
        if sentences != unit:
            self.optimiser.scale(unit / sentences)
        norm = self.optimiser.step(self.schedule.rate(self.update + 1))
        if not math.isfinite(norm):
            return self._skip(self.configuration.accumulate, f"the gradient norm is {norm}")
        window = self.window
        for share in shares:
            window.sums.include(share.sums)
            window.loss += share.total
        window.sentences += sentences
        window.norm += norm
        window.updates += 1
        self.update += 1
        self.skipped_in_a_row = 0
        self._clock(began)
        return True

    def _add_gradients(self) -> tuple[Share, int, int]:
        """This rank's share of an update, what its gradients were divided by, and the update's sentences."""
        sums, total, sentences, unit = KindSums(), 0.0, 0, 0
        self.model.train(True)
        for count in range(self.configuration.accumulate):
            numbers = self.stream.next()
            # How many sentences the update will have is not known yet, so gradients are divided by those of its first
            # batch, and put right at the end; an update of one batch is divided once, and exactly.
            unit = unit or len(numbers)
            sentences += len(numbers)
            if count % self.ranks.count != self.ranks.number:
                continue
            place = (self.stream.epoch, self.stream.position)
            if count >= self.ranks.count and self.interrupt.signal is not None:
                return Share(True, 0, *place, total, sums), unit, sentences
            stride = stride_after(count, self.configuration.accumulate, self.ranks.count, self.ranks.number)
            batch = self.stream.batch(numbers, stride).to(self.device)
            # The same random numbers on whatever rank, and after whatever was computed before.
            torch.manual_seed(seed_of_batch(self.seed, self.update, count))
            with autocast(self.device, self.configuration):
                loss = self.model.loss(batch, self.configuration.label_smoothing)
            total += float(loss.total.detach())
            if not math.isfinite(total):
                return Share(False, count + 1, *place, total, sums), unit, sentences
            (loss.total / unit).backward()  # type: ignore[no-untyped-call]
            sums.add(self.corpus.kinds, batch.actions, batch.padding, loss.negative_log_probs)
        return Share(False, 0, self.stream.epoch, self.stream.position, total, sums), unit, sentences

    def _clock(self, began: float) -> None:
        seconds = time.perf_counter() - began
        self.window.seconds += seconds
        self.seconds += seconds

    def _skip(self, count: int, reason: str) -> bool:
        self.optimiser.forget()
        self.skipped += count
        self.skipped_in_a_row += 1
        place = f"epoch {self.stream.epoch}, batch {self.stream.position}, after update {self.update}"
        what = "a batch was skipped" if count == 1 else f"the {count} batches of an update were skipped, the last"
        self.observer.note(f"{what} ({place}): {reason}.")
        if self.skipped_in_a_row >= self.configuration.max_skipped:
            raise TrainingError(
                f"{self.skipped_in_a_row} updates in a row were skipped, the last one because {reason} ({place}); "
                f"training.max_skipped is {self.configuration.max_skipped}. Training diverged: choose a smaller "
                "training.optimiser.learning_rate or training.optimiser.clip, and another output."
            )
        return False

    def _report(self) -> None:
        place = {"event": "train", "update": self.update, "epoch": self.stream.epoch, **self.window.row()}
        rate = self.schedule.rate(self.update)
        row = {**place, "learning_rate": rate, "skipped": self.skipped, "seconds": round(self.seconds, 3)}
        self.window = Window()
        if self.ranks.is_first:
            self.log.write(row)
            self.observer.training(row)

    def _validate(self, scheduled: bool) -> None:
        began = time.perf_counter()
        context, progress = autocast(self.device, self.configuration), self.observer.progress
        found = measure_dev(self.model, self.corpus.dev, self.corpus.kinds, self.device, context, progress, self.ranks)
        row: dict[str, Any] = {"event": "dev", "update": self.update, "epoch": self.stream.epoch, "loss": found.loss}
        row |= {"perplexity": found.sums.perplexities(), "sentences": found.sentences}
        loss = score = found.loss if math.isfinite(found.loss) else WORST
        if self.bleu is not None:
            row["bleu"] = self._bleu()
            score = -row["bleu"] if self.configuration.metric == "bleu" else loss
        if scheduled:
            self.schedule.validated(loss)
            self.stopping.validated(score)
        self.seconds += time.perf_counter() - began
        if self.ranks.is_first:
            row["best"] = self.best.offer(self.update, score, weights_of(self.model))
            row["learning_rate"] = self.schedule.rate(self.update + 1)
            row["seconds"] = round(self.seconds, 3)
            self.log.write(row)
            self.observer.validation(row)

    def _bleu(self) -> float:
        """The dev BLEU that the first rank finds, while the others wait."""
        found = 0.0
        with self.ranks.turn_of_first():
            if self.ranks.is_first and self.bleu is not None:
                self.model.train(False)
                with torch.no_grad():
                    found = self.bleu()
                self.model.train(True)
        return self._of_first(found)

    def _checkpoint(self) -> None:
        self._align()
        with self.ranks.turn_of_first():
            if self.ranks.is_first:
                self._write_checkpoint()

    def _align(self) -> None:
        """Give every rank the first rank's weights and moments: processors of several kinds round differently."""
        if self.ranks.count > 1:
            for tensor in (*weights_of(self.model).values(), *self.optimiser.tensors().values()):
                self.ranks.copy_first(tensor)

    def _write_checkpoint(self) -> None:
        state = {
            "fingerprint": self.corpus.fingerprint,
            "update": self.update,
            "epoch": self.stream.epoch,
            "position": self.stream.position,
            "skipped": self.skipped,
            "skipped_in_a_row": self.skipped_in_a_row,
            "seconds": self.seconds,
            "window": self.window.state(),
            "schedule": self.schedule.state(),
            "stopping": self.stopping.state(),
            "best": self.best.state(),
            "log_bytes": self.log.size(),
        }
        tensors = {"weights": weights_of(self.model), "optimiser": self.optimiser.tensors()}
        self.observer.progress("writing a checkpoint", 0, 1)
        self.checkpoints.write(self.update, Checkpoint(state, tensors))
        self._tidy()
        self.observer.progress("writing a checkpoint", 1, 1)

    def _tidy(self) -> None:
        self.best.clear(kept["file"] for state in self.checkpoints.states() for kept in state["best"])

    def _export(self) -> None:
        with self.ranks.turn_of_first():
            if self.ranks.is_first:
                self._write_weights()

    def _write_weights(self) -> None:
        match self.configuration.final_weights:
            case "best":
                weights = self.best.best()
            case "average":
                weights = self.best.mean()
            case "last":
                weights = weights_of(self.model)
        write_model_weights(self.directory, weights)

    def _resume(self) -> bool:
        """Go on from the last checkpoint, or begin; returns whether there was one."""
        self.checkpoints.clear()
        remove_leftovers(self.directory)
        resumed = self._restore()
        if resumed:
            self.observer.note(f"resuming after update {self.update}, in epoch {self.stream.epoch}.")
        else:
            self.log.truncate(0)
        self._tidy()
        return resumed

    def _follow(self, resumed: bool) -> None:
        """Start where the first rank starts, which may be a checkpoint before the first update."""
        resumed_at = int(self._of_first(self.update if resumed else -1))
        if resumed_at >= 0 and not self.ranks.is_first:
            self._resume_from(self.checkpoints.read(resumed_at))
        self._align()

    def _restore(self) -> bool:
        try:
            return self.checkpoints.restore(self._accept, self.observer.note)
        except CheckpointError:  # perhaps only some of the best weights are damaged
            return self.checkpoints.restore(self._accept_without_damaged_best, self.observer.note)

    def _accept(self, checkpoint: Checkpoint) -> None:
        """Resume from a checkpoint, but not if its best weights are damaged: an older one can make them again."""
        for _, reason in self.best.damaged(checkpoint.state["best"]):
            raise CheckpointError(reason)
        self._resume_from(checkpoint)

    def _accept_without_damaged_best(self, checkpoint: Checkpoint) -> None:
        self._resume_from(checkpoint)
        damaged = self.best.damaged(checkpoint.state["best"])
        for kept, reason in damaged:
            self.observer.note(f"{reason} Training resumes without the weights of update {kept.update}.")
        self.best.drop(kept for kept, _ in damaged)

    def _resume_from(self, checkpoint: Checkpoint) -> None:
        state = checkpoint.state
        if state["fingerprint"] != self.corpus.fingerprint:
            raise CheckpointError(
                f"{self.checkpoints.folder}: the checkpoint of update {state['update']} was trained on other data "
                "than these."
            )
        set_weights(self.model, checkpoint.tensors["weights"], f"the checkpoint of update {state['update']}")
        self.optimiser.restore(checkpoint.tensors["optimiser"])
        self.update, self.skipped, self.seconds = state["update"], state["skipped"], state["seconds"]
        self.skipped_in_a_row = state["skipped_in_a_row"]
        self.stream.epoch, self.stream.position = state["epoch"], state["position"]
        self.window.restore(state["window"])
        self.schedule.restore(state["schedule"])
        self.stopping.restore(state["stopping"])
        if self.ranks.is_first:
            self.best.restore(state["best"])
            self.log.truncate(state["log_bytes"])


def autocast(device: torch.device, configuration: TrainingConfiguration) -> torch.autocast:
    """The context in which matrix products have the precision asked for."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=configuration.precision == "bfloat16")
