"""Names of languages, and which language a text is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from trdec.tokenisers import primary


def language_name(code: str) -> str:
    """The English name of a language, or its code if nobody knows it."""
    import langcodes

    name = str(langcodes.Language.get(code).display_name())
    return code if name.startswith("Unknown language") else name


def matching_code(code: str, codes: Sequence[str]) -> str | None:
    """The one of the codes that this one means, whatever its case; zh also means zh-Hans if that is the only one."""
    wanted = code.lower().replace("_", "-")
    different = list(dict.fromkeys(codes))
    found = [each for each in different if each.lower() == wanted]
    found = found or [each for each in different if primary(each).lower() == primary(wanted)]
    return found[0] if len(found) == 1 or (found and found[0].lower() == wanted) else None


class Detected(NamedTuple):
    """A language with the probability, in per cent, that a text is in it."""

    language: str
    confidence: float


LOOKED_AT = 2_000
"""Characters of a text that its language is decided by."""


class LanguageDetector:
    """Says which of some languages a text is in."""

    def __init__(self, codes: Sequence[str]) -> None:
        self.codes = tuple(dict.fromkeys(codes))
        self._identifier: Any = None
        self._labels: dict[str, str] = {}
        if len(self.codes) > 1:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
            labels = set(self._identifier.labels)
            for code in self.codes:
                label = code if code in labels else primary(code)
                if label in labels:
                    self._labels.setdefault(label, code)
            self._identifier.set_languages(list(self._labels))

    def rank(self, text: str, among: Sequence[str] | None = None) -> list[Detected]:
        """The languages, most probable first; those that the detector was not trained on come last, with 0."""
        codes = self.codes if among is None else tuple(among)
        if len(codes) == 1:
            return [Detected(codes[0], 100.0)]
        if not self._labels or not any(map(str.isalpha, text)):
            return [Detected(code, 0.0) for code in codes]
        ranked = self._identifier.rank(text[:LOOKED_AT])
        shares = {self._labels[label]: float(share) for label, share in ranked if self._labels[label] in codes}
        total = sum(shares.values()) or 1.0
        found = [Detected(code, round(100 * share / total, 1)) for code, share in shares.items()]
        return found + [Detected(code, 0.0) for code in codes if code not in shares]
