"""The public corpora that `trdec data get` knows by name.

A checksum is None only where none is published; such a file is downloaded only if that is asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trdec.errors import UsageError


@dataclass(frozen=True, slots=True)
class Archive:
    """A file to download and unpack."""

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The last part of the address, as the name of a file."""
        last = self.url.partition("?")[0].rpartition("/")[2]
        return "archive" if last in ("", ".", "..") else last


@dataclass(frozen=True, slots=True)
class PublicCorpus:
    """A corpus, the files it unpacks to, and the terms of its use."""

    name: str
    title: str
    archives: tuple[Archive, ...]
    files: tuple[str, ...] = ()  # expected after unpacking: train, then dev, then test, source before target
    size: str = "?"
    licence: str = "see where it comes from"
    citation: str = ""


_KFTT = "kftt-data-1.0/data/tok"
_MULTI30K = "https://raw.githubusercontent.com/neychev/small_DL_repo/master/datasets/Multi30k"

CORPORA = {
    corpus.name: corpus
    for corpus in (
        PublicCorpus(
            name="kftt",
            title="Japanese-English, Kyoto Free Translation Task: 440,000 sentences of Wikipedia, tokenised",
            archives=(Archive("http://www.phontron.com/kftt/download/kftt-data-1.0.tar.gz"),),
            files=tuple(
                f"{_KFTT}/kyoto-{part}.{language}" for part in ("train.cln", "dev", "test") for language in ("ja", "en")
            ),
            licence="CC BY-SA 3.0",
            citation="Graham Neubig. 2011. The Kyoto Free Translation Task. http://www.phontron.com/kftt",
        ),
        PublicCorpus(
            name="iwslt14-de-en",
            title="German-English, IWSLT 2014: 170,000 sentences of TED talks, with markup, not tokenised",
            archives=(Archive("http://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz"),),
            files=tuple(f"de-en/train.tags.de-en.{language}" for language in ("de", "en")),
            licence="CC BY-NC-ND (TED)",
            citation="Cettolo et al. 2014. Report on the 11th IWSLT evaluation campaign.",
        ),
        PublicCorpus(
            name="multi30k-de-en",
            title="German-English, Multi30k: 29,000 captions of pictures, not tokenised",
            archives=(
                Archive(
                    f"{_MULTI30K}/training.tar.gz", "20140d013d05dd9a72dfde46478663ba05737ce983f478f960c1123c6671be5e"
                ),
                Archive(
                    f"{_MULTI30K}/validation.tar.gz", "a7aa20e9ebd5ba5adce7909498b94410996040857154dab029851af3a866da8c"
                ),
                Archive(
                    f"{_MULTI30K}/mmt_task1_test2016.tar.gz",
                    "876a95a689a2a20b243666951149fd42d9bfd57cbbf8cd2c79d3465451564dd2",
                ),
            ),
            files=("train.de", "train.en", "val.de", "val.en"),
            size="1.3 MB",
            licence="CC BY-NC-SA 4.0",
            citation="Elliott et al. 2016. Multi30K: Multilingual English-German Image Descriptions.",
        ),
    )
}

TATOEBA = "tatoeba-de-en"
"""An example of a name that holds a pair of languages: tatoeba-XX-YY."""

_PAIR = re.compile(r"tatoeba-([a-z]{2,3}(?:_[A-Z]{2})?)-([a-z]{2,3}(?:_[A-Z]{2})?)")


def _tatoeba(first: str, second: str) -> PublicCorpus:
    # OPUS has each pair once, its languages in alphabetical order.
    pair = "-".join(sorted((first, second)))
    return PublicCorpus(
        name=f"tatoeba-{first}-{second}",
        title=f"{first}-{second}, Tatoeba: short sentences translated by volunteers, not tokenised",
        archives=(Archive(f"https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12/moses/{pair}.txt.zip"),),
        files=(f"Tatoeba.{pair}.{first}", f"Tatoeba.{pair}.{second}"),
        licence="CC BY 2.0 FR",
        citation="Tiedemann. 2012. Parallel Data, Tools and Interfaces in OPUS.",
    )


def unlisted(name: str, url: str) -> PublicCorpus:
    """A corpus that is not in the catalogue."""
    return PublicCorpus(name, url, (Archive(url),))


def is_listed(name: str) -> bool:
    """Whether the name alone says where the corpus comes from."""
    return name in CORPORA or _PAIR.fullmatch(name) is not None


def find(name: str) -> PublicCorpus:
    """The corpus of that name."""
    if name in CORPORA:
        return CORPORA[name]
    if pair := _PAIR.fullmatch(name):
        return _tatoeba(pair[1], pair[2])
    raise UsageError(
        f"no corpus is called {name!r}. There are {', '.join(CORPORA)} and tatoeba-XX-YY for two languages, such as "
        f"{TATOEBA}. Download any other archive by its `url`."
    )
