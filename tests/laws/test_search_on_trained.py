"""The laws of search on trained networks of all systems and decoders, and on a space small enough to list whole."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support.search_laws import (
    NUMBERS,
    is_greedy_with_a_beam_of_1,
    is_legal_and_scored_as_in_training,
    is_the_same_in_any_batch,
)
from support.small_models import ROWS, Small, may_follow
from trdec.configuration import load_configuration
from trdec.corpora.toy.generate import write_corpus
from trdec.data.batch import collate
from trdec.data.codec import Codec
from trdec.data.store import Example
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.frontiers import Effects
from trdec.search.limits import LengthLimits, Normalisation
from trdec.systems import system_name
from trdec.training.trainer import train
from trdec.translation.model_directory import load_model

pytestmark = pytest.mark.slow

RECIPE = Path(__file__).parent.parent.parent / "configs" / "toy.yaml"

SMALL = [
    *(
        "data.source_subwords.size=80",
        "data.target_subwords.size=70",
        "model.dropout={embeddings: 0, states: 0, readout: 0}",
    ),
    *("model.embedding_size=32", "model.hidden_size=32", "training.plot=false"),
    *("training.max_updates=90", "training.validate_every=90", "training.schedule.warmup_updates=5"),
    *("training.optimiser.learning_rate=0.02", "model.transformer={layers: 1, heads: 2, feed_forward: 64}"),
]
"""The toy recipe made so small that a system learns some sentences by heart in seconds."""

SPACE = range(500, 30_000)
"""How many derivations are few enough to list, and many enough that a search could miss the best."""


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    write_corpus(folder / "toy", 12, 1)
    return folder


@pytest.fixture(scope="session", params=ROWS)
def trained(request: pytest.FixtureRequest, toy: Path) -> Small:
    """A network that learnt, in double precision, so that rounding decides nothing."""
    torch.set_num_threads(1)
    output = toy / request.param
    system = json.dumps(ROWS[request.param].model_dump(mode="json"))
    overrides = [f"system={system}", f"folder={toy / 'toy'}", f"output={output}", *SMALL]
    train(load_configuration(RECIPE, overrides))
    codec, model, _ = load_model(output)
    lines = (toy / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()
    effects = Effects.of(codec.target, codec.table, [codec.unknown_action])
    return Small(codec, model.double(), effects, lines)


def test_the_networks_have_learnt(trained: Small) -> None:
    """Most of what they write is certain, unlike what a random network writes."""
    found = beam_search(trained.searching, trained.effects, trained.sources(NUMBERS), BeamSettings(5))
    certainties = [log_prob > -0.3 for (hypothesis,) in found for log_prob in hypothesis.action_log_probs]
    assert sum(certainties) > 0.6 * len(certainties)
    assert not any(hypothesis.truncated for (hypothesis,) in found)


def test_what_is_found_is_legal_and_has_the_score_that_training_gives(trained: Small) -> None:
    is_legal_and_scored_as_in_training(trained)


def test_a_sentence_is_translated_the_same_in_any_batch(trained: Small) -> None:
    is_the_same_in_any_batch(trained)


def test_a_beam_of_1_is_greedy_to_the_end(trained: Small) -> None:
    is_greedy_with_a_beam_of_1(trained, most=150)


@pytest.mark.parametrize("normalisation", [Normalisation(0.0), Normalisation(1.0)], ids=["none", "actions"])
def test_a_beam_wider_than_the_space_finds_what_enumeration_finds(trained: Small, normalisation: Normalisation) -> None:
    """All derivations of a few words, up to a length at which there are hundreds or thousands of them."""
    codec = trained.codec
    banned = _all_words_but(trained, 4)
    effects = Effects.of(codec.target, codec.table, banned)
    most, space = _space(codec, banned)
    print(f"{system_name(codec.system)}: {len(space)} derivations of at most {most} actions")
    assert len(space) in SPACE
    settings = BeamSettings(len(space) + 1, len(space), normalisation, LengthLimits(max_ratio=0, max_extra=most))
    for number in NUMBERS[:2]:
        log_probs = _scored(trained, number, space)
        expected = sorted(
            ((normalisation.score(log_probs[actions], len(actions), 0), actions) for actions in space), reverse=True
        )
        (found,) = beam_search(trained.searching, effects, trained.sources([number]), settings)
        assert {hypothesis.actions for hypothesis in found} == set(space)
        assert [h.actions for h in found[:20]] == [actions for _, actions in expected[:20]]
        assert [h.score for h in found] == pytest.approx([score for score, _ in expected])
        assert [h.log_prob for h in found] == pytest.approx([log_probs[h.actions] for h in found])


def _all_words_but(one: Small, count: int) -> set[int]:
    """The numbers of all words but some that the network would write."""
    ((best,),) = beam_search(one.searching, one.effects, one.sources(NUMBERS[:1]), BeamSettings(5))
    words = [number for number, kind in enumerate(one.codec.table.kinds) if kind == "word"]
    kept = list(dict.fromkeys(number for number in best.actions if number in words))[:count]
    return set(words) - set(kept)


def _space(codec: Codec, banned: Collection[int]) -> tuple[int, list[tuple[int, ...]]]:
    """The least greatest length that allows enough derivations, and all of them."""
    most = 2
    while len(space := list(_derivations(codec, banned, most))) < SPACE.start:
        most += 1
    return most, space


def _derivations(codec: Codec, banned: Collection[int], most: int) -> Iterator[tuple[int, ...]]:
    """Every derivation of at most so many actions, none of them banned, by the target's own states."""
    target, table = codec.target, codec.table
    needs = _needs(codec)
    # What `<eos>` closes is not counted among the needs, so the last action may leave less than nothing needed.
    stack: list[tuple[tuple[int, ...], Any, int]] = [((), target.start(), needs[target.start().symbol])]
    while stack:
        history, state, needed = stack.pop()
        if state.finished:
            yield history
            continue
        for action in target.legal(state.symbol):
            number = table.number(action)
            still = needed - needs[state.symbol] + sum(needs[symbol] for symbol in target.replacement(action))
            fits = len(history) + 1 + max(0, still) <= most
            if number not in banned and fits and may_follow(table, history, action):
                stack.append(((*history, number), target.advance(state, action), still))


def _needs(codec: Codec) -> dict[str, int]:
    """The fewest actions that complete each symbol: what cannot be done in time need not be listed."""
    target = codec.target
    needs = dict.fromkeys(target.symbols, 10**6)
    for _ in target.symbols:
        for symbol in target.symbols:
            least = min(1 + sum(needs[opened] for opened in target.replacement(a)) for a in target.legal(symbol))
            needs[symbol] = min(needs[symbol], least)
    return needs


def _scored(one: Small, number: int, space: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """The log-probability that training would give each derivation."""
    source = one.codec.encode_source(one.lines[number])
    log_probs = {}
    for begin in range(0, len(space), 1000):
        some = space[begin : begin + 1000]
        examples = [Example(source, np.array(derivation, dtype=np.int32), 0, 0) for derivation in some]
        with torch.no_grad():
            totals = one.model.log_probs(collate(examples, one.codec.table.steps)).sum(dim=1).tolist()
        longest_first = sorted(some, key=lambda derivation: -len(derivation))  # as `collate` orders them
        log_probs.update(zip(longest_first, totals, strict=True))
    return log_probs
