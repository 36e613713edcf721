"""What holds of a search with any network, random or trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from support.small_models import Small, may_follow
from trdec.data.batch import Batch
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.hypotheses import Hypothesis
from trdec.search.limits import LengthLimits
from trdec.targets.target import replay
from trdec.trees.tree import Nonterminal, preorder, words

NUMBERS = [0, 1, 2, 3, 4, 5]


def legal_and_whole(one: Small, hypothesis: Hypothesis) -> None:
    """The actions are a whole derivation, and its tree has the words that they write."""
    actions = [one.codec.table.actions[number] for number in hypothesis.actions]
    assert len(replay(one.codec.target, actions)) == len(actions)
    decoded = one.codec.decode(hypothesis.actions)
    assert words(decoded.pieces) == [a.word for a in actions if type(a).__name__ == "EmitWord"]
    assert decoded.text.split() == words(decoded.tree)
    assert one.codec.unknown_action not in hypothesis.actions
    # Every phrase has a word, so no node is lost where pieces become words.
    assert sum(type(node) is Nonterminal for node in preorder(decoded.tree)) == sum(
        type(node) is Nonterminal for node in preorder(decoded.pieces)
    )


def forced_log_probs(one: Small, number: int, hypothesis: Hypothesis) -> list[float]:
    """The log-probability that training would give each action."""
    steps = one.codec.table.steps(np.array(hypothesis.actions, dtype=np.int32))
    columns = torch.from_numpy(steps).long().unsqueeze(0)  # 1 T 3
    batch = Batch(one.sources([number]), *columns.unbind(2), torch.zeros(columns.shape[:2], dtype=torch.bool))
    with torch.no_grad():
        return one.model.log_probs(batch)[0].tolist()


def is_legal_and_scored_as_in_training(one: Small) -> None:
    """What is found is a legal derivation that reads back to its text, best first, with the scores of training."""
    settings = BeamSettings(6, 4, limits=LengthLimits(max_ratio=1.0, max_extra=15))
    found = beam_search(one.searching, one.effects, one.sources(NUMBERS), settings)
    for number, hypotheses in zip(NUMBERS, found, strict=True):
        assert len(hypotheses) == 4
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        assert len({h.actions for h in hypotheses}) == 4
        for hypothesis in hypotheses:
            legal_and_whole(one, hypothesis)
            forced = forced_log_probs(one, number, hypothesis)
            assert list(hypothesis.action_log_probs) == pytest.approx(forced, abs=1e-9)
            assert hypothesis.log_prob == pytest.approx(sum(forced), abs=1e-9)
            assert hypothesis.score == pytest.approx(sum(forced) / len(forced), abs=1e-9)


def is_the_same_in_any_batch(one: Small) -> None:
    """A sentence alone is translated as it is among others."""
    for size in (1, 5):
        settings = BeamSettings(size, size, limits=LengthLimits(max_ratio=2.0, max_extra=15))
        together = beam_search(one.searching, one.effects, one.sources(NUMBERS), settings)
        for number, hypotheses in zip(NUMBERS, together, strict=True):
            (alone,) = beam_search(one.searching, one.effects, one.sources([number]), settings)
            assert [h.actions for h in alone] == [h.actions for h in hypotheses]
            assert [h.score for h in alone] == pytest.approx([h.score for h in hypotheses])


def _greedy(one: Small, number: int, most: int) -> list[int]:
    """Always the most probable action, by the target's own states, until the end or for so many steps."""
    table, target = one.codec.table, one.codec.target
    memory = one.model.encode(one.sources([number]))
    state, symbolic = one.model.start(memory), target.start()
    actions: list[int] = []
    previous = one.model.num_actions
    while not symbolic.finished and len(actions) < most:
        symbol, parent = table.symbol_number(symbolic.symbol), symbolic.parent
        log_probs, state = one.model.step(
            state, memory, torch.tensor([previous]), torch.tensor([symbol]), torch.tensor([parent])
        )
        log_probs[0, one.codec.unknown_action] = -torch.inf
        for action_number, action in enumerate(table.actions):
            if not may_follow(table, actions, action):
                log_probs[0, action_number] = -torch.inf
        previous = int(log_probs[0].argmax())
        actions.append(previous)
        symbolic = target.advance(symbolic, table.actions[previous])
    return actions


def is_greedy_with_a_beam_of_1(one: Small, most: int = 12) -> None:
    """A beam of 1 takes the most probable action at each of so many steps."""
    settings = BeamSettings(1, limits=LengthLimits(max_ratio=0, max_extra=300))
    found = beam_search(one.searching, one.effects, one.sources(NUMBERS), settings)
    for number, (hypothesis,) in zip(NUMBERS, found, strict=True):
        # Random networks may never end: then they agree until the greatest length makes itself felt.
        assert list(hypothesis.actions[:most]) == _greedy(one, number, most)
