"""The loss of given translations, divided among the kinds of actions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trdec.translation.loss_by_kind import KindLoss, loss_by_kind
from trdec.translation.scoring import Forced, Scored, ScoredAction

actions = st.builds(
    ScoredAction,
    text=st.just("x"),
    kind=st.sampled_from(["rule", "word", "mark", "eop", "eos"]),
    log_prob=st.floats(-50, 0),
)
translations = st.lists(st.none() | st.lists(actions, min_size=1, max_size=8), max_size=8)


@given(translations)
def test_shares_sum_to_one_and_parts_to_the_total(found: list[list[ScoredAction] | None]) -> None:
    scored = [Scored(Forced(tuple(each))) if each else Scored(None, problem="no tree") for each in found]
    losses = loss_by_kind(scored)
    every = [action for each in found if each for action in each]
    assert losses.sentences + losses.left_out == len(found)
    assert losses.total.actions == len(every)
    assert losses.total.nats == pytest.approx(-math.fsum(action.log_prob for action in every))
    assert losses.tree.nats + losses.words.nats == pytest.approx(losses.total.nats)
    assert losses.tree.actions + losses.words.actions == losses.total.actions
    shares = [losses.share(loss) for loss in losses.kinds.values()]
    assert math.fsum(shares) == pytest.approx(1 if losses.total.nats else 0)
    per_sentence = [losses.per_sentence(loss) for loss in losses.kinds.values()]
    assert math.fsum(per_sentence) == pytest.approx(losses.per_sentence(losses.total))
    content = losses.to_json()
    assert content["tree"]["share"] + content["words"]["share"] == pytest.approx(math.fsum(shares))


def test_a_sure_thing_costs_nothing() -> None:
    losses = loss_by_kind([Scored(Forced((ScoredAction("x", "word", -2.0), ScoredAction("<eos>", "eos", 0.0))))])
    assert losses.kinds == {"word": KindLoss(1, 2.0), "eos": KindLoss(1, 0.0)}
    assert str(losses.kinds["eos"].nats) == "0.0"
    assert (losses.share(losses.words), losses.share(losses.tree)) == (1, 0)
    assert loss_by_kind([]).to_json()["total"]["nats_per_sentence"] == 0
