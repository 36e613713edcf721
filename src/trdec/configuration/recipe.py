"""A first configuration for a corpus: settings fit for its size, written as YAML with a reason for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trdec.configuration.values import write_yaml


@dataclass(frozen=True, slots=True)
class Setting:
    """A dotted key, its value, and why."""

    key: str
    value: object
    reason: str


def recipe_for(pairs: int) -> tuple[Setting, ...]:
    """The settings for a corpus of this many sentence pairs."""
    subwords = 2000 if pairs < 5_000 else 4000 if pairs <= 50_000 else 8000 if pairs <= 500_000 else 16_000
    small, medium = pairs < 20_000, pairs < 200_000
    hidden = 256 if small else 512
    sentences = 16 if small else 32 if medium else 64
    embeddings, tokens, states, readout = (
        (0.3, 0.1, 0.2, 0.3) if small else (0.2, 0.05, 0.1, 0.2) if medium else (0.1, 0.0, 0.0, 0.1)
    )
    passes = 20 if small else 10 if medium else 5
    once = max(1, -(-pairs // sentences))
    updates = passes * once
    size = f"of {pairs:,} pairs"
    return (
        Setting("data.source_subwords.size", subwords, f"pieces that words are split into; fit for a corpus {size}"),
        Setting("data.target_subwords.size", subwords, "the same for the target"),
        Setting("batches.batch_type", "sentences", "so that every system sees the same pairs in an update"),
        Setting("batches.batch_size", sentences, "small batches learn more from few pairs, large ones are faster"),
        Setting("model.embedding_size", hidden, f"a network for a corpus {size}"),
        Setting("model.hidden_size", hidden, "the size of every LSTM; larger is slower and needs more text"),
        Setting("model.dropout.embeddings", embeddings, "dropout keeps the model from learning pairs by heart"),
        Setting("model.dropout.tokens", tokens, "the less text there is, the more dropout helps"),
        Setting("model.dropout.states", states, "lower all four if the training loss hardly falls"),
        Setting("model.dropout.readout", readout, "raise them if the dev loss rises while the training loss falls"),
        Setting("training.max_updates", updates, f"about {passes} passes over the pairs"),
        Setting("training.validate_every", once, "about one pass over the pairs"),
        Setting("training.label_smoothing", 0.1, "the model is not pushed to be entirely certain"),
        Setting("training.optimiser.learning_rate", 0.002 if small else 0.001, "Adam's rate at its highest"),
        Setting("training.schedule.kind", "cosine", "the rate rises, then falls to zero at the last update"),
        Setting("training.schedule.warmup_updates", min(200 if small else 1000, updates // 4), "updates that it rises"),
    )


def write_recipe(settings: Iterable[Setting], heading: Iterable[str]) -> str:
    """The settings as YAML that `load_configuration` reads, each with its reason as a comment."""
    tree: dict[str, Any] = {}
    for setting in settings:
        *outer, last = setting.key.split(".")
        mapping = tree
        for part in outer:
            mapping = mapping.setdefault(part, {})
        mapping[last] = setting
    return "".join(f"{line}\n" for line in (*(f"# {line}".rstrip() for line in heading), *_lines(tree, "")))


def _lines(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in tree.items():
        if not indent:
            yield ""
        if isinstance(value, Setting):
            yield f"{indent}{key}: {write_yaml(value.value)}".ljust(40) + f"  # {value.reason}"
        else:
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
