"""`POST /translate` and its kin, as LibreTranslate's clients call them."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from libretranslatepy import LibreTranslateAPI

from support.serving import Served
from trdec.translation.translator import Translator

FISH = "The fish is not small ."
WOMAN = "The white woman that loves Nina was happy ."


def ask(served: Served, **fields: object) -> dict[str, object]:
    """What the server answers to a translation request in JSON."""
    answer = served.client.post("/translate", json={"source": "vel", "target": "en", **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def refusal(served: Served, **fields: object) -> tuple[int, str]:
    """How the server refuses a translation request in JSON."""
    answer = served.client.post("/translate", content=json.dumps(fields))  # httpx would not send a lone surrogate
    assert set(answer.json()) <= {"error", "field"}
    return answer.status_code, answer.json()["error"]


def test_a_text_gives_a_text_and_a_list_a_list(served: Served, lines: list[str]) -> None:
    assert ask(served, q=lines[1]) == {"translatedText": FISH}
    assert ask(served, q=[lines[1], "", lines[0]]) == {"translatedText": [FISH, "", WOMAN]}
    assert ask(served, q=[]) == {"translatedText": []}


def test_paragraphs_keep_their_line_breaks(served: Served, lines: list[str]) -> None:
    text = f"\n{lines[1]} {lines[0]}\r\n\r\n  {lines[0]}\n"
    assert ask(served, q=text) == {"translatedText": f"\n{FISH} {WOMAN}\r\n\r\n  {WOMAN}\n"}


def test_detection_says_what_it_found(served: Served, lines: list[str]) -> None:
    found = {"confidence": 100.0, "language": "vel"}
    assert ask(served, q=lines[1], source="auto") == {"translatedText": FISH, "detectedLanguage": found}
    assert ask(served, q=[lines[1]], source="auto") == {"translatedText": [FISH], "detectedLanguage": [found]}
    assert served.client.post("/detect", json={"q": lines[1]}).json() == [found]


def test_alternatives_differ_from_each_other_and_from_the_translation(served: Served, lines: list[str]) -> None:
    found = ask(served, q=lines[1], alternatives=3)
    alternatives = found["alternatives"]
    assert isinstance(alternatives, list)
    assert 1 <= len(alternatives) <= 3
    assert len({FISH, *alternatives}) == 1 + len(alternatives)
    assert ask(served, q=[lines[1], ""], alternatives=3)["alternatives"] == [alternatives, []]


def test_markup_stays_and_text_nodes_are_translated(served: Served, lines: list[str]) -> None:
    html = f'<p class="a">{lines[1]} <br>\n<b>{lines[0]}</b>&nbsp;<a href="?a=1&amp;b">&lt;</a></p><!-- {lines[1]} -->'
    expected = html.replace(f">{lines[1]}", f">{FISH}").replace(lines[0], WOMAN)
    assert ask(served, q=html, format="html") == {"translatedText": expected}


def test_a_script_in_a_text_stays_text(served: Served) -> None:
    (text,) = ask(served, q=["&lt;script&gt;alert(1)&lt;/script&gt;"], format="html")["translatedText"]  # type: ignore[misc]
    assert "<" not in text


def test_the_client_from_the_package_index_works(served: Served, lines: list[str]) -> None:
    client = LibreTranslateAPI(served.url)
    assert client.translate(lines[1], "vel", "en") == FISH
    assert client.detect(lines[1])[0]["language"] == "vel"
    assert client.languages() == [
        {"code": "vel", "name": "Velu", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": []},
    ]


def test_weblate_gets_as_many_texts_as_it_sent(served: Served, lines: list[str]) -> None:
    texts = [lines[number % 3] for number in range(20)]
    found = ask(served, api_key="", q=texts, source="VEL", target="en")["translatedText"]
    assert isinstance(found, list)
    assert found[:2] == [WOMAN, FISH]
    assert found == (found[:3] * 7)[:20]


def test_mastodon_gets_html_and_languages(served: Served, lines: list[str]) -> None:
    targets = {each["code"]: each["targets"] for each in served.client.get("/languages").json()}
    assert targets["vel"] == ["en"]
    body = json.dumps(
        {"q": [f"<p>{lines[1]}</p>", lines[0]], "source": "auto", "target": "en", "format": "html", "api_key": None}
    )
    answer = served.client.post("/translate", content=body, headers={"Content-Type": "application/json"}).json()
    assert answer["translatedText"] == [f"<p>{FISH}</p>", WOMAN]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["vel", "vel"]


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({}, "q"),
        ({"q": "a", "target": "en"}, "source"),
        ({"q": "a", "source": "vel"}, "target"),
        ({"q": "a", "source": "xx", "target": "en"}, "'xx'.*vel"),
        ({"q": "a", "source": "vel", "target": "de"}, "'de'.*en"),
        ({"q": "a", "source": "auto", "target": "de"}, "'de'.*en"),
        ({"q": "a", "source": "vel", "target": "en", "format": "pdf"}, "format.*html"),
        ({"q": 5, "source": "vel", "target": "en"}, "q"),
        ({"q": ["a", 5], "source": "vel", "target": "en"}, "q"),
        ({"q": "\ud800", "source": "vel", "target": "en"}, "ud800"),
        ({"q": "a", "source": "vel", "target": "en", "alternatives": 20}, "alternatives.*19.*20"),
        ({"q": "a", "source": "vel", "target": "en", "alternatives": -1}, "alternatives.*0"),
        ({"q": "a" * 2001, "source": "vel", "target": "en"}, "2000.*2001"),
        ({"q": ["a"] * 31, "source": "vel", "target": "en"}, "30.*31"),
    ],
)
def test_what_is_wrong_is_said(served: Served, fields: dict[str, object], facts: str) -> None:
    status, message = refusal(served, **fields)
    assert status == 400
    assert re.search(facts, message)


def test_many_clients_get_their_own_answers(served: Served, model: object, lines: list[str]) -> None:
    texts = [f"{lines[number % 3]}\n{lines[number % 2]}" for number in range(12)]
    alone = {line: found.text for line, found in zip(lines, Translator.load(str(model)).translate(lines), strict=True)}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: ask(served, q=text)["translatedText"], texts))
    assert answers == ["\n".join(alone[line] for line in text.split("\n")) for text in texts]


def test_settings_of_the_front_end(served: Served) -> None:
    found = served.client.get("/frontend/settings").json()
    assert (found["charLimit"], found["keyRequired"]) == (2_000, False)
    assert found["language"]["source"] == {"code": "vel", "name": "Velu"}
