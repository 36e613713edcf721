"""The counts that an experiment leaves behind, which hold nothing of the text.

Machines come and go, and a corpus may not be public. What BLEU counted in each sentence can be kept and passed on
instead, and it is enough to test the runs of one experiment against those of another (counts_table).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trdec.configuration.configuration import KEYS_WITHOUT_EFFECT, Configuration, flatten
from trdec.errors import FileError
from trdec.evaluation.counts import NUMBERS, count_sentences, reference_lengths
from trdec.evaluation.scores import TOKENISERS, read_output, read_references
from trdec.experiment.plan import Plan, Run, Stage
from trdec.experiment.run import Records
from trdec.files import checksum_of_text, text_checksum, unreadable, writing

Text = Literal["dev", "test"]
Counts = Annotated[str, Field(pattern=rf"^\d{{1,9}}( \d{{1,9}}){{{NUMBERS - 1}}}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CountedRun(_Record):
    """A finished run, or an ensemble, and what BLEU counts in its translations."""

    system: str
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    """Several are an ensemble."""
    recipe: str
    """The checksum of what it was trained on and how, but for the seed: runs of two recipes are not seeds of one
    system.
    """
    counts: dict[Text, Annotated[tuple[Counts, ...], Field(min_length=1)]]
    beam_size: int | None = None
    length_power: float | None = None
    updates: int | None = None
    pairs_seen: int | None = None
    seconds: float | None = None
    """Of training."""
    parameters: int | None = None

    @property
    def name(self) -> str:
        """`trdec-binary, seed 2`."""
        return f"{self.system}, {'seed' if len(self.seeds) == 1 else 'seeds'} {', '.join(map(str, self.seeds))}"


class CountedText(_Record):
    """A reference text that runs were scored against."""

    name: str
    checksum: str
    sentences: int


class CountsFile(_Record):
    """The counts of an experiment."""

    title: str
    tokenise: Literal[TOKENISERS]  # type: ignore[valid-type]
    texts: dict[Text, CountedText]
    published: dict[str, float] = {}
    runs: tuple[CountedRun, ...]


def counts_of(plan: Plan, tokenise: str) -> CountsFile:
    """The counts of a plan's finished runs and ensembles, on dev and, where it has been translated, on test."""
    records = Records(plan)
    stages: dict[Text, Stage] = {"dev": "dev", "test": "translate"}
    if plan.text("translate") == plan.text("dev"):
        stages = {"dev": "translate"}
    targets = {text: plan.text(stage)[1] for text, stage in stages.items()}
    references = {text: read_references(target) for text, target in targets.items()}

    def counts(run: Run) -> dict[Text, tuple[str, ...]]:
        return {
            text: count_sentences(_lines(run, stage, references[text], targets[text]), references[text], tokenise)
            for text, stage in stages.items()
            if records.finished(run, stage) is not None
        }

    runs = [
        CountedRun(
            system=run.system,
            seeds=(run.seed,),
            recipe=recipe_checksum(run.training, training["depends_on"]["files"].values()),
            counts=found,
            **_search(run, records),
            updates=training["updates"],
            pairs_seen=training["sentences"],
            seconds=training["seconds"],
            parameters=training["parameters"],
        )
        for row in plan.experiment.systems
        for run in plan.runs
        if run.system == row.name
        and (training := records.finished(run, "train")) is not None
        and (found := counts(run))
    ]
    recipes = {run.system: run.recipe for run in runs}
    ensembles = [
        CountedRun(
            system=ensemble.system,
            seeds=tuple(member.seed for member in ensemble.members),
            recipe=recipes[ensemble.system],
            counts=found,
        )
        for ensemble in plan.ensembles
        if ensemble.system in recipes and (found := counts(ensemble))
    ]
    counted = (*runs, *ensembles)
    return CountsFile(
        title=plan.experiment.title,
        tokenise=tokenise,
        texts={
            text: CountedText(name=target.name, checksum=text_checksum(target), sentences=len(references[text]))
            for text, target in targets.items()
            if any(text in run.counts for run in counted)
        },
        published=plan.experiment.published,
        runs=counted,
    )


def _lines(run: Run, stage: Stage, references: Sequence[str], target: Path) -> Sequence[str]:
    return read_output(run.system, run.translations(stage), references, str(target)).lines


KEYS_THAT_CAME_LATER: dict[str, object] = {"model.lexical": False, "training.guidance": 0.0}
"""Keys that are younger than counts which are kept, each with the value at which a training is what it was before.

With that value a key has no part in the checksum of a recipe: kept counts then stand for the same training today.
"""


def recipe_checksum(training: Configuration, checksums: Iterable[str]) -> str:
    """A checksum that is equal for trainings of the same network, in the same way, on files of the same content."""
    keys = {
        key: value
        for key, value in flatten(training)
        if key != "seed"
        and key not in KEYS_WITHOUT_EFFECT
        and not isinstance(value, Path)
        and not (key in KEYS_THAT_CAME_LATER and value == KEYS_THAT_CAME_LATER[key])
    }
    files = sorted(checksums)
    return checksum_of_text(json.dumps({"keys": keys, "files": files}, sort_keys=True, default=str))


def _search(run: Run, records: Records) -> dict[str, Any]:
    if (tuning := records.finished(run, "tune")) is not None:
        return {key: tuning["chosen"][key] for key in ("beam_size", "length_power")}
    return {"beam_size": run.decoding.beam_size[0], "length_power": run.decoding.length_power[0]}


def write_counts(path: Path, content: CountsFile) -> None:
    """Write the counts of an experiment, a line for each sentence, so that versions of the file can be compared."""
    with writing(path) as stream:
        json.dump(content.model_dump(mode="json", exclude_none=True), stream, indent=1, ensure_ascii=False)
        stream.write("\n")


@dataclass(frozen=True, slots=True)
class KeptCounts:
    """A file of the counts that a new file lacks, or, if it could not be read, the old file under another name."""

    path: Path
    runs: tuple[str, ...]
    """`trdec-binary, seed 2 (test)`; empty if the old file could not be read."""

    def warning(self, written: Path) -> str:
        """What to tell whoever has just written the new file."""
        if not self.runs:
            return f"WARNING: {written} could not be read as counts. What it held is kept as {self.path}."
        lacking = ", ".join(self.runs)
        return f"WARNING: {written} had counts that the new one lacks: {lacking}. They are kept as {self.path}."


def replace_counts(path: Path, content: CountsFile) -> KeptCounts | None:
    """Write the counts of an experiment in place of those that are there.

    Counts that would be lost are kept in a file of their own: models and translations may be gone.
    """
    kept = _keep(path, content) if path.exists() else None
    write_counts(path, content)
    return kept


def _keep(path: Path, content: CountsFile) -> KeptCounts | None:
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in itertools.count(1))
    free = next(name for name in names if not name.exists())
    try:
        before = read_counts(path)
    except FileError:
        path.rename(free)
        return KeptCounts(free, ())
    there = {_identity(content, run, text) for run in content.runs for text in run.counts}
    lost: list[CountedRun] = []
    for run in before.runs:
        own = {text: counts for text, counts in run.counts.items() if _identity(before, run, text) not in there}
        lost += [run.model_copy(update={"counts": own})] if own else []
    if not lost:
        return None
    write_counts(free, before.model_copy(update={"runs": tuple(lost)}))
    return KeptCounts(free, tuple(f"{run.name} ({text})" for run in lost for text in run.counts))


def _identity(content: CountsFile, run: CountedRun, text: Text) -> tuple[object, ...]:
    """Equal for counts that stand for each other: also those of another search of one model are kept."""
    return run.name, run.recipe, text, content.texts[text].checksum, content.tokenise, run.counts[text]


def read_counts(path: Path) -> CountsFile:
    """The counts in a file; FileError if it holds something else."""
    try:
        found = CountsFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise FileError(
            f"{path}: expected the counts.json of an experiment; {where}: {first['msg']}. "
            "Take the file that `trdec experiment` wrote beside its report."
        ) from error
    for run in found.runs:
        for text, counts in run.counts.items():
            expected = found.texts[text].sentences if text in found.texts else 0
            if len(counts) != expected:
                raise FileError(
                    f"{path}: expected counts of {expected:,} sentences of {text} for {run.name}, found "
                    f"{len(counts):,}. Take the file that `trdec experiment` wrote beside its report."
                )
    for text in found.texts:
        lengths = {run.name: reference_lengths(run.counts[text]) for run in found.runs if text in run.counts}
        for name, own in lengths.items():
            if not any(own) or own != next(iter(lengths.values())):
                raise FileError(
                    f"{path}: expected the same reference of {text} for all runs, with words; found another for "
                    f"{name}. Take the file that `trdec experiment` wrote beside its report."
                )
    return found
