"""`POST /v1/translate`: translations with their trees."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.serving import Served
from trdec.translation.translator import Translator

FISH_TREE = "(ROOT (S (NP The fish) (VP is not (ADJP small)) .))"


def ask(served: Served, **fields: object) -> list[dict[str, Any]]:
    """The translations of a request."""
    answer = served.client.post("/v1/translate", json=fields)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["translations"]
    return found


def test_a_translation_is_what_the_library_gives(served: Served, model: Path, lines: list[str]) -> None:
    (found,) = ask(served, text=lines[1], n_best=3)
    (sentence,) = found["sentences"]
    (alone,) = Translator.load(model).translate([lines[1]], n_best=3, attention=True)
    assert (sentence["source"], sentence["text"], found["text"]) == (lines[1], alone.text, alone.text)
    assert sentence["score"] == pytest.approx(alone.score)
    assert sentence["tree"]["brackets"] == alone.brackets == FISH_TREE
    assert [action["text"] for action in sentence["actions"]] == [action.text for action in alone.actions]
    assert alone.attention is not None
    assert sentence["attention"]["source"] == list(alone.attention.source)
    assert len(sentence["attention"]["rows"]) == len(alone.attention.rows)
    assert [other["text"] for other in sentence["alternatives"]] == [other.text for other in alone.alternatives]
    assert "source" not in sentence["alternatives"][0]


def test_the_tree_is_nested_and_actions_say_what_they_open(served: Served, lines: list[str]) -> None:
    ((sentence,),) = (each["sentences"] for each in ask(served, text=lines[1], attention=False))

    def written(node: dict[str, Any]) -> str:
        return node["word"] if "word" in node else f"({node['label']} {' '.join(map(written, node['children']))})"

    assert written(sentence["tree"]["json"]) == FISH_TREE
    assert sentence["attention"] is None
    first, second = sentence["actions"][:2]
    assert (first["kind"], first["label"], first["children"], first["phrases"]) == ("rule", "ROOT", ["S"], [])
    assert (second["children"], second["phrases"]) == (["NP", "VP", "pre"], [2])
    pieces = [action for action in sentence["actions"] if action["kind"] == "word"]
    text = "".join((" " if action["begins_word"] else "") + action["piece"].lstrip("▁") for action in pieces)
    assert text.strip() == sentence["text"]


def test_texts_are_split_into_sentences_or_not(served: Served, lines: list[str]) -> None:
    text = f"{lines[1]} {lines[0]}"
    split, empty = ask(served, text=[f"{text}\n", ""])
    assert [sentence["source"] for sentence in split["sentences"]] == [lines[1], lines[0]]
    assert split["text"].endswith(".\n")
    assert empty == {"text": "", "sentences": []}
    (whole,) = ask(served, text=text, split=False)
    assert [sentence["source"] for sentence in whole["sentences"]] == [text]


def test_demands_are_met(served: Served, lines: list[str]) -> None:
    (found,) = ask(served, text=lines[0], words=4)
    assert len(found["text"].split()) == 4
    (found,) = ask(served, text=[lines[1]], prefix="The woman")
    assert found["text"].startswith("The woman ")
    (found,) = ask(served, text=lines[0], skeleton="(ROOT (S (NP a) (VP b (ADJP c)) .))")
    assert re.sub(r"[^() ]+(?=[ )])", "w", found["sentences"][0]["tree"]["brackets"]).count("(") == 5
    (without_root,) = ask(served, text=lines[0], skeleton="(S (NP a) (VP b (ADJP c)) .)")
    assert without_root == found


def test_greedy_search_and_lengths(served: Served, lines: list[str]) -> None:
    (found,) = ask(served, text=lines[0], beam_size=1, length={"power": 0, "max_ratio": 0, "max_extra": 12})
    assert len(found["sentences"][0]["actions"]) <= 12
    assert found["sentences"][0]["score"] == pytest.approx(found["sentences"][0]["log_prob"])


@pytest.mark.parametrize(
    ("fields", "field", "facts"),
    [
        ({}, "text", ""),
        ({"text": "a", "model": "../etc/passwd"}, "model", "vel-en"),
        ({"text": "a", "beam_size": 0}, "beam_size", "1"),
        ({"text": "a", "beam_size": 21}, "beam_size", "20.*21"),
        ({"text": "a", "beam_size": 10**400}, "beam_size", "20.*larger"),
        ({"text": "a", "words": 10**400}, "words", "larger"),
        ({"text": "a", "n_best": 50}, "n_best", "20.*50"),
        ({"text": ["a" * 200, "a" * 200], "n_best": 2, "split": False}, "n_best", "at most 1 .*attention.*2"),
        ({"text": "a", "beam": 5}, "beam", "beam"),
        ({"text": "a", "length": {"power": -1}}, "length.power", "0"),
        ({"text": "a", "length": {"max_ratio": 50}}, "length.max_ratio", "10.*50"),
        ({"text": "a", "length": {"min_ratio": 3, "max_ratio": 2}}, "length.min_ratio", "max_ratio"),
        ({"text": "a", "words": 4, "skeleton": "(ROOT a)"}, "words", "skeleton"),
        ({"text": "a", "words": 201}, "words", "200.*201"),
        ({"text": "a", "skeleton": "(ROOT"}, "skeleton", ""),
        ({"text": "a", "skeleton": "(ROOT (FRAG a))"}, "skeleton", "the model has no rule ROOT -> FRAG"),
        ({"text": "a", "skeleton": "(ROOT (FRAG a))", "prefix": "The"}, "skeleton", "ROOT -> FRAG"),
        ({"text": "a", "skeleton": "(ROOT (pre (S a)))"}, "skeleton", "'pre' is reserved"),
        ({"text": "a", "skeleton": "(pre a)"}, "skeleton", "the model has no rule ROOT -> pre"),
        ({"text": "a", "skeleton": f"(ROOT {'a' * 2000})"}, "skeleton", "2000.*2007"),
        ({"text": "a", "skeleton": "(ROOT \ud800)"}, "skeleton", "ud800"),
        ({"text": "a", "prefix": "a" * 1001}, "prefix", "1000.*1001"),
        ({"text": "a", "words": 20, "length": {"max_ratio": 0, "max_extra": 9}}, "words", "no translation"),
        ({"text": "a" * 1001, "split": False}, "text", "1000.*1001"),
    ],
)
def test_the_wrong_field_is_named(served: Served, fields: dict[str, object], field: str, facts: str) -> None:
    answer = served.client.post("/v1/translate", content=json.dumps(fields))  # httpx would not send a lone surrogate
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert re.search(facts, answer.json()["error"])


def test_a_long_text_has_many_translations_only_without_attention(served: Served, lines: list[str]) -> None:
    text = " ".join([lines[1]] * (1500 // len(lines[1])))
    (found,) = ask(served, text=text[:320], n_best=2, beam_size=2, attention=False, split=False)
    assert all(sentence["attention"] is None for sentence in found["sentences"])
    (found,) = ask(served, text=text, beam_size=1)  # short sentences of a long text have little
    assert all(sentence["attention"]["rows"] for sentence in found["sentences"])


def test_models_are_listed(served: Served) -> None:
    (found,) = served.client.get("/v1/models").json()["models"]
    assert found == {
        "name": "vel-en",
        "source": {"code": "vel", "name": "Velu"},
        "target": {"code": "en", "name": "English"},
        "system": "trdec-con",
        "trees": True,
        "beam_size": 5,
    }
