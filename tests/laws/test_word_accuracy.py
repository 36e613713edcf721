"""Word accuracy by frequency: what must hold for any text, and an independent computation."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.degraded import VOCABULARY
from trdec.evaluation.trees import Agreement
from trdec.evaluation.word_accuracy import (
    FREQUENCY_GROUPS,
    WordAccuracy,
    bleu_splitter,
    count_words,
    word_accuracy,
)

lines = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)
pairs = st.lists(st.tuples(lines, lines), min_size=1, max_size=8)
frequencies = st.dictionaries(
    st.sampled_from(VOCABULARY), st.sampled_from([1, 2, 3, 4, 5, 9, 10, 99, 100, 1000, 10**6])
)


def accuracy(found: list[tuple[str, str]], counts: dict[str, int]) -> WordAccuracy:
    outputs, references = map(list, zip(*found, strict=True))
    return word_accuracy([outputs], references, counts)


@given(pairs, frequencies)
def test_a_perfect_output_has_1_in_every_group(found: list[tuple[str, str]], counts: dict[str, int]) -> None:
    references = [reference for _, reference in found]
    for group in word_accuracy([references, references], references, counts).groups:
        assert group.matched == group.found == group.expected
        assert (group.precision, group.recall, group.f1) == (1, 1, 1)


@given(pairs, frequencies)
def test_exchanging_output_and_reference_exchanges_precision_and_recall(
    found: list[tuple[str, str]], counts: dict[str, int]
) -> None:
    one, other = accuracy(found, counts), accuracy([(reference, output) for output, reference in found], counts)
    for there, back in zip(one.groups, other.groups, strict=True):
        assert (there.matched, there.found, there.expected) == (back.matched, back.expected, back.found)
        assert there.f1 == back.f1


@given(pairs, frequencies)
def test_groups_sum_to_all_words_whatever_the_frequencies(found: list[tuple[str, str]], counts: dict[str, int]) -> None:
    total = accuracy(found, counts).total
    assert total == accuracy(found, {}).groups[0] == accuracy(found, {}).total
    assert total.found == sum(len(output.split()) for output, _ in found)
    assert total.expected == sum(len(reference.split()) for _, reference in found)


@given(pairs, frequencies)
def test_matches_are_found_one_by_one_as_compare_mt_does(found: list[tuple[str, str]], counts: dict[str, int]) -> None:
    def group(word: str) -> int:
        upper = (1, 2, 3, 5, 10, 100, 1000)
        return sum(counts.get(word, 0) >= bound for bound in upper)

    sums = [[0, 0, 0] for _ in FREQUENCY_GROUPS]
    for output, reference in found:
        left = reference.split()
        for word in left:
            sums[group(word)][2] += 1
        for word in output.split():
            sums[group(word)][1] += 1
            if word in left:
                left.remove(word)
                sums[group(word)][0] += 1
    assert accuracy(found, counts) == WordAccuracy(tuple(Agreement(*each) for each in sums))


@given(pairs, pairs, frequencies)
def test_several_outputs_add_up(
    first: list[tuple[str, str]], second: list[tuple[str, str]], counts: dict[str, int]
) -> None:
    references = [reference for _, reference in first]
    others = [second[number % len(second)][0] for number in range(len(first))]
    outputs = [[output for output, _ in first], others]
    alone = [word_accuracy([each], references, counts).total for each in outputs]
    both = word_accuracy(outputs, references, counts).total
    assert both.matched == sum(each.matched for each in alone)
    assert both.found == sum(each.found for each in alone)


@given(st.integers(0, 5000))
def test_every_frequency_belongs_to_one_group(count: int) -> None:
    (group,) = [group for group in FREQUENCY_GROUPS if count in group]
    assert group.label in ("0", "1", "2", "3-4", "5-9", "10-99", "100-999", "1000+")


def test_words_are_split_as_bleu_splits_them() -> None:
    assert count_words(["The cat, the cat."], bleu_splitter("13a")) == Counter(
        {"cat": 2, "The": 1, "the": 1, ",": 1, ".": 1}
    )
    assert count_words(["10\u00a0000 cats,"], bleu_splitter()) == Counter({"10\u00a0000": 1, "cats,": 1})


def test_a_word_matches_at_most_as_often_as_the_reference_has_it() -> None:
    (group,) = [
        each
        for each in word_accuracy([["the the the cat"]], ["the cat the"], {"the": 9, "cat": 5}).groups
        if each.found
    ]
    assert (group.matched, group.found, group.expected) == (3, 4, 3)
    assert group.f1 == pytest.approx(6 / 7)
