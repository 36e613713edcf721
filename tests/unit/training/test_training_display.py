"""What a person sees of a training, and the files that show it."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from support.tiny_training import Recorder, make_loop
from trdec.errors import FileError, TrainingError
from trdec.training.display import TrainingDisplay
from trdec.training.interfaces import Observers
from trdec.training.observers import JsonLines, LossPlot, TensorBoard, draw_losses

PNG = b"\x89PNG\r\n\x1a\n"

TRAIN: dict[str, Any] = {
    "event": "train",
    "update": 50,
    "epoch": 2,
    "loss": 12.345,
    "perplexity": {"all": 9.0, "rule": 3.0, "word": 20.0},
    "words_per_second": 321.0,
    "actions_per_second": 654.0,
    "gradient_norm": 4.5,
    "learning_rate": 0.001,
    "skipped": 2,
    "seconds": 10.0,
}
DEV: dict[str, Any] = {**TRAIN, "event": "dev", "bleu": 31.4, "best": True}


def _plain() -> tuple[TrainingDisplay, io.StringIO]:
    stream = io.StringIO()
    return TrainingDisplay(Console(file=stream)), stream


def test_plain_lines_say_everything() -> None:
    display, stream = _plain()
    with display:
        display.begin(0, 100)
        for update in range(1, 51):
            display.advance(update)
        display.training(TRAIN)
        display.validation(DEV)
        display.note("a note")
        display.end()
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("update 50, epoch 2: loss 12.3")
    assert "perplexity 9.00 (rule 3.00, word 20.00), 321 words/s, 654 actions/s, rate 0.001, gradient 4.50" in lines[0]
    assert "2 skipped, " in lines[0]
    assert lines[0].endswith(" left")
    assert lines[1].endswith("perplexity 9.00 (rule 3.00, word 20.00), BLEU 31.40, among the best")
    assert lines[2] == "a note"


def test_the_last_update_does_not_claim_that_no_time_is_left_while_dev_is_still_due() -> None:
    display, stream = _plain()
    with display:
        display.begin(0, 50)
        for update in range(1, 51):
            display.advance(update)
        display.training(TRAIN)
    assert "left" not in stream.getvalue()


def test_the_live_display_shows_kinds_and_leaves_lines_behind() -> None:
    stream = io.StringIO()
    with TrainingDisplay(Console(file=stream, force_terminal=True, width=150)) as display:
        display.begin(0, 100)
        display.advance(1)
        display.progress("validating", 3, 7)
        display.training(TRAIN)
        display.validation(DEV)
        display.note("a [note]")
    shown = stream.getvalue()
    for text in ("training", "3 of 7", "50, dev: loss", "rule 3.00, word 20.00", "321", "a [note]", "so far"):
        assert text in shown


def test_a_training_shows_itself_to_all(tmp_path: Path) -> None:
    plain, stream = _plain()
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    log = JsonLines(tmp_path / "log.jsonl")
    recorder = Recorder()
    with plain, TrainingDisplay(console) as live:
        observers = Observers([plain, live, recorder, LossPlot(tmp_path / "loss.png", log)])
        make_loop(tmp_path, observers).run()  # type: ignore[arg-type]
    assert sum("dev:" in line for line in stream.getvalue().splitlines()) == 5
    assert recorder.tasks == {"validating": (6, 6), "writing a checkpoint": (1, 1)}
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)


def test_the_plot_is_drawn_now_and_then_and_at_the_end(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    plot = LossPlot(tmp_path / "loss.png", log, pause=1e9)
    plot.end()
    assert not (tmp_path / "loss.png").exists()  # nothing to draw
    plot = LossPlot(tmp_path / "loss.png", log, pause=1e9)
    for row in (TRAIN, DEV):
        log.write(row)
    plot.validation(DEV)
    first = (tmp_path / "loss.png").stat().st_mtime_ns
    plot.validation(DEV)
    assert (tmp_path / "loss.png").stat().st_mtime_ns == first
    plot.end()
    assert (tmp_path / "loss.png").stat().st_mtime_ns > first
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_plot_that_cannot_be_written_is_named_and_hides_no_other_error(tmp_path: Path) -> None:
    rows = [TRAIN, DEV]
    message = r"loss.png: cannot be written: No such file or directory. Make room, or set training.plot=false"
    with pytest.raises(FileError, match=message):
        draw_losses(rows, tmp_path / "nowhere" / "loss.png")
    log = JsonLines(tmp_path / "log.jsonl")

    class Broken(Recorder):
        def validation(self, row: Any) -> None:  # noqa: ARG002
            raise TrainingError("this came first")

    observers = Observers([Broken(), LossPlot(tmp_path / "nowhere" / "loss.png", log)])
    with pytest.raises(TrainingError, match="this came first"):
        make_loop(tmp_path, observers).run()  # type: ignore[arg-type]


def test_the_plot_bears_losses_that_are_not_finite(tmp_path: Path) -> None:
    rows = [{**TRAIN, "loss": None}, {**DEV, "loss": None, "perplexity": {"all": None, "word": 3.0}}]
    draw_losses(rows, tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)


def test_the_log_is_strict_json_and_can_be_cut_back(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    assert (log.size(), list(log.rows())) == (0, [])
    log.write({"loss": math.inf, "perplexity": {"all": math.nan, "word": 1.5}, "text": "ö"})
    size = log.size()
    log.write({"loss": 1.0})
    log.truncate(size)
    assert log.size() == size == (tmp_path / "log.jsonl").stat().st_size
    (line,) = (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"loss": None, "perplexity": {"all": None, "word": 1.5}, "text": "ö"}


def test_tensorboard_is_asked_for_by_name_when_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(TrainingError, match=r"pip install 'trdec\[tensorboard\]', or set training.tensorboard=false"):
        TensorBoard(tmp_path)


def test_a_folder_that_tensorboard_cannot_make_is_named(tmp_path: Path) -> None:
    (tmp_path / "board").write_text("in the way")
    message = r"board: cannot be written: .+\. Make room, or set training\.tensorboard=false\."
    with pytest.raises(FileError, match=message):
        TensorBoard(tmp_path / "board").begin(0, 10)


def test_tensorboard_shows_every_number_and_forgets_what_a_resumed_training_does_again(tmp_path: Path) -> None:
    for begun, loss in ((0, 12.0), (40, 11.0)):  # the second time from update 40 on
        board = TensorBoard(tmp_path)
        board.begin(begun, 100)
        board.training({**TRAIN, "loss": loss})
        board.validation(DEV)
        board.end()
    shown = EventAccumulator(str(tmp_path))
    shown.Reload()
    values = {name: [(event.step, event.value) for event in shown.Scalars(name)] for name in shown.Tags()["scalars"]}
    assert values["train/loss"] == [(50, 11.0)]
    assert values["train/perplexity/word"] == [(50, 20.0)]
    assert values["dev/bleu"] == [(50, pytest.approx(31.4))]
    assert "train/update" not in values


def test_a_damaged_line_of_the_log_is_named_and_not_drawn(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "log.jsonl")
    log.write(TRAIN)
    for damaged in (b'{"event": "tra\n', b"\xff\xfe\n", b"7\n", b"[" * 100_000 + b"\n"):
        log.path.write_bytes(log.path.read_bytes() + damaged)
    with pytest.raises(FileError, match=r"log\.jsonl, line 2: expected a JSON object"):
        list(log.rows())
    last = log.last()
    assert last is not None
    assert last["event"] == "train"
    log.write(DEV)
    assert [row["event"] for row in log.undamaged_rows()] == ["train", "dev"]
    LossPlot(tmp_path / "loss.png", log).end()
    assert (tmp_path / "loss.png").read_bytes().startswith(PNG)


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(FileError, match=r"log\.jsonl: cannot be read: Is a directory"):
        list(JsonLines(tmp_path / "log.jsonl").rows())
