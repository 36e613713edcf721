"""The English side: its trees, dependencies and tags say the same of the same words."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest

from trdec.corpora.toy.generate import ToySentence, draws, realise
from trdec.corpora.toy.lexicon import ADJECTIVES, COORDINATORS, NOUNS, VERBS, WE, Adjective, Noun, Verb
from trdec.corpora.toy.meaning import (
    Clause,
    Deed,
    Described,
    Determiner,
    Gap,
    Inflection,
    Joined,
    Personal,
    Quality,
    Question,
    Relative,
    Statement,
    Tense,
)
from trdec.trees.tree import Nonterminal, Terminal, Tree, preorder, words


def noun(english: str) -> Noun:
    return next(word for word in NOUNS if word.singular == english)


def verb(english: str) -> Verb:
    return next(word for word in VERBS if word.base == english)


def adjective(english: str) -> Adjective:
    return next(word for word in ADJECTIVES if word.english == english)


THE_CAT = Described(noun("cat"), False, Determiner.DEFINITE)
FISH = Described(noun("fish"), False, Determiner.INDEFINITE)
EATS_FISH = Deed(verb("eat"), object=FISH)


@pytest.fixture(scope="module")
def sample() -> list[ToySentence]:
    return list(islice(draws(5), 4000))


def test_the_cat_eats_fish_as_in_the_treebank() -> None:
    sentence = realise(Statement(Clause(THE_CAT, EATS_FISH)))
    assert repr(sentence.tree) == ("(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ eats) (NP (NN fish))) (. .)))")
    assert sentence.heads == (2, 3, 0, 3, 3)
    assert sentence.relations == ("det", "nsubj", "root", "obj", "punct")
    assert sentence.upos == ("DET", "NOUN", "VERB", "NOUN", "PUNCT")
    assert sentence.supertags == ("NP/N", "N", r"(S[dcl]\NP)/NP", "N", ".")


def test_the_auxiliary_moves_in_a_question() -> None:
    sentence = realise(Question(Clause(THE_CAT, EATS_FISH, Tense.PAST)))
    assert repr(sentence.tree) == ("(ROOT (SQ (VBD Did) (NP (DT the) (NN cat)) (VP (VB eat) (NP (NN fish))) (. ?)))")
    assert sentence.heads == (4, 3, 4, 0, 4, 4)


def test_a_conjunction_and_its_comma_hang_on_the_clause_after_them() -> None:
    sleeping = Clause(Personal(WE), Deed(verb("sleep")), Tense.FUTURE, negated=True)
    sentence = realise(Joined(COORDINATORS[0], Clause(THE_CAT, EATS_FISH), sleeping))
    assert sentence.target == "The cat eats fish , and we will not sleep ."
    assert sentence.heads == (2, 3, 0, 3, 10, 10, 10, 10, 10, 3, 3)
    assert sentence.relations[4:] == ("punct", "cc", "nsubj", "aux", "advmod", "conj", "punct")


def test_a_relative_clause_hangs_on_its_noun() -> None:
    gap = Gap(Inflection.THEY)
    clause = Clause(THE_CAT, Deed(verb("chase"), progressive=True, object=gap), Tense.PAST)
    mice = Described(noun("mouse"), True, Determiner.THIS, modifier=Relative(clause))
    sentence = realise(Statement(Clause(mice, Quality(adjective("old"), True))))
    assert sentence.target == "These mice that the cat was chasing are very old ."
    assert sentence.heads == (2, 10, 7, 5, 7, 7, 2, 10, 10, 0, 10)
    assert sentence.relations[2] == "obj"
    assert sentence.relations[6] == "acl:relcl"


def test_the_leaves_of_the_tree_are_the_words(sample: list[ToySentence]) -> None:
    for sentence in sample:
        assert words(sentence.tree) == sentence.target.split()
        assert sentence.tree.label == "ROOT"


def test_every_word_stands_alone_under_its_tag(sample: list[ToySentence]) -> None:
    for sentence in sample:
        tags = []
        for node in preorder(sentence.tree):
            if isinstance(node, Nonterminal) and any(isinstance(child, Terminal) for child in node.children):
                assert len(node.children) == 1
                tags.append(node.label)
        assert tuple(tags) == sentence.xpos


def test_every_word_has_every_annotation(sample: list[ToySentence]) -> None:
    for sentence in sample:
        size = len(sentence.target.split())
        columns = (sentence.heads, sentence.relations, sentence.upos, sentence.xpos, sentence.supertags)
        assert {len(column) for column in columns} == {size}


def test_the_heads_form_a_projective_tree_with_one_root(sample: list[ToySentence]) -> None:
    for sentence in sample:
        heads = sentence.heads
        assert heads.count(0) == 1
        assert [relation == "root" for relation in sentence.relations] == [head == 0 for head in heads]
        governed: dict[int, set[int]] = {position: set() for position in range(len(heads) + 1)}
        for position in range(1, len(heads) + 1):
            ancestor, climbed = position, 0
            governed[position].add(position)
            while ancestor:
                ancestor = heads[ancestor - 1]
                governed[ancestor].add(position)
                climbed += 1
                assert climbed <= len(heads), f"a cycle in {sentence.target}"
        for members in governed.values():
            assert max(members) - min(members) + 1 == len(members), sentence.target


NOUNS_AND_PRONOUNS = {"NOUN", "PROPN", "PRON"}
PREDICATES = {"VERB", "ADJ", "NOUN", "PROPN", "PRON"}
# For each relation the parts of speech that it leads to.
DEPENDENTS = {
    "root": PREDICATES,
    "nsubj": NOUNS_AND_PRONOUNS,
    "obj": NOUNS_AND_PRONOUNS,
    "iobj": NOUNS_AND_PRONOUNS,
    "obl": NOUNS_AND_PRONOUNS,
    "nmod": NOUNS_AND_PRONOUNS,
    "nmod:poss": {"PRON"},
    "det": {"DET"},
    "amod": {"ADJ"},
    "advmod": {"ADV", "PART"},
    "aux": {"AUX"},
    "cop": {"AUX"},
    "case": {"ADP"},
    "mark": {"SCONJ"},
    "cc": {"CCONJ"},
    "conj": PREDICATES,
    "ccomp": PREDICATES,
    "advcl": PREDICATES,
    "acl:relcl": PREDICATES,
    "punct": {"PUNCT"},
}


def test_relations_fit_the_parts_of_speech(sample: list[ToySentence]) -> None:
    for sentence in sample:
        for upos, head, relation in zip(sentence.upos, sentence.heads, sentence.relations, strict=True):
            assert upos in DEPENDENTS[relation], (relation, sentence.target)
            assert not head or sentence.upos[head - 1] in PREDICATES, sentence.target
        assert sentence.relations.count("cc") == sentence.relations.count("conj")
    assert {relation for sentence in sample for relation in sentence.relations} == set(DEPENDENTS)


def test_every_phrase_has_one_word_governed_from_outside(sample: list[ToySentence]) -> None:
    def check(tree: Tree, start: int, heads: tuple[int, ...]) -> int:
        if isinstance(tree, Terminal):
            return start + 1
        end = start
        for child in tree.children:
            end = check(child, end, heads)
        assert sum(not start < head <= end for head in heads[start:end]) == 1
        return end

    for sentence in sample:
        check(sentence.tree, 0, sentence.heads)


def test_verbs_agree_and_articles_fit(sample: list[ToySentence]) -> None:
    singular = {"he", "she", "it"}
    for sentence in sample:
        forms = sentence.target.split()
        for position, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
            if relation == "nsubj" and sentence.xpos[position] == "PRP":
                finite = [
                    sentence.xpos[other]
                    for other in range(len(forms))
                    if other + 1 == head
                    or (sentence.heads[other] == head and sentence.relations[other] in ("aux", "cop"))
                ]
                third = forms[position].lower() in singular
                assert ("VBP" if third else "VBZ") not in finite, sentence.target
        for article, following in pairwise(forms):
            if article.lower() in ("a", "an"):
                assert (article.lower() == "an") == (following[0] in "aeiou"), sentence.target


def test_only_the_first_word_names_and_i_have_capitals(sample: list[ToySentence]) -> None:
    for sentence in sample:
        first, *others = zip(sentence.target.split(), sentence.xpos, strict=True)
        assert first[0][0].isupper()
        for form, tag in others:
            assert form[0].isupper() == (tag == "NNP" or form == "I")
