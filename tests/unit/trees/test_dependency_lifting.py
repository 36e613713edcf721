"""Crossing arcs are lifted no further than they must be."""

from __future__ import annotations

from trdec.trees.dependency import projectivise


def test_a_crossing_arc_is_lifted_to_its_heads_head() -> None:
    # A hearing is scheduled on the issue today: "on" (5) hangs from "hearing" (2) across "is scheduled" (3, 4),
    # "today" (8) from "scheduled".
    heads = [2, 3, 0, 3, 2, 7, 5, 4]
    assert projectivise(heads) == [2, 3, 0, 3, 3, 7, 5, 3]


def test_the_shortest_crossing_arc_is_lifted_first() -> None:
    # 1 <- 3 crosses 2 <- 4; lifting 1 -> 4 (its head's head) is enough.
    assert projectivise([3, 4, 4, 0]) == [4, 4, 4, 0]
