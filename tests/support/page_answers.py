"""What the translation server answers to its page, made of trees instead of by a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trdec.targets.actions import KINDS, Action, ApplyRule, EmitWord
from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import LinTarget, Seq2SeqTarget
from trdec.tokenisers import WORD_START
from trdec.trees import brackets
from trdec.trees.tree import PRE, Nonterminal, Terminal, depth, fold, words

LINEARISE = {
    "trdec-con": DerivationTarget.linearise,
    "lin": LinTarget.linearise,
    "seq2seq": Seq2SeqTarget.linearise,
}
"""How each system writes a tree."""


def models(*systems: str, source: str = "Velu", target: str = "English") -> dict[str, Any]:
    """What the server says of its models, each named as its system."""
    languages = {"source": {"code": "x-vel", "name": source}, "target": {"code": "en", "name": target}}
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
    return {"source": source, **best, "alternatives": others}


def candidate(source: str, tree: str | Nonterminal, system: str = "trdec-con") -> dict[str, Any]:
    """One translation of a sentence, with this tree."""
    whole = brackets.parse(tree) if isinstance(tree, str) else tree
    content = candidate_of(source, _in_pieces(LINEARISE[system](whole)))
    deep = depth(whole) > 200
    written = {"brackets": brackets.write(whole), "json": None if deep else nested(whole)}
    return content | {"text": " ".join(words(whole)), "tree": None if system == "seq2seq" else written}


def candidate_of(source: str, actions: Sequence[Action]) -> dict[str, Any]:
    """One translation, with these actions and a tree that only they tell."""
    log_probs = [-0.01 * (number % 40) for number in range(len(actions))]
    pieces = [WORD_START + word for word in source.split()] + ["<eos>"]
    return {
        "text": "",
        "score": sum(log_probs) / len(actions),
        "log_prob": sum(log_probs),
        "truncated": False,
        "remarks": [],
        "tree": {"brackets": "", "json": None},
        "actions": [_action_json(action, log_prob) for action, log_prob in zip(actions, log_probs, strict=True)],
        "attention": {
            "source": pieces,
            "words": _writers(actions),
            "rows": [row for number, action in enumerate(actions) for row in _rows(number, action, len(pieces))],
        },
    }


def nested(tree: Nonterminal) -> Any:
    """The tree as nested objects."""
    return fold(
        tree,
        lambda terminal: {"word": terminal.word},
        lambda node, children: {"label": node.label, "children": children},
    )


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


def _writers(actions: Sequence[Action]) -> list[list[int]]:
    found: list[list[int]] = []
    for number, action in enumerate(actions):
        if isinstance(action, EmitWord):
            if action.word.startswith(WORD_START) or number == 0 or not isinstance(actions[number - 1], EmitWord):
                found.append([])
            found[-1].append(number)
    return found


def _action_json(action: Action, log_prob: float) -> dict[str, Any]:
    content: dict[str, Any] = {"text": str(action), "kind": KINDS[type(action)], "log_prob": log_prob}
    if isinstance(action, ApplyRule):
        phrases = [number for number, label in enumerate(action.rule.rhs) if label == PRE]
        content |= {"label": action.rule.lhs, "children": list(action.rule.rhs), "phrases": phrases}
    elif isinstance(action, EmitWord):
        content |= {"piece": action.word, "begins_word": action.word.startswith(WORD_START)}
    return content


def _rows(number: int, action: Action, pieces: int) -> list[dict[str, Any]]:
    """The rule RNN attends to the first piece; the word RNN mostly to the one whose place is that of the action."""
    about = {"action": number, "text": str(action), "kind": KINDS[type(action)]}
    first = [1.0] + [0.0] * (pieces - 1)
    place = number % pieces
    mostly = [0.9 + 0.1 / pieces if piece == place else 0.1 / pieces for piece in range(pieces)]
    rows = [{**about, "rnn": "rule", "weights": first}]
    return [*rows, {**about, "rnn": "word", "weights": mostly}] if isinstance(action, EmitWord) else rows


def chain(number: int) -> Nonterminal:
    """A sentence of so many words, branching to the right in threes."""
    tree = Nonterminal("NP", (Terminal("last"),))
    for place in range(number - 1, 0, -1):
        word = Terminal(f"word{place}")
        tree = Nonterminal("VP" if place % 3 else "NP", (word, *([tree] if place % 3 else tree.children)))
    return Nonterminal("ROOT", (tree,))
