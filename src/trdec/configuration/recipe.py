"""Settings fit for a corpus and a system: the defaults of a training, and what `init` writes with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trdec.configuration.sections import SearchConfiguration
from trdec.configuration.values import write_yaml
from trdec.systems import ANNOTATIONS, TRANSFORMERS, System


@dataclass(frozen=True, slots=True)
class Setting:
    """A dotted key, its value, and why."""

    key: str
    value: object
    reason: str


FEW_PAIRS = 50_000
"""Up to so many pairs the recipe for few is used. It is better than the recipe for larger corpora at 20,000 and 29,000
pairs; beyond these it is a guess.
"""

ENOUGH_PAIRS = 64_000
"""A small corpus is seen until so many pairs were trained on, but at least ten times and at most forty."""


PAIR_IN_ACTIONS = 100
"""A guess at the source pieces and target steps of a pair, where batches count these."""


FOR_TRANSFORMERS: Mapping[str, Callable[[Any], object]] = {
    "model.lexical": lambda _: False,
    "training.guidance": lambda _: 0.0,
    "training.optimiser.learning_rate": lambda rate: rate / 2,
    "training.schedule.warmup_updates": lambda updates: 2 * updates,
}
"""How a recipe value changes where encoder or decoder is a Transformer; no Transformer was tried with the first two."""


def recipe_for(pairs: int, batch_size: int | None = None, accumulate: int = 1) -> tuple[Setting, ...]:
    """The settings that depend on a corpus's size, for this many sentence pairs.

    The number of sentences in a batch may be given, and how many batches make an update.
    """
    subwords = 2000 if pairs < 5_000 else 4000 if pairs <= FEW_PAIRS else 8000 if pairs <= 500_000 else 16_000
    small, medium = pairs <= FEW_PAIRS, pairs < 200_000
    hidden = 256 if small else 512
    sentences = batch_size or (16 if small else 32 if medium else 64)
    embeddings, states, readout = (0.2, 0.1, 0.2) if medium else (0.1, 0.0, 0.1)
    once = max(1, -(-pairs // (sentences * accumulate)))
    passes = min(40, max(10, -(-ENOUGH_PAIRS // max(1, pairs)))) if medium else 5
    updates = passes * once
    size = f"of {pairs:,} pairs"
    return (
        Setting("data.source_subwords.size", subwords, f"pieces that words are split into; fit for a corpus {size}"),
        Setting("data.target_subwords.size", subwords, "the same for the target"),
        Setting("batches.batch_size", sentences, "sentences: smaller make more updates, larger are faster"),
        Setting("model.embedding_size", hidden, f"a network for a corpus {size}"),
        Setting("model.hidden_size", hidden, "the size of every LSTM; larger is slower and needs more text"),
        Setting("model.tie_embeddings", small, "one matrix embeds actions and chooses them: fewer weights to learn"),
        Setting("model.lexical", small, "what a piece means by itself is learnt, too: fewer words are confused"),
        Setting("model.dropout.embeddings", embeddings, "dropout keeps the model from learning pairs by heart"),
        Setting("model.dropout.states", states, "lower all three if the training loss hardly falls"),
        Setting("model.dropout.readout", readout, "raise them if the dev loss rises while the training loss falls"),
        Setting("training.max_updates", updates, f"about {passes} passes over the pairs"),
        Setting("training.validate_every", once, "about one pass over the pairs"),
        Setting("training.guidance", 0.5 if small else 0.0, "attention is told which pieces occur together"),
        Setting("training.optimiser.learning_rate", 0.004 if small else 0.001, "Adam's rate at its highest"),
        Setting(
            "training.schedule.warmup_updates",
            min(200 if small else 1000, updates // 4),
            "updates in which the rate rises",
        ),
    )


def search_for(system: System) -> SearchConfiguration:
    """How a model of this system translates before it is tuned.

    What writes a tree gains more from a wider beam than what writes words alone. Where a parser's tree is uncertain,
    the most probable one is small: such derivations come out too short at the power 1 that suits all others.
    """
    is_parsed = any(kind in ANNOTATIONS for kind in system.trees)
    return SearchConfiguration(
        beam_size=5 if system.target == "seq2seq" else 10,
        length_power=1.5 if system.target == "derivation" and is_parsed else 1.0,
    )


def with_recipe(content: Mapping[str, Any], pairs: int) -> dict[str, Any]:
    """A configuration's content, with the recipe's values for the keys that it leaves out.

    What does not fit what it says is left out, too: a size that counts sentences where batches count actions, and
    what is known to work with our networks where it names its own. A Transformer has rates of its own.
    """
    in_actions = _given(content, "batches", "batch_type") == "actions"
    size = _positive(_given(content, "batches", "batch_size"))
    sentences = max(1, size // PAIR_IN_ACTIONS) if size and in_actions else size
    parts = [str(_given(content, "system", part)) for part in ("encoder", "decoder")]
    own_network, transformer = any(":" in part for part in parts), not TRANSFORMERS.isdisjoint(parts)
    unfit = {
        "batches.batch_size": in_actions,
        "model.tie_embeddings": own_network or _given(content, "model", "readout") == "paper",  # features of any size
        "model.lexical": own_network,  # perhaps without attention
    }
    filled = dict(content)
    for setting in recipe_for(pairs, sentences, _positive(_given(content, "training", "accumulate")) or 1):
        if not unfit.get(setting.key):
            change = FOR_TRANSFORMERS.get(setting.key) if transformer else None
            _fill(filled, setting.key.split("."), change(setting.value) if change else setting.value)
    return filled


def _given(content: Mapping[str, Any], section: str, key: str) -> object:
    found = content.get(section)
    return found.get(key) if isinstance(found, Mapping) else None


def _positive(value: object) -> int | None:
    """The value if it is a positive integer, else None; what is wrong is reported where all keys are checked."""
    return value if isinstance(value, int) and value > 0 else None


def _fill(mapping: dict[str, Any], key: Sequence[str], value: object) -> None:
    """Give the key this value, unless it has one; what is not a mapping, but should be, is left as it is."""
    first, *rest = key
    if not rest:
        mapping.setdefault(first, value)
        return
    inner = mapping.get(first, {})
    if isinstance(inner, Mapping):
        mapping[first] = dict(inner)
        _fill(mapping[first], rest, value)


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
