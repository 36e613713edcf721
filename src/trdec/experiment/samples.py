"""Translations to look at: the same lines by every system, with their trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trdec.evaluation.outputs import read_references, read_texts
from trdec.experiment.results import Results
from trdec.text.lines import split_words
from trdec.trees.tree import Nonterminal

SHORTEST, LONGEST = 5, 14
"""Words of the references to choose: long enough to have a tree, short enough for a page."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A line of the test text and what each system made of it (its first seed)."""

    line: int
    source: str
    reference: str
    translations: tuple[tuple[str, str, Nonterminal | None], ...]
    """System, text, tree."""


def samples(results: Results) -> list[Sample]:
    """As many lines as the experiment asks for, spread over the test text."""
    source, target = results.plan.test
    sources, references = read_texts(source), read_references(target)
    chosen = spread(
        [number for number, text in enumerate(references) if SHORTEST <= len(split_words(text)) <= LONGEST],
        results.plan.experiment.samples,
    )
    outputs = [results.of(system)[0].output for system in results.systems()]
    return [
        Sample(
            number + 1,
            sources[number],
            references[number],
            tuple((output.system, output.lines[number], (output.trees or ())[number]) for output in outputs),
        )
        for number in chosen
    ]


def spread(numbers: Sequence[int], count: int) -> list[int]:
    """That many of the numbers, evenly spread; all of them if there are no more."""
    if count >= len(numbers):
        return list(numbers)
    return [numbers[(2 * place + 1) * len(numbers) // (2 * count)] for place in range(count)]
