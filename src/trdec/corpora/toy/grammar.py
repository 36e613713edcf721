"""Draws meanings at random: the grammar that both languages share.

English must have one reading, or one English sentence would have two translations. So a phrase is
drawn only where its attachment can be told from the words before it:

* a place modifies a noun only in a subject, before the verb; after the verb it modifies the verb;
* a relative clause or an `of` describes the noun just before it, and the verb of a relative clause
  has nothing after its object; a clause with a `that` has nothing after the `that` clause;
* the members of a pair have nothing after the noun;
* clauses are joined at the top of a sentence only, with a comma.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

from trdec.corpora.toy.lexicon import (
    ADJECTIVES,
    COMPANIONS,
    COORDINATORS,
    DIRECTIONS,
    FREQUENCIES,
    IT,
    LOCATIVES,
    MANNERS,
    NAMES,
    NEVER,
    NOUNS,
    NOW,
    PRONOUNS,
    RECENTLY,
    SOON,
    SUBORDINATORS,
    THEY,
    VERBS,
    Adjective,
    Adverb,
    Frame,
    Noun,
    NounKind,
    Preposition,
    Verb,
)
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
)

DEEPEST = 1
"""How many relative clauses, `of` phrases or `that` clauses may stand inside one another."""

Choice = TypeVar("Choice")

_PEOPLE_AND_ANIMALS = (NounKind.PERSON, NounKind.ANIMAL)
_VERBS_OF: dict[Frame, tuple[Verb, ...]] = {
    frame: tuple(verb for verb in VERBS if verb.frame is frame) for frame in Frame
}
_NOUNS_OF: dict[NounKind, tuple[Noun, ...]] = {
    kind: tuple(noun for noun in NOUNS if noun.kind is kind) for kind in NounKind
}
_ADJECTIVES_OF: dict[NounKind, tuple[Adjective, ...]] = {
    kind: tuple(word for word in ADJECTIVES if kind in word.kinds) for kind in NounKind
}
_RELATIVE_SUBJECT_OF: dict[NounKind, tuple[Verb, ...]] = {
    kind: tuple(
        verb for verb in VERBS if kind in verb.subjects and verb.frame in (Frame.INTRANSITIVE, Frame.TRANSITIVE)
    )
    for kind in NounKind
}
_RELATIVE_OBJECT_OF: dict[NounKind, tuple[Verb, ...]] = {
    kind: tuple(verb for verb in VERBS if kind in verb.objects and verb.frame is Frame.TRANSITIVE) for kind in NounKind
}
_POSSESSORS = tuple(pronoun for pronoun in PRONOUNS if pronoun is not IT)


def meanings(seed: int) -> Iterator[Meaning]:
    """An endless stream of meanings, the same for a seed wherever it is drawn."""
    draw = _Draw(Random(seed))
    while True:
        yield draw.meaning()


class _Draw:
    """Draws each part of a meaning.

    Only `Random.random` is called: its sequence for a seed is the same in every version of Python.
    """

    def __init__(self, generator: Random) -> None:
        self._random = generator.random

    def meaning(self) -> Meaning:
        roll = self._random()
        if roll < 0.14:
            return Question(self._clause(depth=1, negatable=False))
        if roll < 0.18:
            return Joined(self._pick(COORDINATORS), self._clause(depth=DEEPEST), self._clause(depth=DEEPEST))
        if roll < 0.22:
            return Subordinated(self._pick(SUBORDINATORS), self._clause(depth=DEEPEST), self._clause(depth=DEEPEST))
        return Statement(self._clause(depth=0))

    def _pick(self, items: Sequence[Choice]) -> Choice:
        return items[int(self._random() * len(items))]

    def _chance(self, probability: float) -> bool:
        return self._random() < probability

    def _clause(self, depth: int, negatable: bool = True) -> Clause:
        """A clause that may hold DEEPEST - depth clauses inside one another."""
        negated = negatable and self._chance(0.15)
        if self._chance(0.15):
            return self._state(depth, negated)
        frame = self._frame(depth)
        verb = self._pick(_VERBS_OF[frame])
        subject = self._subject(verb, depth)
        tense = self._tense()
        progressive = self._progressive(verb, tense)
        frequency = self._frequency(progressive, negated)
        if frame is Frame.SENTENTIAL:
            content = self._clause(depth + 1)
            return Clause(subject, Deed(verb, progressive, content=content, frequency=frequency), tense, negated)
        pronouns = not isinstance(subject, Personal)
        recipient = what = None
        if frame is Frame.DITRANSITIVE:
            recipient = self._simple((NounKind.PERSON,), pronouns=pronouns)
        if frame is not Frame.INTRANSITIVE:
            what = self._object(verb, pronouns, depth)
        action = self._modified(Deed(verb, progressive, recipient, what, frequency=frequency), tense, pronouns)
        return Clause(subject, action, tense, negated)

    def _frame(self, depth: int) -> Frame:
        roll = self._random()
        if roll < 0.26:
            return Frame.INTRANSITIVE
        if roll < 0.64:
            return Frame.TRANSITIVE
        if roll < 0.80 or depth >= DEEPEST:
            return Frame.DITRANSITIVE
        return Frame.SENTENTIAL

    def _state(self, depth: int, negated: bool) -> Clause:
        """A clause with `is`: the cat is very old, the book is near the lamp."""
        kind = self._pick((NounKind.PERSON, NounKind.ANIMAL, NounKind.THING, NounKind.FOOD))
        tense = self._tense()
        subject = self._subject_of((kind,), depth, pronouns=kind in _PEOPLE_AND_ANIMALS)
        if self._chance(0.6):
            return Clause(subject, self._quality(kind), tense, negated)
        return Clause(subject, self._place(self._pick(LOCATIVES)), tense, negated)

    def _tense(self) -> Tense:
        roll = self._random()
        if roll < 0.45:
            return Tense.PRESENT
        return Tense.PAST if roll < 0.8 else Tense.FUTURE

    def _progressive(self, verb: Verb, tense: Tense) -> bool:
        return verb.lasting and tense is not Tense.FUTURE and self._chance(0.3)

    def _frequency(self, progressive: bool, negated: bool) -> Adverb | None:
        if progressive or not self._chance(0.1):
            return None
        frequency = self._pick(FREQUENCIES)
        return None if negated and frequency is NEVER else frequency

    def _modified(self, action: Deed, tense: Tense, pronouns: bool) -> Deed:
        """The action with adverbs and a place, unless its object ends in a relative clause."""
        if isinstance(action.object, Described) and isinstance(action.object.modifier, Relative):
            return action
        manner = place = time = None
        if self._chance(0.12):
            manner = self._pick(MANNERS)
        if self._chance(0.45 if action.verb.frame is Frame.INTRANSITIVE else 0.2):
            place = self._place_of_action(action.verb, pronouns)
        if self._chance(0.1):
            time = self._time(tense, action.progressive)
        return Deed(
            action.verb,
            action.progressive,
            action.recipient,
            action.object,
            None,
            action.frequency,
            manner,
            place,
            time,
        )

    def _time(self, tense: Tense, progressive: bool) -> Adverb | None:
        match tense:
            case Tense.FUTURE:
                return SOON
            case Tense.PAST:
                return RECENTLY
            case Tense.PRESENT:
                return NOW if progressive else None

    def _place_of_action(self, verb: Verb, pronouns: bool) -> Location:
        if verb.moving and self._chance(0.5):
            return self._place(self._pick(DIRECTIONS))
        if self._chance(0.3):
            preposition = self._pick(COMPANIONS)
            return Location(preposition, self._simple(preposition.kinds, pronouns=pronouns))
        return self._place(self._pick(LOCATIVES))

    def _place(self, preposition: Preposition) -> Location:
        kinds = preposition.kinds
        kind = NounKind.PLACE if self._chance(0.6) else self._pick(kinds)
        if self._chance(0.12):
            return Location(preposition, self._described(kind, DEEPEST - 1, Owner))
        return Location(preposition, self._described(kind, DEEPEST))

    def _subject(self, verb: Verb, depth: int) -> NounPhrase:
        return self._subject_of(verb.subjects, depth, pronouns=True)

    def _subject_of(self, kinds: tuple[NounKind, ...], depth: int, pronouns: bool) -> NounPhrase:
        roll = self._random()
        if pronouns and roll < 0.22:
            return Personal(self._pick(PRONOUNS if NounKind.PERSON in kinds else (IT, THEY)))
        if NounKind.PERSON in kinds and roll < 0.34:
            return Named(self._pick(NAMES))
        if roll < 0.41:
            return Pair(self._simple(kinds, pronouns=False), self._simple(kinds, pronouns=False))
        return self._described(self._pick(kinds), depth, Owner, Location, Relative)

    def _object(self, verb: Verb, pronouns: bool, depth: int) -> NounPhrase:
        roll = self._random()
        if roll < 0.08:
            return Pair(self._simple(verb.objects, pronouns=False), self._simple(verb.objects, pronouns=False))
        if roll < 0.6 or verb.frame is Frame.DITRANSITIVE:
            return self._simple(verb.objects, pronouns=pronouns and verb.frame is Frame.TRANSITIVE)
        return self._described(self._pick(verb.objects), depth, Owner, Relative)

    def _simple(self, kinds: tuple[NounKind, ...], pronouns: bool) -> NounPhrase:
        """A noun phrase with nothing after its noun."""
        kind = self._pick(kinds)
        if kind is NounKind.PERSON:
            roll = self._random()
            if roll < 0.2:
                return Named(self._pick(NAMES))
            if pronouns and roll < 0.4:
                return Personal(self._pick(PRONOUNS))
        elif pronouns and kind is NounKind.ANIMAL and self._chance(0.15):
            return Personal(self._pick((IT, THEY)))
        return self._described(kind, DEEPEST)

    def _described(self, kind: NounKind, depth: int, *allowed: type) -> Described:
        """A noun of that kind, perhaps with one of the modifiers allowed here."""
        noun = self._pick(_NOUNS_OF[kind])
        plural = noun.plural is not None and self._chance(0.3)
        modifier: Owner | Location | Relative | None = None
        roll = self._random()
        if depth < DEEPEST:
            if Owner in allowed and roll < 0.12:
                modifier = Owner(self._owner(depth + 1))
            elif Location in allowed and roll < 0.2:
                modifier = self._place(self._pick(LOCATIVES))
            elif Relative in allowed and roll > 0.78:
                modifier = Relative(self._relative(kind, plural, depth + 1))
        determiner: Determiner | None = None
        if isinstance(modifier, Owner) or not self._chance(0.12):
            determiner = self._determiner(noun, plural)
        qualities = (self._quality(kind),) if self._chance(0.25) else ()
        return Described(noun, plural, determiner or self._pick(_POSSESSORS), qualities, modifier)

    def _determiner(self, noun: Noun, plural: bool) -> Determiner:
        roll = self._random()
        if roll < 0.55:
            return Determiner.DEFINITE
        if roll < 0.9:
            return Determiner.INDEFINITE
        if roll < 0.95 or plural or noun.plural is None:
            return Determiner.THIS
        return Determiner.EVERY

    def _quality(self, kind: NounKind) -> Quality:
        return Quality(self._pick(_ADJECTIVES_OF[kind]), self._chance(0.2))

    def _owner(self, depth: int) -> NounPhrase:
        if self._chance(0.3):
            return Named(self._pick(NAMES))
        return self._described(NounKind.PERSON, depth, Owner)

    def _relative(self, kind: NounKind, plural: bool, depth: int) -> Clause:
        """A clause whose subject or object is a gap, with nothing after its object."""
        gap = Gap(Inflection.THEY if plural else Inflection.HE)
        tense = self._tense()
        negated = self._chance(0.1)
        subject_verbs = _RELATIVE_SUBJECT_OF[kind]
        if not subject_verbs or self._chance(0.4):
            verb = self._pick(_RELATIVE_OBJECT_OF[kind])
            subject = self._simple(verb.subjects, pronouns=True)
            progressive = self._progressive(verb, tense)
            frequency = self._frequency(progressive, negated)
            return Clause(subject, Deed(verb, progressive, object=gap, frequency=frequency), tense, negated)
        if self._chance(0.2):
            return Clause(gap, self._quality(kind), tense, negated)
        verb = self._pick(subject_verbs)
        progressive = self._progressive(verb, tense)
        frequency = self._frequency(progressive, negated)
        what: NounPhrase | None = None
        if verb.frame is Frame.TRANSITIVE:
            what = self._relative_object(verb, depth)
        return Clause(gap, Deed(verb, progressive, object=what, frequency=frequency), tense, negated)

    def _relative_object(self, verb: Verb, depth: int) -> NounPhrase:
        if self._chance(0.7):
            return self._simple(verb.objects, pronouns=True)
        return self._described(self._pick(verb.objects), depth, Owner, Relative)
