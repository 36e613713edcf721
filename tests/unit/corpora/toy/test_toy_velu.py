"""The Velu side: its suffixes, its order, and that it says as much as the English and no more."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from itertools import islice, product
from typing import Any

import pytest

from trdec.corpora.toy import english, generate, velu
from trdec.corpora.toy.generate import ToySentence, draws, realise
from trdec.corpora.toy.grammar import meanings
from trdec.corpora.toy.lexicon import (
    ADJECTIVES,
    COORDINATORS,
    FREQUENCIES,
    LOCATIVES,
    MANNERS,
    NAMES,
    NEAR,
    NOUNS,
    PRONOUNS,
    SUBORDINATORS,
    VERBS,
    VERY,
    Adjective,
    Adverb,
    Linker,
    Name,
    Noun,
    NounKind,
    Preposition,
    Pronoun,
    Verb,
)
from trdec.corpora.toy.meaning import (
    Clause,
    Deed,
    Described,
    Determiner,
    Gap,
    Inflection,
    Location,
    Meaning,
    Quality,
    Relative,
    Statement,
    Tense,
)
from trdec.corpora.toy.velu import (
    AGREEMENTS,
    ATTRIBUTIVE,
    BACK_VOWELS,
    CASES,
    COPULA,
    DEFINITE,
    FRONT_VOWELS,
    NEGATION,
    PLURAL,
    PROGRESSIVE,
    RELATIVE,
    TENSES,
    harmonise,
)


@pytest.fixture(scope="module")
def sample() -> list[ToySentence]:
    return list(islice(draws(7), 20_000))


def noun(english: str) -> Noun:
    return next(word for word in NOUNS if word.singular == english)


def verb(english: str) -> Verb:
    return next(word for word in VERBS if word.base == english)


def adjective(english: str) -> Adjective:
    return next(word for word in ADJECTIVES if word.english == english)


def the(english: str, **others: object) -> Described:
    return Described(noun(english), False, Determiner.DEFINITE, **others)  # type: ignore[arg-type]


def test_a_suffix_has_two_spellings() -> None:
    assert harmonise("bak", DEFINITE + CASES["locative"]) == "bakusuk"
    assert harmonise("miket", DEFINITE + CASES["locative"]) == "miketisik"


def test_the_example_of_the_documentation() -> None:
    cats = Described(noun("cat"), True, Determiner.INDEFINITE)
    loving = Clause(Gap(Inflection.HE), Deed(verb("love"), object=cats))
    farmer = the("farmer", qualities=(Quality(adjective("brave"), False),), modifier=Relative(loving))
    sending = Deed(
        verb("send"),
        recipient=the("girl"),
        object=Described(noun("letter"), False, Determiner.INDEFINITE),
        place=Location(NEAR, the("river")),
    )
    sentence = realise(Statement(Clause(farmer, sending, Tense.FUTURE, negated=True)))
    assert sentence.target == ("The brave farmer that loves cats will not send the girl a letter near the river .")
    assert sentence.source == ("Miketerem lyubulan hupolusa harto voradusuk nov pesimisil pimesem mitebevil .")


def test_a_place_at_the_noun_and_one_at_the_verb_differ() -> None:
    place = Location(NEAR, the("river"))
    sleeping = Clause(the("dog", modifier=place), Deed(verb("sleep")))
    assert realise(Statement(sleeping)).source == "Voradusuk novuf bakusa dormul ."
    sleeping = Clause(the("dog"), Deed(verb("sleep"), place=place))
    assert realise(Statement(sleeping)).source == "Bakusa voradusuk nov dormul ."


def test_a_clause_that_is_said_stands_before_the_verb() -> None:
    content = Clause(the("cat"), Quality(adjective("sad"), True), Tense.PAST)
    sentence = realise(Statement(Clause(the("king"), Deed(verb("know"), content=content))))
    assert sentence.target == "The king knows that the cat was very sad ."
    assert sentence.source == "Doragusa miketise mura osto yesitil ku zunul ."


def test_every_that_clause_has_its_particle(sample: list[ToySentence]) -> None:
    for sentence in sample:
        assert sentence.source.split().count("ku") == sentence.relations.count("ccomp")


def test_stems_are_harmonious_and_end_in_a_consonant() -> None:
    vowels = FRONT_VOWELS + BACK_VOWELS
    stems = [word.stem.lower() for words in (NOUNS, VERBS, PRONOUNS) for word in words] + [COPULA]
    for stem in stems:
        kinds = {letter in FRONT_VOWELS for letter in stem if letter in vowels}
        assert len(kinds) == 1, stem
    for stem in [*stems, *(name.stem for name in NAMES)]:
        assert stem[-1] not in vowels, stem


def test_no_two_words_share_a_form() -> None:
    nominal = ["".join(parts) for parts in product(("", PLURAL), ("", DEFINITE), CASES.values())]
    verbal = [
        "".join(parts)
        for parts in product(("", NEGATION), ("", PROGRESSIVE), TENSES.values(), AGREEMENTS.values(), ("", RELATIVE))
    ]
    owners: dict[str, tuple[str, str]] = {}
    forms = [(word.stem, suffix) for word in (*NOUNS, *NAMES, *PRONOUNS) for suffix in nominal]
    forms += [(stem, suffix) for stem in [*(word.stem for word in VERBS), COPULA] for suffix in verbal]
    forms += [(place.velu, suffix) for place in LOCATIVES for suffix in ("", ATTRIBUTIVE)]
    for group in (ADJECTIVES, FREQUENCIES, MANNERS, COORDINATORS, SUBORDINATORS, (VERY,)):
        forms += [(word.velu, "") for word in group]  # type: ignore[attr-defined]
    for stem, suffix in forms:
        form = (harmonise(stem, suffix) if suffix else stem).lower()
        assert form not in owners, (form, owners[form], (stem, suffix))
        owners[form] = (stem, suffix)


def test_english_words_are_told_apart() -> None:
    forms = [form for word in VERBS for form in (word.base, word.third, word.past, word.gerund)]
    forms += [form for word in NOUNS for form in (word.singular, word.plural) if form]
    forms += [word.english for word in ADJECTIVES]
    assert len(set(forms)) == len(forms)


def test_translation_is_a_function_both_ways(sample: list[ToySentence]) -> None:
    targets: dict[str, str] = {}
    sources: dict[str, str] = {}
    for sentence in sample:
        assert targets.setdefault(sentence.source, sentence.target) == sentence.target
        assert sources.setdefault(sentence.target, sentence.source) == sentence.source


def narrow(part: Any) -> Any:
    """The same meaning in a language with hardly any words, where ambiguous structures soon meet."""
    match part:
        case Noun(plural=plural):
            return noun("dog") if plural else noun("fish")
        case Verb(frame=frame):
            return next(word for word in VERBS if word.frame is frame)
        case Pronoun(agreement=agreement):
            return next(word for word in PRONOUNS if word.agreement == agreement)
        case Adjective():
            return ADJECTIVES[0]
        case Name():
            return NAMES[0]
        case Preposition():
            return NEAR
        case Adverb():
            return next((group[0] for group in (FREQUENCIES, MANNERS) if part in group), part)
        case Linker():
            return next(group[0] for group in (COORDINATORS, SUBORDINATORS) if part in group)
        case tuple():
            return tuple(narrow(item) for item in part)
        case Enum() | bool() | None:
            return part
    names = [field.name for field in fields(part)]
    return type(part)(**{name: narrow(getattr(part, name)) for name in names})


def test_no_structure_is_ambiguous() -> None:
    targets: dict[str, str] = {}
    sources: dict[str, str] = {}
    for meaning in islice(meanings(3), 12_000):
        narrowed = narrow(meaning)
        source, target = " ".join(velu.write_velu(narrowed)), realise_english(narrowed)
        assert targets.setdefault(source, target) == target
        assert sources.setdefault(target, source) == source


def realise_english(meaning: Meaning) -> str:
    return " ".join(word.form for word in generate.words_of(english.write_english(meaning)))


def test_without_capitals_it_is_still_a_function(sample: list[ToySentence]) -> None:
    targets: dict[str, str] = {}
    for sentence in sample:
        target = sentence.target.lower()
        assert targets.setdefault(sentence.source.lower(), target) == target


def test_every_noun_has_a_case_suffix(sample: list[ToySentence]) -> None:
    seen = {word.lower() for sentence in sample for word in sentence.source.split()}
    for word in NOUNS:
        cases = {
            case
            for case, suffix in CASES.items()
            for number, article in product(("", PLURAL), ("", DEFINITE))
            if harmonise(word.stem, number + article + suffix) in seen
        }
        assert word.stem not in seen
        assert "accusative" in cases, word.singular
        assert "locative" in cases or word.kind is NounKind.FOOD, word.singular
        assert cases >= {"nominative", "dative", "genitive"} or word.kind is not NounKind.PERSON, word.singular


def test_every_word_of_the_lexicon_is_used(sample: list[ToySentence]) -> None:
    seen = {word.lower() for sentence in sample for word in sentence.target.split()}
    wanted = {form for word in NOUNS for form in (word.singular, word.plural) if form}
    wanted |= {form for word in VERBS for form in (word.base, word.third, word.past)}
    wanted |= {word.gerund for word in VERBS if word.lasting}
    wanted |= {word.english.lower() for word in (*NAMES, *ADJECTIVES, *FREQUENCIES, *MANNERS)}
    assert not wanted - seen


def test_statements_end_in_their_verb(sample: list[ToySentence]) -> None:
    stems = (*(word.stem for word in VERBS), COPULA)
    for sentence in sample:
        *_, last, stop = sentence.source.split()
        assert (last == "ki") == (stop == "?")
        if stop == ".":
            assert last.startswith(stems), sentence.source
