"""Dependency trees from spaCy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trdec.annotation import dependencies
from trdec.annotation.dependencies import ParsedWord
from trdec.annotation.parser import ParserChoice, imported
from trdec.errors import AnnotationError
from trdec.text.lines import split_words

UNUSED = ("lemmatizer", "ner")
"""Parts of a model that no tree depends on."""


class SpacyParser:
    """A spaCy pipeline and how it gets the words of a sentence."""

    format_name = "conllu"
    without_tree = dependencies.WITHOUT_TREE

    def __init__(self, pipeline: Any, document: Callable[[Any, str], Any]) -> None:
        self.identity = f"spacy {imported('spacy').__version__}, {_name(pipeline)} {pipeline.meta['version']}"
        self._pipeline = pipeline
        self._document = document

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The CoNLL-U entry of each sentence."""
        documents = [self._document(self._pipeline, sentence) for sentence in sentences]
        parsed = self._pipeline.pipe(documents, batch_size=len(documents))
        return [dependencies.write(document.text.strip(), _words(document)) for document in parsed]


def load(choice: ParserChoice) -> SpacyParser:
    """A parser with the model that was chosen, or spaCy's small one of the language."""
    spacy = imported("spacy")
    model = choice.model or default_model(choice.language)
    is_folder = Path(model).is_dir()
    if not is_folder and not spacy.util.is_package(model):
        raise AnnotationError(
            f"spaCy has no model {model!r}, neither installed nor as a folder. "
            f"Install it with: python -m spacy download {model}"
        )
    try:
        pipeline = spacy.load(model, exclude=UNUSED)
    except (OSError, ValueError, ImportError) as error:
        raise AnnotationError(
            f"{model}: spaCy {spacy.__version__} cannot load this model: {error} "
            "Choose the folder that holds its config.cfg, or another model, with --model."
        ) from error
    if not any("token.dep" in pipeline.get_pipe_meta(part).assigns for part in pipeline.pipe_names):
        parts = ", ".join(pipeline.pipe_names) or "none"
        raise AnnotationError(
            f"{model}: this spaCy model has no dependency parser (its parts: {parts}). Choose another with --model, "
            f"for example {default_model(choice.language)}."
        )
    return SpacyParser(pipeline, own_words if choice.raw else given_words)


def default_model(language: str) -> str:
    """The name of spaCy's small model of a language."""
    return f"{language}_core_web_sm" if language in ("en", "zh") else f"{language}_core_news_sm"


def given_words(pipeline: Any, sentence: str) -> Any:
    """A document of the words that white space parts, as they are."""
    words = split_words(sentence)
    # That only the first word starts a sentence is said beforehand, and the parser keeps to it.
    starts = [True] + [False] * (len(words) - 1)
    return imported("spacy.tokens").Doc(pipeline.vocab, words=words, sent_starts=starts)


def own_words(pipeline: Any, sentence: str) -> Any:
    """A document of the words that the model's tokeniser finds; it is one sentence all the same."""
    document = pipeline.make_doc(" ".join(sentence.split()))  # or runs of spaces would be words
    for token in document:
        token.is_sent_start = token.i == 0
    return document


def _words(document: Any) -> list[ParsedWord]:
    return [
        ParsedWord(
            form=token.text,
            upos=token.pos_,
            xpos=token.tag_,
            head=0 if token.head.i == token.i else token.head.i + 1,
            relation="root" if token.head.i == token.i else token.dep_,
        )
        for token in document
    ]


def _name(pipeline: Any) -> str:
    return f"{pipeline.meta['lang']}_{pipeline.meta['name']}"
