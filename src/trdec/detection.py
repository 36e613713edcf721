"""What a text probably is: its script, its language among two, whether it is raw."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice

from trdec.tokenisers import primary

SAMPLE = 2000
"""Lines that are looked at."""

_SCRIPTS = (
    "Latin Cyrillic Greek Arabic Hebrew Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam "
    "Sinhala Thai Lao Tibetan Myanmar Khmer Georgian Armenian Ethiopic Hangul Han Hiragana Katakana Mongolian Cherokee"
)
SCRIPTS = tuple(_SCRIPTS.split())
UNSPACED = ("Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
"""Scripts that do not separate words by spaces, apart from Chinese and Japanese."""

_CODES = (
    "Latn Cyrl Grek Arab Hebr Deva Beng Guru Gujr Orya Taml Telu Knda Mlym "
    "Sinh Thai Laoo Tibt Mymr Khmr Geor Armn Ethi Hang Hani Hira Kana Mong Cher"
)
_OF_TWO = {"Hans": "Han", "Hant": "Han", "Jpan": "Hiragana", "Kore": "Hangul"}
SCRIPT_CODES = dict(zip(_CODES.split(), SCRIPTS, strict=True)) | _OF_TWO
"""Scripts by the code that may stand after a language, as in sr-Latn (ISO 15924)."""

_LANGUAGE_SCRIPTS = {
    "Cyrillic": "ab ba be bg ce cv kk ky mk mn os ru tg tt uk",
    "Greek": "el grc",
    "Arabic": "ar arz ckb fa ps sd ug ur",
    "Hebrew": "he yi",
    "Devanagari": "bho hi mai mr ne sa",
    "Bengali": "as bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Tibetan": "bo dz",
    "Myanmar": "my",
    "Khmer": "km",
    "Georgian": "ka",
    "Armenian": "hy",
    "Ethiopic": "am ti",
    "Hangul": "ko",
    "Han": "yue zh",
    "Hiragana": "ja",
    "Latin": "af ca cs cy da de en es et eu fi fr ga gl ha hr hu id ig is it la lt lv ms mt nl no om pl pt ro rw sk sl "
    "so sq sv sw tl tr vi wo xh yo zu",
}
SCRIPT_OF_LANGUAGE = {code: script for script, codes in _LANGUAGE_SCRIPTS.items() for code in codes.split()}
"""The script that a language is usually written in, for languages with one."""


def expected_script(language: str) -> str | None:
    """The script of text in a language by its code (kk, kk-Latn), or None if that is not known."""
    code, *others = language.split("-")
    named = next((other for other in others if len(other) == 4 and other.isalpha()), None)
    return SCRIPT_OF_LANGUAGE.get(code) if named is None else SCRIPT_CODES.get(named.title())


COMMON_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "cs": "a se na je že v s o k z do ve pro jako byl jsem",
        "da": "og i at det er en til på som af for med den der ikke",
        "de": "der die und das ein eine ist nicht mit auf zu den im von sich einer",
        "en": "the of and is in to was with that it for are on an his at",
        "es": "de la que el en y los se del las un por con una no es",
        "fi": "ja on ei se että oli hän mutta ovat niin kun myös",
        "fr": "de la le et les des en un du une que est pour qui dans il",
        "it": "di che è la il un per in una sono non con del della si gli",
        "nl": "de het een van en in is dat op te zijn met voor niet die aan",
        "pl": "w i na z się nie do to że jest o jak po za ale od",
        "pt": "de a o que e do da em um para não uma os no se na",
        "ro": "și de la a în cu pe o nu din un este care mai că pentru",
        "sv": "och i att det som en på är av för med den till inte ett han",
        "tr": "ve bir bu da de için ile çok o olarak gibi daha ne var kadar",
    }.items()
}
"""The most frequent words of some languages that share a script."""

_STOPS = ".,!?;:।॥።፣،؛؟۔։။၊។"
_CLOSING = "\"'”’»)\\]"
_ATTACHED = re.compile(rf"[^\s{_STOPS}][{_STOPS}]+[{_CLOSING}]*(?=\s|$)|\w[。、，！？]")
_SEPARATE = re.compile(rf"(?:(?<=\s)|^)[{_STOPS}。、，！？](?=\s|$)")
_LONG_RUNS = {"Han": 3.5, "Hiragana": 3.5} | dict.fromkeys(UNSPACED, 10.0)
"""More characters between spaces than words have on average."""
_WORD = re.compile(r"\w+")


@cache
def script_of(character: str) -> str | None:
    """The script of a letter, or None for what is used in several."""
    import regex  # slow to import

    if not character.isalpha():
        return None
    return next((name for name in SCRIPTS if regex.match(rf"\p{{Script={name}}}", character)), "another script")


def script_shares(lines: Iterable[str]) -> dict[str, float]:
    """The share of letters in each script, the most frequent first."""
    letters = Counter(character for line in islice(lines, SAMPLE) for character in line)
    scripts: Counter[str] = Counter()
    for character, count in letters.items():
        if (script := script_of(character)) is not None:
            scripts[script] += count
    total = scripts.total()
    return {script: count / total for script, count in scripts.most_common()}


def main_script(lines: Sequence[str]) -> str | None:
    """The script of most letters; text with a fair share of kana is in Hiragana, whatever else it has."""
    shares = script_shares(lines)
    if shares.get("Hiragana", 0) + shares.get("Katakana", 0) > 0.1:
        return "Hiragana"
    return next(iter(shares), None)


def looks_raw(lines: Sequence[str]) -> bool:
    """Whether punctuation is attached to words, or words to each other, as it is before text is tokenised."""
    sample = lines[:SAMPLE]
    attached = sum(len(_ATTACHED.findall(line)) for line in sample)
    if attached > sum(len(_SEPARATE.findall(line)) for line in sample):
        return True
    # Scripts without spaces between words may have no punctuation either, only runs of words longer than any word.
    runs = [len(run) for line in sample for run in line.split()]
    return bool(runs) and sum(runs) > _LONG_RUNS.get(main_script(sample) or "", math.inf) * len(runs)


def looks_swapped(sources: Sequence[str], targets: Sequence[str], source_language: str, target_language: str) -> bool:
    """Whether each side is rather in the other side's language, by script or by its most frequent words."""
    expected = expected_script(source_language), expected_script(target_language)
    if None not in expected and expected[0] != expected[1]:
        return (main_script(targets), main_script(sources)) == expected
    ours, theirs = (COMMON_WORDS.get(primary(code)) for code in (source_language, target_language))
    if ours is None or theirs is None or ours == theirs:
        return False
    return _favours(sources, theirs, ours) and _favours(targets, ours, theirs)


def _favours(lines: Sequence[str], one: frozenset[str], other: frozenset[str]) -> bool:
    counts = Counter(word for line in lines[:SAMPLE] for word in _WORD.findall(line.lower()))
    return sum(counts[word] for word in one) > 2 * sum(counts[word] for word in other)
