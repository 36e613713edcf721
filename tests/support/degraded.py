"""Invented references, and what systems that make mistakes would write for them."""

from __future__ import annotations

import random

VOCABULARY = (
    "a",
    "the",
    "cat",
    "dog",
    "fish",
    "house",
    "king",
    "queen",
    "sees",
    "eats",
    "sings",
    "in",
    "on",
    "old",
    ".",
)


def invented(sentences: int, longest: int = 50, seed: int = 1) -> list[str]:
    """Sentences of 1 to `longest` words."""
    generator = random.Random(seed)
    return [" ".join(generator.choices(VOCABULARY, k=generator.randint(1, longest))) for _ in range(sentences)]


def degraded(references: list[str], rate: float, seed: int = 1) -> list[str]:
    """The references with a share of their words replaced, left out or doubled."""
    generator = random.Random(seed)
    return [
        " ".join(written for word in line.split() for written in _written(word, rate, generator)) for line in references
    ]


def _written(word: str, rate: float, generator: random.Random) -> list[str]:
    if generator.random() >= rate:
        return [word]
    return generator.choice([[], [word, word], [generator.choice(VOCABULARY)]])
