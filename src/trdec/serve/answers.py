"""A translation as the JSON that the page and other programs take."""

from __future__ import annotations

import json
from typing import Any

from trdec.tokenisers import WORD_START
from trdec.translation.scoring import ScoredAction
from trdec.translation.translation import Translation
from trdec.trees.grammar import Rule
from trdec.trees.tree import PRE, Nonterminal, Terminal, depth, fold

DEEPEST_JSON = 200
"""The deepest tree that is written as nested JSON: readers of JSON have limits, some at a thousand."""


def sentence_json(source: str, translation: Translation, trees: bool) -> str:
    """The translation of a sentence with its alternatives, as one JSON object; `trees`: whether the system has any."""
    content = {"source": source, **_content(translation, trees)}
    content["alternatives"] = [_content(other, trees) for other in translation.alternatives]
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _content(translation: Translation, trees: bool) -> dict[str, Any]:
    tree = translation.tree if trees else None
    return {
        "text": translation.text,
        "score": translation.score,
        "log_prob": translation.log_prob,
        "truncated": translation.truncated,
        "remarks": list(translation.remarks),
        "tree": None if tree is None else {"brackets": translation.brackets, "json": nested(tree)},
        "actions": actions_json(translation.actions),
        "attention": None if translation.attention is None else translation.attention.to_json(),
    }


def nested(tree: Nonterminal) -> dict[str, Any] | None:
    """The tree as objects with a label and children, or a word; None if it is deeper than `DEEPEST_JSON`."""
    if depth(tree) > DEEPEST_JSON:
        return None

    def node(of: Nonterminal, children: list[dict[str, Any]]) -> dict[str, Any]:
        return {"label": of.label, "children": children}

    def leaf(terminal: Terminal) -> dict[str, Any]:
        return {"word": terminal.word}

    return fold(tree, leaf, node)


def actions_json(actions: tuple[ScoredAction, ...]) -> list[dict[str, Any]]:
    """Each action with its score; a rule has its label and children, a word its piece."""
    found: list[dict[str, Any]] = []
    begun = False
    for action in actions:
        content: dict[str, Any] = action._asdict()
        if action.kind == "rule":
            rule = Rule.parse(action.text)
            phrases = [number for number, label in enumerate(rule.rhs) if label == PRE]
            content |= {"label": rule.lhs, "children": list(rule.rhs), "phrases": phrases}
        elif action.kind == "word":
            content |= {"piece": action.text, "begins_word": not begun or action.text.startswith(WORD_START)}
            begun = True
        found.append(content)
    return found
