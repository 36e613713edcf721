"""Demands on translations into raw text, whose words carry their spaces: a full stop has none before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from support.small_models import RULES, SMALL, Tiny
from support.toy_corpora import files
from trdec.configuration.sections import CorpusConfiguration, DataConfiguration, SubwordConfiguration
from trdec.corpora.toy.generate import write_corpus
from trdec.data.batch import SourceBatch
from trdec.data.prepare import Preparation, prepare
from trdec.errors import SearchError
from trdec.model.translation_model import TranslationModel
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.constraints import ExactWords, Prefix, Skeleton
from trdec.search.frontiers import WORDS, Effects
from trdec.search.limits import LengthLimits
from trdec.search.state import Constraint, SearchState
from trdec.search.tabular import TabularModel
from trdec.systems import SYSTEMS
from trdec.targets.actions import ApplyRule, EmitWord
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import Seq2SeqTarget
from trdec.targets.target import ActionTable
from trdec.tokenisers import UnicodeTokeniser
from trdec.translation.demands import Demands
from trdec.translation.source import read_source
from trdec.translation.translator import Translator
from trdec.trees.grammar import Grammar, Rule

systems = pytest.mark.parametrize("system", ["trdec-con", "trdec-binary", "seq2seq"])


@dataclass(frozen=True)
class Raw:
    """A small random network that writes raw text, and what it would be trained on."""

    made: Preparation
    translator: Translator
    model: TranslationModel
    sources: list[str]
    targets: list[str]


@cache
def _folder() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory()
    write_corpus(Path(folder.name), 40, seed=1)
    return folder


@cache
def _raw(system: str) -> Raw:
    """The toy language as people write it, with a question that has a no-break space before its mark."""
    folder = Path(_folder().name)
    for name in ("dev.vel", "dev.en"):
        text = (folder / name).read_text(encoding="utf-8")
        for mark in ".,?":
            text = text.replace(f" {mark}", "\u00a0?" if mark == "?" else mark)
        (folder / f"raw.{name}").write_text(text, encoding="utf-8")
    corpus = files(folder, "dev").model_copy(
        update={"source": folder / "raw.dev.vel", "target": folder / "raw.dev.en", "supertags": None}
    )
    assert isinstance(corpus, CorpusConfiguration)
    small = SubwordConfiguration(size=70)
    data = DataConfiguration(
        train=corpus, dev=corpus, tokeniser="unicode", source_subwords=small, target_subwords=small
    )
    row = SYSTEMS[system]
    made = prepare(data, row, folder / system)
    torch.manual_seed(1)
    configuration = SMALL.model_copy(update={"initialisation_range": 0.7})
    model = TranslationModel(configuration, made.codec.inventory(), row.encoder, row.decoder).eval()
    texts = [path.read_text(encoding="utf-8").splitlines() for path in (corpus.source, corpus.target)]
    return Raw(made, Translator([model], made.codec), model, *texts)


def _refused(raw: Raw, number: int, demands: Demands) -> str | None:
    """The first action of a training example that the demands forbid; None if they forbid none."""
    codec, example = raw.made.codec, raw.made.train[number]
    effects = Effects.of(codec.target, codec.table, [codec.unknown_action])
    read = read_source(codec, raw.sources[example.sentence], None)
    source = SourceBatch.of([read.pieces])
    constraints = demands.constraints(codec, effects, [read])
    bounds = LengthLimits(max_extra=len(example.actions), max_ratio=0).bounds(source.text_lengths, effects)
    with torch.inference_mode():
        state = SearchState.start(raw.model.for_search(), effects, source, bounds, constraints)
        for action in example.actions.tolist():
            log_probs, state = state.step()
            if not log_probs[0, action].isfinite():
                return str(codec.table.actions[action])
            state = state.take(torch.tensor([0]), torch.tensor([action]))
    return None


@systems
def test_every_word_of_what_was_learnt_ends_a_prefix_that_allows_the_rest(system: str) -> None:
    raw = _raw(system)
    tokeniser = raw.made.codec.target_side.tokeniser
    for number in range(3):
        words = tokeniser.split(raw.targets[raw.made.train[number].sentence])
        assert not words[-1].startswith("▁")
        for given in range(len(words) + 1):
            assert _refused(raw, number, Demands(prefixes=[tokeniser.join(words[:given])])) is None


@systems
def test_what_was_learnt_has_as_many_words_as_lie_between_spaces(system: str) -> None:
    raw = _raw(system)
    for number in range(3):
        count = len(raw.targets[raw.made.train[number].sentence].split(" "))
        assert count > 1
        refused = [_refused(raw, number, Demands(words=words)) is not None for words in (count - 1, count, count + 1)]
        assert refused == [True, False, True]


@systems
def test_translations_begin_with_the_prefix_and_end_its_last_word(system: str) -> None:
    raw = _raw(system)
    tokeniser = raw.made.codec.target_side.tokeniser
    for prefix in ("The", "The fish is small", "The fish is small.", "The fish\u00a0?"):
        given = tokeniser.split(prefix)
        demands = Demands(prefixes=[prefix] * 3)
        for translation in raw.translator.stream(raw.sources[:3], BeamSettings(4, 4), demands=demands):
            for found in (translation, *translation.alternatives):
                assert found.text.startswith(prefix)
                assert tokeniser.split(found.text)[: len(given)] == given


@systems
@pytest.mark.parametrize("count", [1, 3, 8])
def test_translations_have_the_number_of_words_between_spaces(system: str, count: int) -> None:
    raw = _raw(system)
    settings = BeamSettings(4, 4)
    for translation in raw.translator.stream(raw.sources[:3], settings, demands=Demands(words=count)):
        for found in (translation, *translation.alternatives):
            assert len(found.text.split(" ")) == count
    ratio = Demands(word_ratio=1.5)
    for source, translation in zip(
        raw.sources[:3], raw.translator.stream(raw.sources[:3], settings, demands=ratio), strict=True
    ):
        assert len(translation.text.split(" ")) == round(1.5 * len(source.split(" ")))


VOCABULARY = ["▁a", "▁", "b", ".", "\u00a0"]
"""A word, its space alone, a letter that continues one, and what stands after one without a plain space."""

TINY = {
    "derivation": DerivationTarget(Grammar({Rule.parse(rule): 1 for rule in RULES}), VOCABULARY),
    "seq2seq": Seq2SeqTarget((), VOCABULARY),
}
SOURCE = SourceBatch(torch.tensor([[1, 2, 3]]), torch.tensor([3]))


def _tiny(name: str, seed: int) -> Tiny:
    table = ActionTable(TINY[name])
    return Tiny(TINY[name], table, Effects.of(TINY[name], table), TabularModel(table, seed))


def _pieces(tiny: Tiny, actions: Sequence[int]) -> list[str]:
    found = (tiny.table.actions[number] for number in actions)
    return [action.word for action in found if isinstance(action, EmitWord)]


def _best(tiny: Tiny, constraints: Sequence[Constraint], most: int) -> list[tuple[int, ...]]:
    """What a beam wider than the space finds; a beam of 1 finds something wherever it does, whatever the model."""
    limits = LengthLimits(max_ratio=0, max_extra=most)
    try:
        (found,) = beam_search(tiny.model, tiny.effects, SOURCE, BeamSettings(9_000, 300, limits=limits), constraints)
    except SearchError:
        return []
    for seed in range(12):
        assert beam_search(
            TabularModel(tiny.table, seed), tiny.effects, SOURCE, BeamSettings(1, limits=limits), constraints
        )
    return [hypothesis.actions for hypothesis in found]


def _spells(pieces: Sequence[str]) -> bool:
    """Whether the first piece begins a word, and every space is followed by what it is the space of."""
    text = "".join(pieces)
    return (
        text.startswith("▁") and not any(pair in text for pair in ("▁▁", "▁\u00a0", "\u00a0\u00a0")) and text[-1] != "▁"
    )


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("most", [5, 6, 7])
def test_a_number_of_words_leaves_the_best_translations_that_have_it(name: str, count: int, most: int) -> None:
    most -= 2 * (name == "seq2seq")
    tiny = _tiny(name, seed=count)
    join = UnicodeTokeniser().join
    scored = sorted(
        ((log_prob / len(actions), actions) for actions, log_prob in tiny.derivations((1, 2, 3), most)), reverse=True
    )
    expected = [
        actions
        for _, actions in scored
        if _spells(pieces := _pieces(tiny, actions)) and len(join(pieces).split(" ")) == count
    ]
    exact = ExactWords.of_raw(tiny.table, tiny.effects.gains[:, WORDS] > 0, [count])
    assert _best(tiny, [exact], most) == expected[:300]


GIVEN = [[["▁a"], ["."]], [["▁a", "b"]], [["▁", "b"], ["."], ["."]]]
"""Prefixes: words of pieces."""

SHAPE = "ROOT -> S; S -> pre NP; NP -> pre"


def _prefix(tiny: Tiny, given: list[list[str]]) -> Prefix:
    return Prefix.of(tiny.table, [given], lambda _text, piece: piece == "b")


def _has_prefix(tiny: Tiny, given: list[list[str]], actions: tuple[int, ...]) -> bool:
    first = [piece for word in given for piece in word]
    ends = [place for place, word in enumerate(given) for _ in word]  # the word that each piece belongs to
    pieces = _pieces(tiny, actions)
    places = [place for place, number in enumerate(actions) if tiny.table.kinds[number] == "word"]
    whole = all(
        places[n + 1] == places[n] + 1 for n in range(min(len(places), len(first)) - 1) if ends[n] == ends[n + 1]
    )
    return pieces[: len(first)] == first and (not first or pieces[len(first) : len(first) + 1] != ["b"]) and whole


@cache
def _ranked(name: str, seed: int, most: int) -> list[tuple[int, ...]]:
    """All derivations of at most so many actions, best first."""
    derivations = _tiny(name, seed).derivations((1, 2, 3), most)
    scored = ((log_prob / len(actions), actions) for actions, log_prob in derivations)
    return [actions for _, actions in sorted(scored, reverse=True)]


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("most", [6, 7, 8])
def test_a_prefix_leaves_the_best_translations_that_begin_with_its_words(
    name: str, given: list[list[str]], most: int
) -> None:
    most -= 3 * (name == "seq2seq")
    tiny = _tiny(name, seed=most)
    expected = [actions for actions in _ranked(name, most, most) if _has_prefix(tiny, given, actions)]
    assert _best(tiny, [_prefix(tiny, given)], most) == expected[:300]


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("most", [6, 7, 8])
@pytest.mark.parametrize("count", [1, 2])
def test_a_prefix_and_a_number_of_words_leave_the_best_that_have_both(
    name: str, given: list[list[str]], most: int, count: int
) -> None:
    most -= 3 * (name == "seq2seq")
    tiny = _tiny(name, seed=most)
    exact = ExactWords.of_raw(tiny.table, tiny.effects.gains[:, WORDS] > 0, [count])
    expected = [
        actions
        for actions in _ranked(name, most, most)
        if _has_prefix(tiny, given, actions)
        and _spells(pieces := _pieces(tiny, actions))
        and len(UnicodeTokeniser().join(pieces).split(" ")) == count
    ]
    assert _best(tiny, [_prefix(tiny, given), exact], most) == expected[:300]


@pytest.mark.parametrize(("shape", "spare"), [("ROOT -> pre", 1), ("ROOT -> pre", 3), (SHAPE, 0), (SHAPE, 1)])
@pytest.mark.parametrize("given", [[], *GIVEN])
def test_a_skeleton_leaves_the_best_translations_of_its_shape(shape: str, given: list[list[str]], spare: int) -> None:
    rules = shape.split("; ")
    tiny = _tiny("derivation", seed=spare)
    most = len(rules) + 2 * sum("pre" in rule for rule in rules) + 1 + spare
    skeleton = Skeleton.of(tiny.table, [[ApplyRule(Rule.parse(rule)) for rule in rules]])
    expected = [
        actions
        for actions in _ranked("derivation", spare, most)
        if [str(tiny.table.actions[n]) for n in actions if tiny.table.kinds[n] == "rule"] == rules
        and _has_prefix(tiny, given, actions)
    ]
    assert _best(tiny, [_prefix(tiny, given), skeleton], most) == expected[:300]


@pytest.mark.parametrize("given", [[], *GIVEN])
@pytest.mark.parametrize("spare", [0, 1, 5])
def test_words_stop_in_time_for_the_rest_of_a_shape(given: list[list[str]], spare: int) -> None:
    rules = ["ROOT -> S", "S -> pre NP", "NP -> pre S pre", "S -> pre NP", "NP -> pre"]
    within = sum(len(word) - 1 for word in given)
    limits = LengthLimits(max_ratio=0, max_extra=len(rules) + 2 * 5 + 1 + within + spare)
    for seed in range(12):
        tiny = _tiny("derivation", seed)
        skeleton = Skeleton.of(tiny.table, [[ApplyRule(Rule.parse(rule)) for rule in rules]])
        constraints = [_prefix(tiny, given), skeleton]
        ((best,),) = beam_search(tiny.model, tiny.effects, SOURCE, BeamSettings(1, limits=limits), constraints)
        assert [str(tiny.table.actions[n]) for n in best.actions if tiny.table.kinds[n] == "rule"] == rules
        assert _has_prefix(tiny, given, best.actions)
