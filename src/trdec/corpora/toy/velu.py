"""Writes a meaning in Velu: the verb last, suffixes in vowel harmony, modifiers before their noun.

A suffix is spelt with A (a or e) and U (u or i), the second after a stem with front vowels:
bak-us-a  dog-DEFINITE-NOMINATIVE      miket-is-e  cat-DEFINITE-NOMINATIVE
"""

from __future__ import annotations

from functools import cache

from trdec.corpora.toy.lexicon import VERY, Pronoun
from trdec.corpora.toy.meaning import (
    Clause,
    Deed,
    Described,
    Determiner,
    Gap,
    Inflection,
    Joined,
    Location,
    Meaning,
    Named,
    NounPhrase,
    Owner,
    Pair,
    Personal,
    Quality,
    Question,
    Relative,
    Statement,
    Subordinated,
    Tense,
    agreement,
)

FRONT_VOWELS = "ei"
BACK_VOWELS = "aou"

CASES = {"nominative": "A", "accusative": "Am", "dative": "Ul", "genitive": "An", "locative": "Uk"}
PLURAL = "Ar"
DEFINITE = "Us"

NEGATION = "Ab"
PROGRESSIVE = "Ug"
TENSES = {Tense.PRESENT: "", Tense.PAST: "Ut", Tense.FUTURE: "Av"}
AGREEMENTS = {
    Inflection.I: "Am",
    Inflection.YOU: "Us",
    Inflection.HE: "Ul",
    Inflection.WE: "Ak",
    Inflection.THEY: "Ur",
}
RELATIVE = "An"  # on a verb: the clause describes the next noun
ATTRIBUTIVE = "Uf"  # on a postposition: the place describes the next noun

COPULA = "yes"
VELU_THAT = "ku"
VELU_AND = "ve"
QUESTION = "ki"
DETERMINERS = {
    Determiner.INDEFINITE: None,
    Determiner.DEFINITE: None,
    Determiner.EVERY: "oto",
    Determiner.THIS: "lem",
}


@cache
def harmonise(stem: str, suffixes: str) -> str:
    """The stem with its suffixes, spelt as the stem's last vowel asks."""
    last = next(letter for letter in reversed(stem.lower()) if letter in FRONT_VOWELS + BACK_VOWELS)
    spelling = {"A": "e", "U": "i"} if last in FRONT_VOWELS else {"A": "a", "U": "u"}
    return stem + "".join(spelling.get(letter, letter) for letter in suffixes)


def write_velu(meaning: Meaning) -> list[str]:
    """The words of the sentence in Velu."""
    match meaning:
        case Statement(clause=clause):
            words = [*_clause(clause), "."]
        case Question(clause=clause):
            words = [*_clause(clause), QUESTION, "?"]
        case Joined(linker=linker, first=first, second=second):
            words = [*_clause(first), ",", linker.velu, *_clause(second), "."]
        case Subordinated(linker=linker, subordinate=subordinate, main=main):
            words = [*_clause(subordinate), linker.velu, ",", *_clause(main), "."]
    words[0] = words[0][0].upper() + words[0][1:]
    return words


def _clause(clause: Clause, ending: str = "") -> list[str]:
    """Time, subject, place, manner, recipient, object, content, frequency, verb."""
    words: list[str] = []
    predicate = clause.predicate
    if isinstance(predicate, Deed):
        if predicate.time:
            words.append(predicate.time.velu)
        words += _noun_phrase(clause.subject, "nominative")
        words += _action(predicate)
        stem = predicate.verb.stem
    else:
        words += _noun_phrase(clause.subject, "nominative")
        words += _quality(predicate) if isinstance(predicate, Quality) else _place(predicate)
        stem = COPULA
    words.append(harmonise(stem, _verb_suffixes(clause) + ending))
    return words


def _verb_suffixes(clause: Clause) -> str:
    progressive = isinstance(clause.predicate, Deed) and clause.predicate.progressive
    return (
        (NEGATION if clause.negated else "")
        + (PROGRESSIVE if progressive else "")
        + TENSES[clause.tense]
        + AGREEMENTS[agreement(clause.subject)]
    )


def _action(action: Deed) -> list[str]:
    words: list[str] = []
    if action.place:
        words += _place(action.place)
    if action.manner:
        words.append(action.manner.velu)
    if action.recipient:
        words += _noun_phrase(action.recipient, "dative")
    if action.object:
        words += _noun_phrase(action.object, "accusative")
    if action.content:
        words += [*_clause(action.content), VELU_THAT]
    if action.frequency:
        words.append(action.frequency.velu)
    return words


def _place(place: Location, ending: str = "") -> list[str]:
    preposition = place.preposition
    return [*_noun_phrase(place.phrase, preposition.case), harmonise(preposition.velu, ending)]


def _quality(quality: Quality) -> list[str]:
    return [quality.adjective.velu, VERY.velu] if quality.very else [quality.adjective.velu]


def _noun_phrase(phrase: NounPhrase, case: str) -> list[str]:
    match phrase:
        case Gap():
            return []
        case Personal(pronoun=pronoun):
            return [harmonise(pronoun.stem, CASES[case])]
        case Named(name=name):
            return [harmonise(name.stem, CASES[case])]
        case Pair(first=first, second=second):
            return [*_noun_phrase(first, case), VELU_AND, *_noun_phrase(second, case)]
        case Described():
            return _described(phrase, case)


def _described(phrase: Described, case: str) -> list[str]:
    """Modifier, possessor, noun, adjectives, determiner."""
    words: list[str] = []
    match phrase.modifier:
        case Relative(clause=clause):
            words += _clause(clause, RELATIVE)
        case Owner(phrase=owner):
            words += _noun_phrase(owner, "genitive")
        case Location() as place:
            words += _place(place, ATTRIBUTIVE)
        case None:
            pass
    determiner = phrase.determiner
    if isinstance(determiner, Pronoun):
        words.append(harmonise(determiner.stem, CASES["genitive"]))
    plural = PLURAL if phrase.plural else ""
    definite = DEFINITE if determiner is Determiner.DEFINITE else ""
    words.append(harmonise(phrase.noun.stem, plural + definite + CASES[case]))
    for quality in phrase.qualities:
        words += _quality(quality)
    if isinstance(determiner, Determiner) and (particle := DETERMINERS[determiner]):
        words.append(particle)
    return words
