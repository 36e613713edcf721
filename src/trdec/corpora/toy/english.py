"""Writes a meaning in English, as one tree from which every annotation is read.

A phrase is a Penn Treebank constituent whose children carry Universal Dependencies relations; the
child without one is its head. A word carries its tags and its CCG category.

    S  nsubj: NP (det: The, cat)  VP (eats, obj: NP (fish))  punct: .
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from trdec.corpora.toy.lexicon import VERY, Adverb, Frame, Pronoun, Verb
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
    Predicate,
    Quality,
    Question,
    Relative,
    Statement,
    Subordinated,
    Tense,
    agreement,
)
from trdec.trees.tree import ROOT

HEAD_CHILD = ""
"""The relation of the child that is the head of its phrase."""

VP_AFTER = r"(S\NP)\(S\NP)"
VP_BEFORE = r"(S\NP)/(S\NP)"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of English with its part of speech and its CCG category."""

    form: str
    upos: str
    xpos: str
    supertag: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """A constituent; every child with its relation to the head."""

    label: str
    children: tuple[Child, ...]


Child = tuple[str, Phrase | Word]

COMMA = Word(",", "PUNCT", ",", ",")
STOP = Word(".", "PUNCT", ".", ".")
QUESTION_MARK = Word("?", "PUNCT", ".", ".")
NOT = Word("not", "PART", "RB", VP_AFTER)
ENGLISH_THAT = Word("that", "SCONJ", "IN", "S[em]/S[dcl]")
ENGLISH_AND = Word("and", "CCONJ", "CC", "conj")
OF = Word("of", "ADP", "IN", r"(NP\NP)/NP")

_BE = {
    Tense.PRESENT: {Inflection.I: ("am", "VBP"), Inflection.HE: ("is", "VBZ")},
    Tense.PAST: {Inflection.I: ("was", "VBD"), Inflection.HE: ("was", "VBD")},
}
_BE_ELSE = {Tense.PRESENT: ("are", "VBP"), Tense.PAST: ("were", "VBD")}

# What a verb takes after it, as the end of its category: eats (S[dcl]\NP)/NP.
_ARGUMENTS = {
    Frame.INTRANSITIVE: (),
    Frame.TRANSITIVE: ("NP",),
    Frame.DITRANSITIVE: ("NP", "NP"),
    Frame.SENTENTIAL: ("S[em]",),
}


def write_english(meaning: Meaning) -> Phrase:
    """The sentence in English."""
    match meaning:
        case Statement(clause=clause):
            top = Phrase("S", (*_sentence(clause), ("punct", STOP)))
        case Question(clause=clause):
            top = Phrase("SQ", (*_question(clause), ("punct", QUESTION_MARK)))
        case Joined(linker=linker, first=first, second=second):
            conjunction = Word(linker.english, "CCONJ", "CC", "conj")
            top = Phrase(
                "S",
                (
                    (HEAD_CHILD, Phrase("S", _sentence(first))),
                    ("punct", COMMA),
                    ("cc", conjunction),
                    ("conj", Phrase("S", _sentence(second))),
                    ("punct", STOP),
                ),
            )
        case Subordinated(linker=linker, subordinate=subordinate, main=main):
            mark = Word(linker.english, "SCONJ", "IN", "(S/S)/S[dcl]")
            adverbial = Phrase("SBAR", (("mark", mark), (HEAD_CHILD, Phrase("S", _sentence(subordinate)))))
            top = Phrase("S", (("advcl", adverbial), ("punct", COMMA), *_sentence(main), ("punct", STOP)))
    return Phrase(ROOT, ((HEAD_CHILD, _capitalise(top)),))


def _capitalise(phrase: Phrase) -> Phrase:
    """The phrase with a capital on its first word."""
    (relation, first), *others = phrase.children
    if isinstance(first, Phrase):
        first = _capitalise(first)
    else:
        first = replace(first, form=first.form[0].upper() + first.form[1:])
    return Phrase(phrase.label, ((relation, first), *others))


def _sentence(clause: Clause) -> tuple[Child, ...]:
    """The subject and the verb phrase, or the verb phrase alone where the subject is a gap."""
    verb_phrase: Child = (HEAD_CHILD, _verb_phrase(clause))
    if isinstance(clause.subject, Gap):
        return (verb_phrase,)
    return (("nsubj", _noun_phrase(clause.subject, "subject")), verb_phrase)


def _verb_phrase(clause: Clause) -> Phrase:
    """The finite verb phrase: eats fish, does not eat fish, will be very old."""
    subject = agreement(clause.subject)
    negation: list[Child] = [("advmod", NOT)] if clause.negated else []
    predicate = clause.predicate
    if clause.tense is Tense.FUTURE:
        will = _auxiliary("will", "MD", "b")
        return Phrase("VP", (("aux", will), *negation, (HEAD_CHILD, _bare(predicate))))
    if not isinstance(predicate, Deed):
        form, xpos = _be(clause.tense, subject)
        copula = Word(form, "AUX", xpos, _category("dcl", (_argument(predicate),)))
        return Phrase("VP", (("cop", copula), *negation, (HEAD_CHILD, _predicative(predicate))))
    if predicate.progressive:
        form, xpos = _be(clause.tense, subject)
        being = _auxiliary(form, xpos, "ng")
        return Phrase("VP", (("aux", being), *negation, (HEAD_CHILD, _progressive(predicate))))
    if negation:
        doing = _auxiliary(*_do(clause.tense, subject), "b")
        return Phrase("VP", (("aux", doing), *negation, (HEAD_CHILD, _bare(predicate))))
    return _action(predicate, *_finite(predicate.verb, clause.tense, subject), "dcl")


def _question(clause: Clause) -> tuple[Child, ...]:
    """The auxiliary or the copula, the subject and the rest: does the cat eat fish."""
    subject = agreement(clause.subject)
    asked: Child = ("nsubj", _noun_phrase(clause.subject, "subject"))
    predicate = clause.predicate
    if clause.tense is Tense.FUTURE:
        return (("aux", _inverted("will", "MD", r"(S[b]\NP)")), asked, (HEAD_CHILD, _bare(predicate)))
    if not isinstance(predicate, Deed):
        form, xpos = _be(clause.tense, subject)
        return (("cop", _inverted(form, xpos, _argument(predicate))), asked, (HEAD_CHILD, _predicative(predicate)))
    if predicate.progressive:
        form, xpos = _be(clause.tense, subject)
        return (("aux", _inverted(form, xpos, r"(S[ng]\NP)")), asked, (HEAD_CHILD, _progressive(predicate)))
    form, xpos = _do(clause.tense, subject)
    return (("aux", _inverted(form, xpos, r"(S[b]\NP)")), asked, (HEAD_CHILD, _bare(predicate)))


@cache
def _category(feature: str, arguments: tuple[str, ...]) -> str:
    r"""The category of a verb: b and NP make (S[b]\NP)/NP."""
    category = rf"S[{feature}]\NP"
    for argument in arguments:
        category = f"({category})/{argument}"
    return category


@cache
def _auxiliary(form: str, xpos: str, feature: str) -> Word:
    return Word(form, "AUX", xpos, rf"(S[dcl]\NP)/(S[{feature}]\NP)")


@cache
def _inverted(form: str, xpos: str, argument: str) -> Word:
    return Word(form, "AUX", xpos, f"(S[q]/{argument})/NP")


def _be(tense: Tense, subject: Inflection) -> tuple[str, str]:
    return _BE[tense].get(subject, _BE_ELSE[tense])


def _do(tense: Tense, subject: Inflection) -> tuple[str, str]:
    if tense is Tense.PAST:
        return "did", "VBD"
    return ("does", "VBZ") if subject is Inflection.HE else ("do", "VBP")


def _finite(verb: Verb, tense: Tense, subject: Inflection) -> tuple[str, str]:
    if tense is Tense.PAST:
        return verb.past, "VBD"
    return (verb.third, "VBZ") if subject is Inflection.HE else (verb.base, "VBP")


def _bare(predicate: Predicate) -> Phrase:
    """The verb phrase after will or do: eat fish, be very old."""
    if isinstance(predicate, Deed):
        return _action(predicate, predicate.verb.base, "VB", "b")
    being = Word("be", "AUX", "VB", _category("b", (_argument(predicate),)))
    return Phrase("VP", (("cop", being), (HEAD_CHILD, _predicative(predicate))))


def _progressive(action: Deed) -> Phrase:
    return _action(action, action.verb.gerund, "VBG", "ng")


def _action(action: Deed, form: str, xpos: str, feature: str) -> Phrase:
    """The verb in that form with everything around it."""
    children: list[Child] = []
    if action.frequency:
        children.append(("advmod", _adverb(action.frequency, VP_BEFORE)))
    children.append((HEAD_CHILD, Word(form, "VERB", xpos, _category(feature, _ARGUMENTS[action.verb.frame]))))
    if action.recipient:
        children.append(("iobj", _noun_phrase(action.recipient, "object")))
    if action.object and not isinstance(action.object, Gap):
        children.append(("obj", _noun_phrase(action.object, "object")))
    if action.content:
        content = Phrase("SBAR", (("mark", ENGLISH_THAT), (HEAD_CHILD, Phrase("S", _sentence(action.content)))))
        children.append(("ccomp", content))
    if action.manner:
        children.append(("advmod", _adverb(action.manner, VP_AFTER)))
    if action.place:
        children.append(("obl", _place(action.place, rf"({VP_AFTER})/NP")))
    if action.time:
        children.append(("advmod", _adverb(action.time, VP_AFTER)))
    return Phrase("VP", tuple(children))


@cache
def _adverb(adverb: Adverb, supertag: str) -> Phrase:
    return Phrase("ADVP", ((HEAD_CHILD, Word(adverb.english, "ADV", "RB", supertag)),))


def _argument(predicate: Quality | Location) -> str:
    """What the copula takes after it."""
    return r"(S[adj]\NP)" if isinstance(predicate, Quality) else "PP"


def _predicative(predicate: Quality | Location) -> Phrase:
    if isinstance(predicate, Location):
        return _place(predicate, "PP/NP")
    return Phrase("ADJP", _quality(predicate, r"S[adj]\NP"))


def _quality(quality: Quality, supertag: str) -> tuple[Child, ...]:
    adjective: Child = (HEAD_CHILD, Word(quality.adjective.english, "ADJ", "JJ", supertag))
    if not quality.very:
        return (adjective,)
    return (("advmod", Word(VERY.english, "ADV", "RB", f"({supertag})/({supertag})")), adjective)


def _place(place: Location, supertag: str) -> Phrase:
    preposition = Word(place.preposition.english, "ADP", "IN", supertag)
    return Phrase("PP", (("case", preposition), (HEAD_CHILD, _noun_phrase(place.phrase, "object"))))


def _noun_phrase(phrase: NounPhrase, role: str) -> Phrase:
    """The noun phrase; the role chooses between I and me."""
    match phrase:
        case Personal(pronoun=pronoun):
            form = pronoun.subject if role == "subject" else pronoun.object
            return Phrase("NP", ((HEAD_CHILD, Word(form, "PRON", "PRP", "NP")),))
        case Named(name=name):
            return Phrase("NP", ((HEAD_CHILD, Word(name.english, "PROPN", "NNP", "N")),))
        case Pair(first=first, second=second):
            members = _noun_phrase(first, role), _noun_phrase(second, role)
            return Phrase("NP", ((HEAD_CHILD, members[0]), ("cc", ENGLISH_AND), ("conj", members[1])))
        case Described():
            return _described(phrase)
        case Gap():
            raise AssertionError("a gap has no words: its clause leaves it out")


def _described(phrase: Described) -> Phrase:
    core = _core(phrase)
    match phrase.modifier:
        case None:
            return core
        case Owner(phrase=owner):
            of = Phrase("PP", (("case", OF), (HEAD_CHILD, _noun_phrase(owner, "object"))))
            return Phrase("NP", ((HEAD_CHILD, core), ("nmod", of)))
        case Location() as place:
            return Phrase("NP", ((HEAD_CHILD, core), ("nmod", _place(place, r"(NP\NP)/NP"))))
        case Relative(clause=clause):
            return Phrase("NP", ((HEAD_CHILD, core), ("acl:relcl", _relative(clause))))


def _relative(clause: Clause) -> Phrase:
    r"""that chases the cat: (NP\NP)/(S[dcl]\NP); that the cat chases: (NP\NP)/(S[dcl]/NP)."""
    is_subject = isinstance(clause.subject, Gap)
    missing = r"S[dcl]\NP" if is_subject else "S[dcl]/NP"
    pronoun = Phrase("WHNP", ((HEAD_CHILD, Word("that", "PRON", "WDT", rf"(NP\NP)/({missing})")),))
    relation = "nsubj" if is_subject else "obj"
    return Phrase("SBAR", ((relation, pronoun), (HEAD_CHILD, Phrase("S", _sentence(clause)))))


def _core(phrase: Described) -> Phrase:
    """Determiner, adjectives and noun."""
    children: list[Child] = []
    for quality in phrase.qualities:
        parts = _quality(quality, "N/N")
        children.append(("amod", Phrase("ADJP", parts) if quality.very else parts[0][1]))
    noun = phrase.noun
    if phrase.plural:
        assert noun.plural is not None
        children.append((HEAD_CHILD, Word(noun.plural, "NOUN", "NNS", "N")))
    else:
        children.append((HEAD_CHILD, Word(noun.singular, "NOUN", "NN", "N")))
    determiner = _determiner(phrase, children)
    return Phrase("NP", (determiner, *children) if determiner else tuple(children))


def _determiner(phrase: Described, after: list[Child]) -> Child | None:
    """The determiner or possessive, if one is written; `a` looks at the word after it."""
    match phrase.determiner:
        case Pronoun(possessive=possessive):
            return ("nmod:poss", Word(possessive, "PRON", "PRP$", "NP/N"))
        case Determiner.THIS if phrase.plural:
            form = "these"
        case Determiner.INDEFINITE if phrase.plural or phrase.noun.plural is None:
            return None
        case Determiner.INDEFINITE:
            form = "an" if _first_form(after[0][1])[0] in "aeiou" else "a"
        case Determiner() as determiner:
            form = determiner.value
    return ("det", Word(form, "DET", "DT", "NP/N"))


def _first_form(part: Phrase | Word) -> str:
    while isinstance(part, Phrase):
        part = part.children[0][1]
    return part.form
