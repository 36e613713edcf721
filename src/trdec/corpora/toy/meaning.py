"""What a sentence means: the values that English and Velu are both written from.

Each language writes a meaning in its own order, so no text is ever translated: a sentence and its
translation are two spellings of one meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from trdec.corpora.toy.lexicon import Adjective, Adverb, Linker, Name, Noun, Preposition, Pronoun, Verb


class Inflection(Enum):
    """What a verb agrees with in its subject."""

    I = "1sg"  # noqa: E741 - the pronouns are the clearest names
    YOU = "2"
    HE = "3sg"
    WE = "1pl"
    THEY = "3pl"


class Tense(Enum):
    """When it happens."""

    PRESENT = "present"
    PAST = "past"
    FUTURE = "future"


class Determiner(Enum):
    """How a noun is determined when no possessor determines it."""

    INDEFINITE = "a"
    DEFINITE = "the"
    EVERY = "every"
    THIS = "this"


@dataclass(frozen=True, slots=True)
class Quality:
    """An adjective, perhaps raised by `very`."""

    adjective: Adjective
    very: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """The place in a relative clause of the noun that the clause describes."""

    agreement: Inflection


@dataclass(frozen=True, slots=True)
class Personal:
    """A pronoun that stands for a noun phrase."""

    pronoun: Pronoun


@dataclass(frozen=True, slots=True)
class Named:
    """A name that stands for a noun phrase."""

    name: Name


@dataclass(frozen=True, slots=True)
class Owner:
    """The noun phrase after `of`."""

    phrase: NounPhrase


@dataclass(frozen=True, slots=True)
class Location:
    """A noun phrase and its preposition: at the verb, at the subject or as a predicate."""

    preposition: Preposition
    phrase: NounPhrase


@dataclass(frozen=True, slots=True)
class Relative:
    """A clause with a gap, which describes a noun."""

    clause: Clause


@dataclass(frozen=True, slots=True)
class Described:
    """A noun with everything that may stand around it."""

    noun: Noun
    plural: bool
    determiner: Determiner | Pronoun
    qualities: tuple[Quality, ...] = ()
    modifier: Owner | Location | Relative | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two noun phrases joined by `and`."""

    first: NounPhrase
    second: NounPhrase


NounPhrase = Described | Named | Personal | Pair | Gap


@dataclass(frozen=True, slots=True)
class Deed:
    """A verb with its objects, and the adverbs and the place that modify it."""

    verb: Verb
    progressive: bool = False
    recipient: NounPhrase | None = None
    object: NounPhrase | None = None
    content: Clause | None = None
    frequency: Adverb | None = None
    manner: Adverb | None = None
    place: Location | None = None
    time: Adverb | None = None


Predicate = Deed | Quality | Location


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject and what is said of it."""

    subject: NounPhrase
    predicate: Predicate
    tense: Tense = Tense.PRESENT
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """`The cat eats fish .`"""

    clause: Clause


@dataclass(frozen=True, slots=True)
class Question:
    """`Does the cat eat fish ?`"""

    clause: Clause


@dataclass(frozen=True, slots=True)
class Joined:
    """`The cat eats fish , but the dog sleeps .`"""

    linker: Linker
    first: Clause
    second: Clause


@dataclass(frozen=True, slots=True)
class Subordinated:
    """`Because the dog sleeps , the cat eats fish .`"""

    linker: Linker
    subordinate: Clause
    main: Clause


Meaning = Statement | Question | Joined | Subordinated


def agreement(phrase: NounPhrase) -> Inflection:
    """What a verb must agree with when `phrase` is its subject."""
    match phrase:
        case Gap(agreement=own):
            return own
        case Personal(pronoun=pronoun):
            return Inflection(pronoun.agreement)
        case Described(plural=True) | Pair():
            return Inflection.THEY
        case _:
            return Inflection.HE
