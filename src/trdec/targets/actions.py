"""The actions that a decoder of any family can take at a step."""

from __future__ import annotations

from dataclasses import dataclass

from trdec.trees.grammar import Rule


@dataclass(frozen=True, slots=True)
class ApplyRule:
    """Expand the open nonterminal: the rule RNN's action."""

    rule: Rule

    def __str__(self) -> str:
        return str(self.rule)


@dataclass(frozen=True, slots=True)
class EmitWord:
    """Write one word, or one subword where words are segmented."""

    word: str

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class EmitMark:
    """Write a token that is not part of the translation: a CCG tag or a labelled bracket."""

    mark: str

    def __str__(self) -> str:
        return self.mark


@dataclass(frozen=True, slots=True)
class EndPhrase:
    """Close the open preterminal: the word RNN's last action in a phrase."""

    def __str__(self) -> str:
        return "<eop>"


@dataclass(frozen=True, slots=True)
class EndSentence:
    """Finish: the last action of every family."""

    def __str__(self) -> str:
        return "<eos>"


Action = ApplyRule | EmitWord | EmitMark | EndPhrase | EndSentence

EOP = EndPhrase()
EOS = EndSentence()

KINDS: dict[type[Action], str] = {
    ApplyRule: "rule",
    EmitWord: "word",
    EmitMark: "mark",
    EndPhrase: "eop",
    EndSentence: "eos",
}
"""The name of each kind of action, as logs and tables show it."""
