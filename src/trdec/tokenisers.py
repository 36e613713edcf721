"""Tokenisers: a line of text as words, and words as a line of text again."""

from __future__ import annotations

import difflib
import logging
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any, Literal

from trdec.errors import UsageError
from trdec.files import split_words

_log = logging.getLogger(__name__)

WORD_START = "▁"
"""How a subword that begins a word starts, as sentencepiece writes it: a space before the word."""

TokeniserName = Literal["unicode", "icu", "sacremoses", "none"]

DICTIONARY_LANGUAGES = ("ja", "km", "lo", "my", "th", "yue", "zh")
"""Languages written without spaces between words, for which ICU has dictionaries."""


def words_of_pieces(pieces: str) -> list[str]:
    """The words that pieces side by side in a tree spell, if each word starts with WORD_START."""
    return [word for word in pieces.removeprefix(WORD_START).split(WORD_START) if word]


class Tokeniser:
    """Text that is tokenised already: whitespace separates its words."""

    name: TokeniserName = "none"
    marks_spaces = False
    """Whether words carry the space before them, so that they join to exactly the text they came from."""

    def __init__(self, language: str | None = None) -> None:
        self.language = language

    def split(self, text: str) -> list[str]:
        """The words of a line."""
        return split_words(text)

    def join(self, words: Sequence[str]) -> str:
        """The line of these words."""
        return " ".join(words)

    def words_of(self, pieces: str) -> list[str]:
        """The words that pieces side by side in a tree spell."""
        return words_of_pieces(pieces)

    def bare(self, word: str) -> str:
        """The word as trees show it."""
        return word

    def count(self, words: Sequence[str]) -> int:
        """How many words begin with WORD_START once they are pieces."""
        return len(words)

    def __reduce__(self) -> tuple[type[Tokeniser], tuple[str | None]]:
        return type(self), (self.language,)


class MosesTokeniser(Tokeniser):
    """The rules of Moses for one language ('en', 'de', ...), which separate punctuation from words."""

    name = "sacremoses"

    # sacremoses is slow to import and to set up, so this is done on first use.
    @cached_property
    def _tokeniser(self) -> Any:
        from sacremoses import MosesTokenizer

        return MosesTokenizer(lang=self.language)

    @cached_property
    def _detokeniser(self) -> Any:
        from sacremoses import MosesDetokenizer

        return MosesDetokenizer(lang=self.language)

    def split(self, text: str) -> list[str]:
        """The tokens of a raw line: "The cat's fish." -> The cat 's fish ."""
        return list(self._tokeniser.tokenize(text, escape=False))

    def join(self, words: Sequence[str]) -> str:
        """The raw line that Moses' rules make of these tokens; it may differ from the one they came from."""
        return str(self._detokeniser.detokenize(list(words), unescape=False))


SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u202f\u205f\u3000"
"""Characters that separate words; the zero-width space does so in Khmer and Thai."""

_REPLACED = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029], " "),
    ord(WORD_START): "_",
}
_RUN_OF_SPACES = re.compile(f"[{SPACES}]{{2,}}")
_CHUNK = re.compile(f"([{SPACES}]*)([^{SPACES}]+)")


def normalise(text: str) -> str:
    """The text as the unicode tokeniser gives it back: NFC, no control characters, single spaces, none at the ends.

    A line end or another control character counts as a space. The character ▁, which marks spaces, becomes _.
    """
    found = unicodedata.normalize("NFC", text).translate(_REPLACED)
    return _RUN_OF_SPACES.sub(" ", found).strip(SPACES)


class UnicodeTokeniser(Tokeniser):
    """Words by the rules of Unicode (UAX #29), in every script; joining them gives the same text again.

    A word that follows a space, or begins the line, starts with ▁; one that follows nothing does not:
    "It's 3:30." -> ▁It's ▁3:30 .
    """

    name: TokeniserName = "unicode"
    marks_spaces = True

    def split(self, text: str) -> list[str]:
        """The words of a raw line, each with the space before it."""
        return self._words(f" {normalise(text)}")

    def join(self, words: Sequence[str]) -> str:
        """The raw line of these words."""
        return normalise("".join(words).replace(WORD_START, " "))

    def words_of(self, pieces: str) -> list[str]:
        """The words that pieces side by side in a tree spell, each with the space before it."""
        return self._words(pieces.replace(WORD_START, " "))

    def bare(self, word: str) -> str:
        """The word without the space before it."""
        return word.lstrip(WORD_START + SPACES)

    def count(self, words: Sequence[str]) -> int:
        """How many words follow a space."""
        return sum(word.startswith(WORD_START) for word in words)

    def _words(self, text: str) -> list[str]:
        found: list[str] = []
        for gap, chunk in _CHUNK.findall(text):
            # A no-break space, or another that is not plain, stays part of the word after it.
            found.append(WORD_START if " " in gap else gap)
            first, *others = self._segments(chunk)
            found[-1] += first
            found += others
        return found

    def _segments(self, chunk: str) -> list[str]:
        """The words of text without spaces."""
        return [chunk] if chunk.isalpha() and chunk.isascii() else list(_segment_pattern().findall(chunk))


class IcuTokeniser(UnicodeTokeniser):
    """The same, and words of ICU's dictionaries where a script has no spaces between words."""

    name = "icu"

    @cached_property
    def _breaker(self) -> Any:
        try:
            from icu4py.breakers import WordBreaker
        except ModuleNotFoundError as error:
            raise UsageError(
                "words of this language are found with ICU's dictionaries, but the package icu4py is not installed. "
                "Install it with: pip install 'trdec[icu]'"
            ) from error
        return WordBreaker

    def _segments(self, chunk: str) -> list[str]:
        found: list[str] = []
        for part in _unspaced_pattern().splititer(chunk):
            if _unspaced_pattern().fullmatch(part):
                found += self._breaker(part, self.language or "")
            elif part:
                found += super()._segments(part)
        return found


# A URL, an address, a time and what stands for an unknown piece are one word each. None may begin inside a word, or
# leave a combining mark without its letter.
_WHOLE = r"""(?<![\p{L}\p{M}\p{N}_])(?>
      (?:(?:https?|ftp)://|www\.)[!#-;=?-~]*[A-Za-z0-9/=&\#_~+-]
    | [A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+
    | \p{Nd}+(?::\p{Nd}+)+
    | <unk>
    )(?![\p{M}\p{Cf}])"""


@cache
def _segment_pattern() -> Any:
    import regex  # slow to import, and only raw text needs it

    # In this mode \b is a default word boundary of UAX #29.
    return regex.compile(rf"{_WHOLE} | .+?\b", regex.VERSION1 | regex.WORD | regex.VERBOSE | regex.DOTALL)


@cache
def _unspaced_pattern() -> Any:
    import regex

    scripts = "".join(
        rf"\p{{Script={name}}}" for name in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
    )
    return regex.compile(rf"([{scripts}ー][{scripts}ー\p{{M}}\p{{Cf}}]*)", regex.VERSION1)


TOKENISER_CLASSES: dict[str, type[Tokeniser]] = {
    tokeniser.name: tokeniser for tokeniser in (UnicodeTokeniser, IcuTokeniser, MosesTokeniser, Tokeniser)
}
"""Tokenisers by the name that configurations and codecs know them by."""


def chosen_tokeniser(name: TokeniserName, language: str | None) -> Tokeniser:
    """The tokeniser of this name; `unicode` uses ICU's dictionaries for a language that has one, if they are there."""
    if name == "unicode" and language is not None and primary(language) in DICTIONARY_LANGUAGES:
        if find_spec("icu4py") is not None:
            return IcuTokeniser(language)
        _say_that_dictionaries_are_missing(language)
    return TOKENISER_CLASSES[name](language)


@cache  # once is enough
def _say_that_dictionaries_are_missing(language: str) -> None:
    _log.warning(
        "%s is written without spaces, so each character counts as a word. "
        "To find words with ICU's dictionaries: pip install 'trdec[icu]'",
        language,
    )


def tokeniser_before(language: str | None) -> TokeniserName:
    """The tokeniser of codecs that do not name theirs: they are older than the choice."""
    return "none" if language is None else "sacremoses"


def primary(language: str) -> str:
    """The language of a code with its region or script left out: zh for zh-Hans."""
    return language.split("-")[0]


_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv "
    "ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne "
    "ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_ISO_639_1 = frozenset(_CODES.split())
_LONG_CODE = re.compile(r"[a-z]{3}")
_SUBTAGS = re.compile(r"(?:-(?:[A-Z][a-z]{3}|[A-Z]{2}|[0-9]{3}))*")


def language_problem(tokeniser: TokeniserName, language: str | None) -> str | None:
    """What is wrong with the language code, or its absence, for this tokeniser; None if nothing is."""
    if tokeniser == "sacremoses":
        known = moses_languages()
        if language in known.values():
            return None
        found = "no language code" if language is None else f"the language code {language!r}"
        advice = "" if language is None else _nearest(language, known)
        return f"sacremoses knows {', '.join(sorted(known.values()))}; found {found}.{advice}"
    if language is None:
        return None
    code = primary(language)
    if (code in _ISO_639_1 or _LONG_CODE.fullmatch(code)) and _SUBTAGS.fullmatch(language.removeprefix(code)):
        return None
    return (
        "expected a language code of ISO 639, such as de, yo, gaz or zh-Hans, "
        f"found {language!r}.{_nearest(language, moses_languages())}"
    )


@cache
def moses_languages() -> dict[str, str]:
    """The codes of the languages that sacremoses has rules for, by their English names."""
    from sacremoses.corpus import NonbreakingPrefixes

    known: dict[str, str] = NonbreakingPrefixes().available_langs
    return {name: code for name, code in known.items() if name != code}


def _nearest(language: str, known: dict[str, str]) -> str:
    names = {**known, **{code: code for code in known.values()}}
    close = difflib.get_close_matches(language.lower(), names, n=1)
    return f" Did you mean {names[close[0]]!r}?" if close else ""
