"""What the tree Transformer knows of a tree is what following parents step by step gives."""

from __future__ import annotations

import pytest
import torch

from support.random_batches import random_batch
from support.small_models import small, small_dev
from trdec.data.batch import Batch, collate
from trdec.model.transformer.tree_decoder import (
    ANCESTOR,
    FUTURE,
    OTHER,
    PARENT,
    SIBLING,
    depths_of,
    relations,
)
from trdec.systems import SYSTEMS


def ancestors(parents: list[int], step: int) -> list[int]:
    """The places where the rules above a step's node are read, nearest first; last the start."""
    found = [parents[step]]
    while found[-1]:
        found.append(parents[found[-1] - 1])
    return found


def relation(parents: list[int], step: int, place: int) -> int:
    """What the action that is read at a place is to the node of a step."""
    if place > step:
        return FUTURE
    above = ancestors(parents, step)
    if place in above:
        return PARENT if place == above[0] else ANCESTOR
    return SIBLING if parents[place - 1] == parents[step] else OTHER


def check(batch: Batch) -> set[int]:
    """The relations that occur, after comparing all of them."""
    depths, read = depths_of(batch.parents)
    num_steps = batch.parents.shape[1]
    found = relations(batch.parents, depths, read, num_steps)
    for row, parents in enumerate(batch.parents.tolist()):
        length = int((~batch.padding[row]).sum())
        own = [len(ancestors(parents, step)) for step in range(length)]
        assert depths[row, :length].tolist() == own
        assert read[row, :length].tolist() == [0, *own[:-1]]
        expected = [[relation(parents, step, place) for place in range(length)] for step in range(length)]
        assert found[row, :length, :length].tolist() == expected
    for num_new in (1, num_steps // 2):
        assert torch.equal(relations(batch.parents, depths, read, num_new), found[:, -num_new:])
    return set(found.flatten().tolist())


@pytest.mark.parametrize("seed", range(3))
def test_relations_in_random_trees(seed: int) -> None:
    assert check(random_batch(seed)) == {PARENT, ANCESTOR, SIBLING, OTHER, FUTURE}


@pytest.mark.parametrize("system", SYSTEMS)
def test_relations_in_the_trees_of_every_system(system: str) -> None:
    dev = small_dev(system)
    some = [dev[number] for number in range(0, len(dev), max(1, len(dev) // 3))]
    check(collate(some, small(system).codec.table.steps))


def test_a_chain_is_as_deep_as_it_is_long() -> None:
    depths, read = depths_of(torch.arange(70).unsqueeze(0))
    assert depths.tolist() == [list(range(1, 71))]
    assert read.tolist() == [list(range(70))]
