"""Small random batches whose steps are real derivations, with the inventory they need."""

from __future__ import annotations

import random

import numpy as np
import torch

from trdec.data.batch import Batch, Inventory, SourceBatch

# Symbols: 0 ROOT, 1 NULL, 2 pre, 3 pre with a word in it, 4 the end.
RULES = {0: (0, 1), 1: (2, 3, 4)}  # symbol -> rules
OPENED = {0: (1,), 1: (1, 1), 2: (1, 1), 3: (1, 2), 4: (2,)}  # rule -> symbols
FIRST_WORD, NUM_WORDS = 5, 6
EOP, EOS = 11, 12
NUM_ACTIONS, NUM_SYMBOLS, SOURCE_SIZE = 13, 5, 9


def tree_inventory() -> Inventory:
    legal = torch.zeros(NUM_SYMBOLS, NUM_ACTIONS, dtype=torch.bool)
    for symbol, rules in RULES.items():
        legal[symbol, list(rules)] = True
    legal[2:4, FIRST_WORD:EOP] = True
    legal[3, EOP] = True
    legal[4, EOS] = True
    word_symbols = torch.tensor([False, False, True, True, False])
    word_actions = torch.zeros(NUM_ACTIONS, dtype=torch.bool)
    word_actions[FIRST_WORD : EOP + 1] = True
    return Inventory(SOURCE_SIZE, NUM_ACTIONS, NUM_SYMBOLS, legal, word_symbols, word_actions, written_pieces())


def sequence_inventory() -> Inventory:
    legal = torch.ones(NUM_SYMBOLS, NUM_ACTIONS, dtype=torch.bool)
    legal[0, EOS] = False
    words = torch.zeros(NUM_ACTIONS, dtype=torch.bool)
    symbols = torch.zeros(NUM_SYMBOLS, dtype=torch.bool)
    return Inventory(SOURCE_SIZE, NUM_ACTIONS, NUM_SYMBOLS, legal, symbols, words, written_pieces())


def written_pieces() -> torch.Tensor:
    pieces = torch.zeros(NUM_ACTIONS, dtype=torch.bool)
    pieces[FIRST_WORD:EOP] = True
    return pieces


def random_derivation(draw: random.Random, size: int) -> list[tuple[int, int, int]]:
    """Steps (action, symbol, parent) of a derivation whose rules stop branching after about `size` steps."""
    steps: list[tuple[int, int, int]] = []
    stack = [(0, 0)]
    while stack:
        symbol, parent = stack.pop()
        if symbol in RULES:
            rules = RULES[symbol] if len(steps) < size else RULES[symbol][-1:]
            if len(steps) >= size and symbol == 0:
                rules = RULES[0][:1]
            rule = draw.choice(rules)
            steps.append((rule, symbol, parent))
            stack += [(opened, len(steps)) for opened in reversed(OPENED[rule])]
        elif symbol == 2 or draw.random() < 0.5:
            steps.append((draw.randrange(FIRST_WORD, EOP), symbol, parent))
            stack.append((3, parent))
        else:
            steps.append((EOP, symbol, parent))
    return [*steps, (EOS, 4, 0)]


def random_batch(
    seed: int, sizes: tuple[int, ...] = (9, 2, 5, 0), max_source: int = 5, source_trees: bool = False
) -> Batch:
    """Ragged on both sides, in no particular order; with `source_trees`, sources have the places of trees."""
    draw = random.Random(seed)
    derivations = [random_derivation(draw, size) for size in sizes]
    sources = [[draw.randrange(SOURCE_SIZE) for _ in range(draw.randint(1, max_source))] for _ in sizes]
    steps = torch.zeros(len(sizes), max(map(len, derivations)), 3, dtype=torch.long)
    padding = torch.ones(steps.shape[:2], dtype=torch.bool)
    source = torch.zeros(len(sizes), max(map(len, sources)), dtype=torch.long)
    for row, (derivation, pieces) in enumerate(zip(derivations, sources, strict=True)):
        steps[row, : len(derivation)] = torch.tensor(derivation)
        padding[row, : len(derivation)] = False
        source[row, : len(pieces)] = torch.tensor(pieces)
    lengths = torch.tensor([len(pieces) for pieces in sources])
    if source_trees:
        return Batch(SourceBatch.of([random_places(draw, pieces) for pieces in sources]), *steps.unbind(-1), padding)
    return Batch(SourceBatch(source, lengths), *steps.unbind(-1), padding)


def random_places(draw: random.Random, pieces: list[int]) -> np.ndarray:
    """S 3: the pieces, an end and the nodes of a random tree, whose numbers are random too."""
    places = [[number, 1, 0] for number in (*pieces, draw.randrange(SOURCE_SIZE))]
    tops = list(range(len(pieces)))
    while len(tops) > 1 or tops[0] < len(pieces) or draw.random() < 0.3:
        first = draw.randrange(len(tops))
        count = draw.randint(1, 4)  # one child too: unary nodes are nodes
        places.append([draw.randrange(SOURCE_SIZE), 0, 0])
        for child in tops[first : first + count]:
            places[child][2] = len(places)
        tops[first : first + count] = [len(places) - 1]
    return np.array(places, dtype=np.int32)


def sentence(batch: Batch, row: int) -> Batch:
    """One sentence of a batch, without its padding."""
    alone = select(batch, torch.tensor([row]))
    steps = int((~alone.padding).sum())
    return Batch(
        alone.source,
        alone.actions[:, :steps],
        alone.symbols[:, :steps],
        alone.parents[:, :steps],
        alone.padding[:, :steps],
    )


def select(batch: Batch, sentences: torch.Tensor) -> Batch:
    """These sentences in this order."""
    steps = (batch.actions, batch.symbols, batch.parents, batch.padding)
    return Batch(batch.source.select(sentences), *(each[sentences] for each in steps))
