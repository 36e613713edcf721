"""What the translation server answers to its page, made of trees instead of by a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trdec.data.source_form import SOURCE_END
from trdec.serve.model_process import sentence_json
from trdec.targets.actions import KINDS, Action, EmitWord
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import LinTarget, Seq2SeqTarget
from trdec.tokenisers import WORD_START
from trdec.translation.attention import AttentionRow, TranslationAttention
from trdec.translation.scoring import ScoredAction
from trdec.translation.translation import Translation
from trdec.trees import brackets
from trdec.trees.tree import Nonterminal, Terminal, words

LINEARISE = {
    "trdec-con": DerivationTarget.linearise,
    "lin": LinTarget.linearise,
    "seq2seq": Seq2SeqTarget.linearise,
}
"""How each system writes a tree."""


def models(*systems: str, source: str = "Velu", target: str = "English") -> dict[str, Any]:
    """What the server says of its models, each named as its system."""
    languages = {"source": {"code": "vel", "name": source}, "target": {"code": "en", "name": target}}
    return {
        "models": [
            {"name": system, **languages, "system": system, "trees": system != "seq2seq", "beam_size": 5}
            for system in systems
        ]
    }


def answer(system: str, sentences: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The answer to a request with one text."""
    text = "\n".join(sentence["text"] for sentence in sentences)
    return {"model": system, "translations": [{"text": text, "sentences": list(sentences)}]}


def sentence(source: str, *trees: str | Nonterminal, system: str = "trdec-con") -> dict[str, Any]:
    """A sentence whose translation has the first of these trees; the others are its alternatives'."""
    best, *others = (candidate(source, tree, system) for tree in trees)
    return {**best, "alternatives": others}


def candidate(source: str, tree: str | Nonterminal, system: str = "trdec-con") -> dict[str, Any]:
    """One translation of a sentence, with this tree."""
    whole = brackets.parse(tree) if isinstance(tree, str) else tree
    return candidate_of(source, _in_pieces(LINEARISE[system](whole)), whole, has_tree=system != "seq2seq")


def candidate_of(source: str, actions: Sequence[Action], tree: Nonterminal, has_tree: bool = True) -> dict[str, Any]:
    """One translation of a sentence, with these actions, which write this tree."""
    scored = [ScoredAction(str(action), KINDS[type(action)], -0.01 * (n % 40)) for n, action in enumerate(actions)]
    log_prob = sum(action.log_prob for action in scored)
    pieces = (*(WORD_START + word for word in source.split()), SOURCE_END)
    translation = Translation(
        text=" ".join(words(tree)),
        tree=tree,
        score=log_prob / len(actions),
        log_prob=log_prob,
        actions=tuple(scored),
        attention=TranslationAttention(
            source=pieces,
            rows=tuple(row for number, action in enumerate(scored) for row in _rows(number, action, len(pieces))),
            words=_writers(actions),
        ),
    )
    content: dict[str, Any] = json.loads(sentence_json(source, translation, has_tree))
    return content


def _in_pieces(actions: Sequence[Action]) -> list[Action]:
    """The actions with each word as pieces, the first three characters apart from the rest."""
    found: list[Action] = []
    for action in actions:
        if isinstance(action, EmitWord):
            first, rest = action.word[:3], action.word[3:]
            found += [EmitWord(WORD_START + first), *([EmitWord(rest)] if rest else [])]
        else:
            found.append(action)
    return found


def _writers(actions: Sequence[Action]) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    for number, action in enumerate(actions):
        if isinstance(action, EmitWord):
            follows = number > 0 and isinstance(actions[number - 1], EmitWord)
            if action.word.startswith(WORD_START) or not follows:
                found.append(())
            found[-1] += (number,)
    return tuple(found)


def _rows(number: int, action: ScoredAction, pieces: int) -> list[AttentionRow]:
    """The rule RNN attends to the first piece; the word RNN mostly to the one whose place is that of the action."""
    first = tuple(float(piece == 0) for piece in range(pieces))
    mostly = tuple(0.9 * (piece == number % pieces) + 0.1 / pieces for piece in range(pieces))
    rule = AttentionRow(number, action.text, action.kind, "rule", first)
    word = AttentionRow(number, action.text, action.kind, "word", mostly)
    return [rule, word] if action.kind == "word" else [rule]


def chain(number: int) -> Nonterminal:
    """A sentence of so many words, branching to the right in threes."""
    tree = Nonterminal("NP", (Terminal("last"),))
    for place in range(number - 1, 0, -1):
        word = Terminal(f"word{place}")
        tree = Nonterminal("VP" if place % 3 else "NP", (word, *([tree] if place % 3 else tree.children)))
    return Nonterminal("ROOT", (tree,))
