"""Good inputs made into bad ones: every mutation is a function of a random generator and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

TOKENS = (
    *(character.encode() for character in "\t\n\r\v\f \0\x1b\x1c\x85\u00a0\u2028\u3000\ufeff\u0301\u202e\ufffd猫😀"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n\n"),
    *(b"0", b"-1", b"1e999", b"nan", b"-0", b"1_0", "٣".encode(), "²".encode(), b"9" * 5000, b"0x" + b"f" * 5000),
    *(b"null", b"true", b"{}", b"[]", b"''", b'"', b"\\", b"%s", b"{0}", b"../", b"/dev/null", b"~", b"-", b"--"),
)
"""What may stand anywhere in any input."""

LONGEST = 1 << 16
"""Bytes of a generated input."""

_NUMBER = re.compile(rb"\d+")
_ODD_NUMBERS = (b"0", b"-1", b"1", b"2147483648", b"18446744073709551616", b"1" + b"0" * 30, b"0.5", b"9" * 5000, b"")


def mutate(text: bytes, others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> bytes:
    """The text after one to eight mutations, at most LONGEST bytes of it."""
    for _ in range(1 + int(8 * random.random() ** 2)):
        text = random.choice(_MUTATIONS)(text, others, tokens, random)
    if random.random() < 0.002:  # rare, because a long case takes as long as many short ones
        text = _repeat_much(text, tokens, random)
    return text[:LONGEST]


def _span(text: bytes, random: Random, longest: int = 40) -> tuple[int, int]:
    start = int(random.random() * (len(text) + 1))
    return start, start + int(random.random() * longest)


def _insert_token(text: bytes, _others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> bytes:
    at, _ = _span(text, random)
    return text[:at] + random.choice(tokens) + text[at:]


def _replace_by_token(text: bytes, _others: Sequence[bytes], tokens: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(text, random, 10)
    return text[:start] + random.choice(tokens) + text[end:]


def _delete(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(text, random)
    return text[:start] + text[end:]


def _duplicate(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(text, random)
    return text[:end] + text[start:end] * random.choice((1, 1, 2, 10)) + text[end:]


def _change_byte(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    at, _ = _span(text, random)
    return text[:at] + bytes([random.getrandbits(8)]) + text[at + 1 :]


def _flip_bit(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    at, _ = _span(text, random)
    return text[:at] + bytes([byte ^ (1 << random.getrandbits(3)) for byte in text[at : at + 1]]) + text[at + 1 :]


def _cut(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    at, _ = _span(text, random)
    return text[:at] if random.random() < 0.5 else text[at:]


def _splice(text: bytes, others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    return text[: _span(text, random)[0]] + other[_span(other, random)[0] :]


def _move(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(text, random)
    rest = text[:start] + text[end:]
    at, _ = _span(rest, random)
    return rest[:at] + text[start:end] + rest[at:]


def _change_number(text: bytes, _others: Sequence[bytes], _tokens: Sequence[bytes], random: Random) -> bytes:
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return text
    found = random.choice(numbers)
    return text[: found.start()] + random.choice(_ODD_NUMBERS) + text[found.end() :]


def _repeat_much(text: bytes, tokens: Sequence[bytes], random: Random) -> bytes:
    at, end = _span(text, random, 8)
    repeated = random.choice((text[at:end], random.choice(tokens)))
    times = min(random.choice((1000, 5000, LONGEST)), LONGEST // max(1, len(repeated)))
    return text[:at] + repeated * times + text[at:]


_MUTATIONS: tuple[Callable[[bytes, Sequence[bytes], Sequence[bytes], Random], bytes], ...] = (
    _insert_token,
    _insert_token,
    _replace_by_token,
    _delete,
    _duplicate,
    _change_byte,
    _flip_bit,
    _cut,
    _splice,
    _move,
    _change_number,
)
