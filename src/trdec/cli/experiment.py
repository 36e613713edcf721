"""`trdec experiment`: systems times seeds, trained, translated, scored and reported."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trdec.cli.options import DaskOption, say, standard_error
from trdec.errors import TrdecError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from trdec.experiment.configuration import ExperimentConfiguration
    from trdec.experiment.plan import Plan
    from trdec.experiment.run import Failure, Machines


def experiment_command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A YAML file; configs/experiments/ has recipes.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Keys of the file to change, such as seeds=[1,2,3]."),
    ] = None,
    scale: Annotated[str | None, typer.Option("--scale", help="One of the sizes that the file describes.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=1024, help="Runs at the same time, one thread each.")] = max(
        1, min(2, os.cpu_count() or 1)
    ),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done and how long it would take; change nothing.")
    ] = False,
    dask: DaskOption = None,
    report_only: Annotated[
        bool, typer.Option("--report", help="Report on the runs that are finished so far; run nothing.")
    ] = False,
) -> None:
    """Train systems with seeds, translate, score, and report; after an interruption, the same command resumes."""
    from trdec.experiment.configuration import EXPERIMENT_FILE, load_experiment
    from trdec.experiment.display import ExperimentDisplay
    from trdec.experiment.earlier import with_earlier
    from trdec.experiment.plan import make_plan
    from trdec.experiment.run import execute

    chosen = load_experiment(config, overrides or (), scale)
    if dry_run:
        _show_plan(chosen, jobs)
        return
    plan = make_plan(chosen)
    if report_only:
        _report(plan, [])
        return
    _make_toy(chosen, plan)
    plan.check_files()
    plan.directory.mkdir(parents=True, exist_ok=True)
    with_earlier(chosen, _earlier(chosen)).save(plan.directory / EXPERIMENT_FILE)
    with _machines(dask, chosen.memory) as machines, ExperimentDisplay(plan, standard_error()) as display:
        try:
            failures = execute(plan, jobs if dask is None else len(plan.runs), display, machines)
        except KeyboardInterrupt:
            say("trdec: interrupted; trainings wrote checkpoints. Run the same command again to resume.")
            raise typer.Exit(130) from None
    _list_failures(failures)
    ended = {failure.run.name for failure in failures if failure.ends_run}
    if any(run.name not in ended for run in plan.runs):
        _report(plan, failures)
    if failures:
        raise typer.Exit(1)


def _machines(scheduler: str | None, memory: float) -> AbstractContextManager[Machines | None]:
    """Where stages run: the cluster of a scheduler, or here."""
    if scheduler is None:
        return nullcontext()
    from trdec.experiment.cluster import cluster_of

    return cluster_of(scheduler, memory)


def _earlier(chosen: ExperimentConfiguration) -> ExperimentConfiguration | None:
    """What the folder was asked for before; a file that cannot be read any more is no reason to stop."""
    from trdec.experiment.earlier import earlier_experiment

    try:
        return earlier_experiment(chosen)
    except TrdecError as error:
        say(f"WARNING: {chosen.output} was used before, but it cannot be read for what:\n  {error}")
        return None


def _report(plan: Plan, failures: Sequence[Failure]) -> None:
    """Report on the runs of the plan, and on the others that its folder has by now."""
    from trdec.experiment.earlier import covering_plan
    from trdec.experiment.plan import shell_command
    from trdec.experiment.report import write_report

    try:
        covering = covering_plan(plan, _earlier(plan.experiment))
    except TrdecError as error:
        say(f"WARNING: runs that {plan.directory} has from before are not in the report:\n  {error}")
        covering = plan
    reasons: dict[str, str] = {}
    for failure in failures:
        before = f"{reasons[failure.run.name]}\n" if failure.run.name in reasons else ""
        reasons[failure.run.name] = f"{before}failed to {failure.stage}: {failure.reason}"
    written = write_report(covering, reasons, shell_command(sys.argv[1:]), plan)
    if written.kept is not None:
        say(written.kept.warning(written.counts))
    say(f"the report is in {written.html} and {written.markdown}")
    print(written.html)


def _make_toy(chosen: ExperimentConfiguration, plan: Plan) -> None:
    if chosen.toy is None:
        return
    from trdec.corpora.toy.generate import write_corpus
    from trdec.files import writing

    note, described = plan.folder.with_suffix(".json"), chosen.toy.model_dump_json()
    if not note.exists() or note.read_text(encoding="utf-8") != described:
        say(f"making a toy corpus of {chosen.toy.sentences:,} sentences in {plan.folder}")
        plan.folder.parent.mkdir(parents=True, exist_ok=True)
        write_corpus(plan.folder, chosen.toy.sentences, chosen.toy.seed)
        with writing(note) as stream:  # only once the corpus is complete
            stream.write(described)


def _show_plan(chosen: ExperimentConfiguration, jobs: int) -> None:
    """Print every command, then try out each system briefly and estimate how long everything will take."""
    from trdec.corpora.toy.generate import write_corpus
    from trdec.experiment.estimate import estimates, total_seconds
    from trdec.experiment.plan import make_plan, shell_command

    plan = make_plan(chosen)
    for run in (*plan.runs, *plan.ensembles):
        print(f"# {run.name}")
        for command in run.commands.values():
            print(shell_command(command))
    folder: AbstractContextManager[str]
    folder = tempfile.TemporaryDirectory(prefix="trdec-toy-") if chosen.toy else nullcontext("")
    with folder as name:
        if chosen.toy:
            write_corpus(Path(name) / "toy", chosen.toy.sentences, chosen.toy.seed)
            plan = make_plan(chosen.model_copy(update={"toy": None, "folder": Path(name) / "toy"}))
        plan.check_files()
        say(f"trying out {len(chosen.systems)} systems, to see how long {len(plan.runs)} runs will take ...")
        found = {}
        for estimate in estimates(plan, jobs):
            found[estimate.system] = estimate
            print(
                f"# {estimate.system}: about {_duration(estimate.training)} to train, "
                f"{_duration(estimate.translating)} to translate"
            )
    print(f"# all {len(plan.runs)} runs, {jobs} at a time: about {_duration(total_seconds(plan, found, jobs))}")


def _list_failures(failures: list[Failure]) -> None:
    for failure in failures:
        indented = "\n".join(f"  {line}" for line in failure.reason.splitlines())
        say(f"{failure.run.name}: failed to {failure.stage}; see {failure.log}\n{indented}")


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=max(1, round(seconds))))
