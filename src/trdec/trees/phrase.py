"""Balanced trees that respect punctuation: balanced inside each phrase, then balanced over the phrases."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from trdec.trees.binary import balanced, version_1
from trdec.trees.tree import Tree


def phrase(words: Sequence[str]) -> Tree:
    """Algorithm 1 of the paper inside each punctuation-delimited phrase, then over the phrases."""
    return balanced([version_1(part) for part in phrases(words)])


def phrases(words: Sequence[str]) -> list[list[str]]:
    """The sentence cut after closing and before opening punctuation: [After that ,] [he slept .]."""
    parts: list[list[str]] = [[]]
    for word in words:
        opens = _is_opening(word)
        # Punctuation never stands alone: it joins the punctuation before it, as in [he slept . ''].
        after_phrase = bool(parts[-1]) and _is_punctuation(parts[-1][-1]) and not _is_opening(parts[-1][-1])
        if parts[-1] and (opens or (after_phrase and not _is_punctuation(word))):
            parts.append([])
        parts[-1].append(word)
    return parts


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(character)[0] in "PS" for character in word) and not word.isalnum()


def _is_opening(word: str) -> bool:
    return word in ("``", "-LRB-", "-LSB-", "-LCB-") or unicodedata.category(word[0]) in ("Ps", "Pi")
