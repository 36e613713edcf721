"""What an experiment's folder has from before: a report covers all of its runs, not only those of the last command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from trdec.experiment.configuration import EXPERIMENT_FILE, ExperimentConfiguration, load_experiment
from trdec.experiment.plan import Plan, Run, ensemble_of, make_plan
from trdec.experiment.run import Records

AnyName = TypeVar("AnyName")
AnyValue = TypeVar("AnyValue")


def earlier_experiment(experiment: ExperimentConfiguration) -> ExperimentConfiguration | None:
    """The experiment with the systems and seeds that its folder was last asked for, if it was used before."""
    file = experiment.output / EXPERIMENT_FILE
    if not file.exists():
        return None
    saved = load_experiment(file)
    own = {row.name: row for row in experiment.systems}
    rows = tuple(own.get(row.name, row) for row in saved.systems)
    return experiment.model_copy(update={"systems": rows, "seeds": saved.seeds, "ensembles": saved.ensembles})


def with_earlier(
    experiment: ExperimentConfiguration, earlier: ExperimentConfiguration | None
) -> ExperimentConfiguration:
    """The experiment with everything that its folder was asked for, before and now.

    What was there before keeps its order, and what is new follows, unless the experiment names all of it again.
    """
    if earlier is None:
        return experiment
    rows = _joined({row.name: row for row in earlier.systems}, {row.name: row for row in experiment.systems})
    seeds = _joined(dict.fromkeys(earlier.seeds), dict.fromkeys(experiment.seeds))
    ensembles = earlier.ensembles or experiment.ensembles
    return experiment.model_copy(
        update={"systems": tuple(rows.values()), "seeds": tuple(seeds), "ensembles": ensembles}
    )


def covering_plan(plan: Plan, earlier: ExperimentConfiguration | None) -> Plan:
    """The plan, and those runs and ensembles of before that were trained as this experiment trains."""
    everything = with_earlier(plan.experiment, earlier)
    if earlier is None or everything == plan.experiment:
        return plan
    whole = make_plan(everything)
    records, own = Records(whole), {run.name for run in plan.runs}
    runs = tuple(run for run in whole.runs if run.name in own or records.finished(run, "train") is not None)
    systems, seeds = {run.system for run in runs}, {run.seed for run in runs}
    together = _joined(
        {row.name: found for row in everything.systems if (found := _translated_together(whole, row.name))},
        {ensemble.system: ensemble for ensemble in plan.ensembles},
    )
    rows = tuple(row for row in whole.experiment.systems if row.name in systems)
    left = {"systems": rows, "seeds": tuple(seed for seed in whole.experiment.seeds if seed in seeds)}
    return Plan(
        whole.experiment.model_copy(update=left),
        runs,
        tuple(together[row.name] for row in rows if row.name in together),
    )


def _translated_together(whole: Plan, system: str) -> Run | None:
    """The ensemble of a system that has translations in the folder: of the seeds that their record names."""
    runs = tuple(run for run in whole.runs if run.system == system)
    seeds = Records(whole).seeds_together(ensemble_of(whole.experiment, runs))
    if seeds is None:
        return None
    members = tuple(run for run in runs if run.seed in seeds)
    return ensemble_of(whole.experiment, members) if len(members) == len(seeds) else None


def _joined(before: Mapping[AnyName, AnyValue], now: Mapping[AnyName, AnyValue]) -> dict[AnyName, AnyValue]:
    """All of both: in the order of `now` if it names everything, else what is new comes last. `now` has the values."""
    return dict(now) if before.keys() <= now.keys() else {**before, **now}
