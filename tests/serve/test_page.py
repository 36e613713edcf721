"""The page, in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib import resources
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

from support.page_answers import answer, chain, models, sentence
from support.page_server import PageServer, serving_page
from support.serving import Served
from trdec.trees.tree import Nonterminal, Terminal

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")

CAT = "(ROOT (S (NP The cat) (VP eats (NP fishes)) .))"
DOG = "(ROOT (S (NP The dog) (VP eats (NP fishes)) .))"
SOURCE = "Kato fisem manjul ."
STEPS = 17
"""How many actions CAT takes: 5 rules, 7 pieces of 5 words, 4 ends of phrases, the end."""


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Any]:
    """A page that all tests share: opening one for each takes longer than most tests."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no browser found: install chromium, for example with apt-get install chromium")
    arguments = ["--headless", "--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=arguments)
        context = opened.new_context(permissions=["clipboard-read", "clipboard-write"])
        context.set_default_timeout(20_000)
        yield context.new_page()
        opened.close()


@pytest.fixture(scope="module")
def running() -> Iterator[PageServer]:
    with serving_page() as server:
        yield server


@pytest.fixture
def server(running: PageServer) -> PageServer:
    running.models = models("trdec-con", "seq2seq")
    running.translate = lambda request: (
        200,
        answer("trdec-con", [sentence(SOURCE, *[CAT, DOG, DOG][: request["n_best"]])]),
        {},
    )
    running.requests.clear()
    running.headers.clear()
    return running


@pytest.fixture
def visit(browser_page: Any, server: PageServer) -> Iterator[Any]:
    """Open the page with a fragment; afterwards its console must be empty."""
    complaints: list[str] = []
    watch = {
        "console": lambda line: complaints.append(line.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "dialog": lambda dialog: (complaints.append(dialog.message), dialog.dismiss()),
    }

    def opened(fragment: dict[str, Any] | None = None, size: tuple[int, int] = (1280, 800), url: str = "") -> Any:
        page = browser_page
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")  # animations cost time
        page.goto("about:blank")  # or the browser would only change the fragment
        page.goto(f"{url or server.url}#{urlencode(fragment or {})}")
        if fragment and "text" in fragment:
            page.wait_for_selector("svg.tree, #problem:not([hidden])")
        return page

    for event, listener in watch.items():
        browser_page.on(event, listener)
    yield opened
    for event, listener in watch.items():
        browser_page.remove_listener(event, listener)
    assert [line for line in complaints if "the server responded with a status of" not in line] == []


def shown_words(page: Any) -> list[str]:
    """The words that the first tree shows."""
    words = page.locator("derivation-tree").first.locator("g.word:not([data-status=absent]) text")
    return [word for word in words.all_text_contents() if word]


def statuses(page: Any) -> list[list[str]]:
    """The text and status of all nodes that the first tree shows, in the order in which they were opened."""
    script = "nodes => nodes.map(node => [node.querySelector('text').textContent, node.dataset.status])"
    nodes = page.locator("derivation-tree").first.locator("g[data-number]").evaluate_all(script)
    return [node for node in nodes if node[1] != "absent"]


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, which finds what keeps people with a disability from using a page."""
    carrier = pytest.importorskip("axe_playwright_python", reason="needs axe: pip install axe-playwright-python")
    return resources.files(carrier).joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("size", [(1280, 800), (360, 740)])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everybody_can_use_it(
    visit: Any, served: Served, lines: list[str], axe: str, size: tuple[int, int], colours: str
) -> None:
    text = "\n".join(lines[:2])
    for fragment in ({}, {"text": text}, {"text": text, "best": 3, "step": 8}, {"text": text, "words": 10_000}):
        page = visit(fragment, size, url=f"{served.url}/")
        page.emulate_media(color_scheme=colours)
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        refused = "words" in fragment
        shown = "#problem:not([hidden])" if refused else "table.attention" if fragment else "#model:not([disabled])"
        page.wait_for_selector(shown)
        page.evaluate(axe)
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 20
        assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


def test_a_half_written_word_is_read_aloud_as_far_as_it_is_written(visit: Any) -> None:
    page = visit({"text": SOURCE, "step": 8})
    script = "words => words.map(word => [word.querySelector('text').textContent, word.getAttribute('aria-label')])"
    words = page.locator("g.word:not([data-status=absent])").evaluate_all(script)
    assert words
    assert [label.split(",")[0] for _, label in words] == [text for text, _ in words]


def clipboard(page: Any) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_typing_and_pressing_translate_shows_the_translation_and_its_tree(visit: Any, server: PageServer) -> None:
    page = visit()
    page.fill("#text", SOURCE)
    page.press("#text", "Control+Enter")
    page.wait_for_selector("svg.tree")
    assert page.text_content("#translation") == "The cat eats fishes ."
    assert shown_words(page) == ["The", "cat", "eats", "fishes", "."]
    assert page.locator("g.symbol text").all_text_contents() == ["ROOT", "S", "NP", "VP", "NP"]
    assert page.text_content("#source-name") == "Velu"
    assert server.requests == [{"text": SOURCE, "split": True, "n_best": 1, "attention": True, "model": "trdec-con"}]


def test_the_slider_grows_the_tree_with_open_symbols_and_the_next_one_marked(visit: Any) -> None:
    page = visit({"text": SOURCE})
    slider = page.locator("input[type=range]")
    assert slider.get_attribute("max") == str(STEPS)
    slider.fill("2")  # ROOT -> S, S -> NP VP pre
    assert shown_words(page) == []
    assert statuses(page) == [["ROOT", "done"], ["S", "done"], ["NP", "next"], ["VP", "open"], ["pre", "open"]]
    assert "S → NP VP pre" in page.text_content(".says")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert shown_words(page) == ["The"]
    assert page.locator(".caret.shown").count() == 1
    page.get_by_role("button", name="First step").click()
    assert statuses(page) == [["ROOT", "next"]]
    page.get_by_role("button", name="Last step").click()
    assert shown_words(page) == ["The", "cat", "eats", "fishes", "."]
    assert {status for _, status in statuses(page)} == {"done"}


def test_a_link_restores_text_options_and_step_and_words_grow_piece_by_piece(visit: Any, server: PageServer) -> None:
    page = visit({"text": SOURCE, "best": 2, "beam": 7, "words": 5, "prefix": "The", "step": 12})
    assert server.requests[0].items() >= {"n_best": 2, "beam_size": 7, "words": 5, "prefix": "The"}.items()
    assert [page.input_value(f"#{name}") for name in ("text", "best", "beam", "words", "prefix")] == [
        SOURCE, "2", "7", "5", "The"
    ]  # fmt: skip
    assert shown_words(page) == ["The", "cat", "eats", "fis"]
    page.get_by_role("button", name="Next step").first.click()
    assert shown_words(page) == ["The", "cat", "eats", "fishes"]
    page.click("#link")
    page.wait_for_selector(".toast.shown")
    link = clipboard(page)
    assert "step=13" in link
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("svg.tree")
    assert shown_words(page) == ["The", "cat", "eats", "fishes"]


def test_pointing_at_a_node_shows_its_span_its_probability_and_its_attention(visit: Any) -> None:
    page = visit({"text": SOURCE})
    page.locator("g.symbol", has_text="VP").hover()
    facts = page.inner_text(".facts")
    assert "words 3 to 4 of 5: eats fishes" in facts
    assert "VP → pre NP" in facts
    assert "94 %" in facts  # its rule is step 7, whose log-probability is -0.06
    assert "Kato 100 %" in facts  # rules attend to the first piece
    assert page.locator(".piece.lit").all_text_contents() == ["Kato"]
    page.locator("g.word", has_text="eats").hover()  # actions 7 and 8, and five pieces: those numbered 2 and 3
    assert page.locator(".piece.lit").all_text_contents() == [" manjul", " ."]
    assert "eat · s" in page.inner_text(".facts")


def test_the_tree_is_walked_with_the_keyboard(visit: Any) -> None:
    page = visit({"text": SOURCE})
    focused = "document.activeElement.getAttribute('aria-label')"
    page.locator("svg.tree g[tabindex='0']").focus()
    assert page.evaluate(focused).startswith("ROOT")
    for key in ("ArrowUp", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown"):  # there is nothing above the root
        page.keyboard.press(key)
    assert page.evaluate(focused).startswith("eats, word 3 of 5")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused).startswith("fishes, word 4 of 5")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused).startswith("NP, probability")
    assert "words 4" in page.inner_text(".facts") or "word 4" in page.inner_text(".facts")
    page.keyboard.press("Home")
    for _ in range(STEPS - 2):
        page.keyboard.press(",")
    assert statuses(page)[-3:] == [["NP", "next"], ["VP", "open"], ["pre", "open"]]
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
    assert page.evaluate(focused) == "NP, open, next to be written"  # there are no words yet
    page.keyboard.press(".")
    assert statuses(page)[2] == ["NP", "done"]


def test_the_tree_has_roles_and_names_for_screen_readers(visit: Any) -> None:
    page = visit({"text": SOURCE})
    tree = page.get_by_role("tree", name="(ROOT (S (NP The cat)")
    assert tree.get_by_role("treeitem").count() == 10
    levels = tree.get_by_role("treeitem", name="fishes, word 4").get_attribute("aria-level")
    assert levels == "5"
    assert "step 17 of 17" in page.get_attribute("input[type=range]", "aria-valuetext")
    assert page.get_attribute("#translation", "aria-live") == "polite"
    unnamed = """controls => controls.filter(control =>
        !control.labels?.length && !control.hasAttribute("aria-label") && !control.hasAttribute("aria-labelledby"))"""
    assert page.eval_on_selector_all("input, select, textarea", f"{unnamed}.length") == 0


def test_alternatives_stand_side_by_side_with_their_differences_marked(visit: Any) -> None:
    page = visit({"text": SOURCE, "best": 2})
    first, second = (page.locator(".candidate").nth(number).bounding_box() for number in range(2))
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    assert page.locator("g.different text").all_text_contents() == ["dog"]


def test_text_brackets_svg_and_png_are_copied(visit: Any) -> None:
    page = visit({"text": SOURCE})
    copied = {}
    for name in ("text", "brackets", "SVG"):
        page.locator(".copies button", has_text=name).click()
        page.locator("#toast", has_text=f"{name} copied").wait_for()
        copied[name] = clipboard(page)
    assert copied["text"] == "The cat eats fishes ."
    assert copied["brackets"] == CAT
    drawn = ElementTree.fromstring(copied["SVG"])
    assert "".join(drawn.itertext()).split() == f"{copied['text']} ROOT S NP VP NP {copied['text']}".split()
    page.locator(".copies button", has_text="PNG").click()
    page.locator("#toast", has_text="PNG copied").wait_for()
    kinds = page.evaluate(
        "navigator.clipboard.read().then(([item]) => item.getType('image/png')).then(blob => blob.size)"
    )
    assert kinds > 1000


def test_markup_in_source_translation_and_labels_stays_text(visit: Any, server: PageServer) -> None:
    evil = "<script>alert(1)</script><img/src=x/onerror=alert(2)>"
    tree = Nonterminal("ROOT", (Nonterminal(evil, (Terminal(evil), Nonterminal("S", (Terminal(evil),)))),))
    source = f"{evil} {evil}"
    server.models = models("trdec-con", source=evil)
    server.translate = lambda _: (200, answer("trdec-con", [sentence(source, tree)]), {})
    page = visit({"text": source})
    assert page.text_content("#translation") == f"{evil} {evil}"
    assert page.locator("g.symbol text").all_text_contents() == ["ROOT", evil, "S"]
    assert page.locator("main script, main img").count() == 0
    for fold in page.locator(".fold summary").all():
        fold.click()
    page.wait_for_selector("table.attention")
    assert page.locator("main script, main img").count() == 0
    page.locator(".copies button", has_text="SVG").click()
    page.wait_for_selector(".toast.shown")
    drawn = ElementTree.fromstring(clipboard(page))
    assert {element.tag.split("}")[1] for element in drawn.iter()} <= {"svg", "title", "rect", "path", "text"}
    server.translate = lambda _: (400, {"error": evil, "field": "prefix"}, {})
    page.click("#translate")
    page.wait_for_selector("#problem:not([hidden])")
    assert evil in page.text_content("#problem")
    assert page.locator("#problem img").count() == 0


def test_an_error_is_shown_with_the_servers_words_at_its_field(visit: Any, server: PageServer) -> None:
    server.translate = lambda _: (400, {"error": "beam_size must be at most 50, not 900.", "field": "beam_size"}, {})
    page = visit({"text": SOURCE, "beam": 900})
    assert "beam_size must be at most 50" in page.text_content("#problem")
    assert page.get_attribute("#beam", "aria-invalid") == "true"
    server.translate = lambda _: (429, {"error": "Too many requests."}, {"Retry-After": "7"})
    page.click("#translate")
    page.locator("#problem", has_text="7 seconds").wait_for()
    server.translate = lambda _: (200, answer("trdec-con", [sentence(SOURCE, CAT)]), {})
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("svg.tree")
    assert page.is_hidden("#problem")


def test_a_key_is_asked_for_where_one_is_needed_and_is_never_in_the_link(visit: Any, server: PageServer) -> None:
    refused = (403, {"error": "expected a valid API key in api_key.", "field": "api_key"}, {})
    granted = (200, answer("trdec-con", [sentence(SOURCE, CAT)]), {})
    server.translate = lambda _: granted if server.headers[-1].get("Authorization") == "Bearer s3cret" else refused
    page = visit({"text": SOURCE})
    page.fill("#key", "s3cret")
    page.click("#translate")
    page.wait_for_selector("svg.tree")
    assert "s3cret" not in page.url
    page.evaluate("sessionStorage.clear()")


def test_a_system_without_trees_shows_words_and_attention(visit: Any, server: PageServer) -> None:
    server.translate = lambda _: (200, answer("seq2seq", [sentence(SOURCE, CAT, system="seq2seq")]), {})
    page = visit({"text": SOURCE, "model": "seq2seq"})
    assert shown_words(page) == ["The", "cat", "eats", "fishes", "."]
    assert page.locator("g.symbol").count() == 0
    assert page.locator(".copies button").all_text_contents() == ["Text", "SVG", "PNG"]
    page.wait_for_selector("table.attention")
    assert page.is_hidden("#skeleton")


def test_a_skeleton_is_not_sent_to_a_model_whose_page_hides_it(visit: Any, server: PageServer) -> None:
    page = visit({"text": SOURCE, "skeleton": CAT})
    assert server.requests[-1]["skeleton"] == CAT
    page.select_option("#model", "seq2seq")
    page.wait_for_function("document.getElementById('translation').getAttribute('aria-busy') === 'false'")
    assert server.requests[-1]["model"] == "seq2seq"
    assert "skeleton" not in server.requests[-1]


def test_brackets_written_among_the_words_grow_a_tree_too(visit: Any, server: PageServer) -> None:
    server.translate = lambda _: (200, answer("trdec-con", [sentence(SOURCE, CAT, system="lin")]), {})
    page = visit({"text": SOURCE, "step": 5})  # (ROOT (S (NP The cat
    assert statuses(page) == [["ROOT", "open"], ["S", "open"], ["NP", "next"], ["The", "done"], ["cat", "done"]]
    page.get_by_role("button", name="Last step").click()
    assert {status for _, status in statuses(page)} == {"done"}


def test_a_hundred_words_stay_readable_and_are_panned_and_zoomed(visit: Any, server: PageServer) -> None:
    server.translate = lambda _: (200, answer("trdec-con", [sentence(" ".join(["kato"] * 100), chain(100))]), {})
    page = visit({"text": SOURCE})
    assert len(shown_words(page)) == 100
    width, scrolled = (
        page.evaluate(f"document.querySelector('.scroller').{name}") for name in ("clientWidth", "scrollWidth")
    )
    assert scrolled > 2 * width
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    height = "document.querySelector('g.word text').getBoundingClientRect().height"
    assert page.evaluate(height) >= 11
    page.locator(".scroller").scroll_into_view_if_needed()
    box = page.locator(".scroller").bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.up()
    assert page.evaluate("document.querySelector('.scroller').scrollLeft") == 400
    page.locator("svg.tree g[tabindex='0']").focus()
    page.keyboard.press("End")
    last = page.locator("g.word").last.bounding_box()
    assert box["x"] <= last["x"] <= box["x"] + box["width"]
    page.get_by_role("button", name="Fit the tree").click()
    assert page.evaluate("document.querySelector('.scroller').scrollWidth") <= width


def test_a_phone_has_one_column_that_fits(visit: Any) -> None:
    page = visit({"text": SOURCE, "best": 2}, size=(360, 740))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    first, second = (page.locator(".candidate").nth(number).bounding_box() for number in range(2))
    assert second["y"] >= first["y"] + first["height"]
    heights = page.eval_on_selector_all("button", "buttons => buttons.map(button => button.offsetHeight)")
    assert min(height for height in heights if height) >= 40  # enough for a finger


def test_dark_mode_is_dark(visit: Any) -> None:
    page = visit({"text": SOURCE})
    brightness = """() => [getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector("g.word text")).fill]
        .map(colour => colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"""
    paper, words = page.evaluate(brightness)
    page.emulate_media(color_scheme="dark")
    dark_paper, light_words = page.evaluate(brightness)
    assert paper > 600 > 200 > words
    assert dark_paper < 200 < 600 < light_words


def test_right_to_left_text_runs_right_to_left(visit: Any, server: PageServer) -> None:
    tree = "(ROOT (S (NP הילד) (VP אכל (NP דג)) .))"
    server.translate = lambda _: (200, answer("trdec-con", [sentence("القط يأكل السمك", tree)]), {})
    page = visit({"text": "القط يأكل السمك"})
    places = [box.bounding_box()["x"] for box in page.locator("g.word").all()]
    assert places == sorted(places, reverse=True)
    pieces = [piece.bounding_box()["x"] for piece in page.locator(".piece:not(.last)").all()]
    assert pieces == sorted(pieces, reverse=True)
    for selector in ("#translation", ".source", "#text"):
        assert page.eval_on_selector(selector, "element => getComputedStyle(element).direction") == "rtl"
    page.locator("g.word").first.focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.textContent") == "אכל"


def test_several_sentences_are_cards_of_which_the_first_is_open(visit: Any, server: PageServer) -> None:
    server.translate = lambda _: (200, answer("trdec-con", [sentence(SOURCE, CAT), sentence(SOURCE, DOG)]), {})
    page = visit({"text": SOURCE})
    assert page.text_content("#translation") == "The cat eats fishes .\nThe dog eats fishes ."
    assert page.locator("svg.tree").count() == 1
    page.locator(".sentence > summary").nth(1).click()
    page.locator("svg.tree").nth(1).wait_for()


def test_watching_it_grow_ends_with_the_whole_tree(visit: Any) -> None:
    page = visit({"text": SOURCE, "step": STEPS - 2})
    page.get_by_role("button", name="Watch it grow").click()
    page.wait_for_selector(".play[aria-pressed=false]")
    assert {status for _, status in statuses(page)} == {"done"}
    page.wait_for_url(f"**step={STEPS}**")


def test_the_real_server_and_the_page_understand_each_other(visit: Any, served: Served, lines: list[str]) -> None:
    page = visit({"text": "\n".join(lines[:2]), "best": 2, "beam": 4, "step": 1}, url=f"{served.url}/")
    asked = {"text": "\n".join(lines[:2]), "n_best": 2, "beam_size": 4}
    (expected,) = served.client.post("/v1/translate", json=asked).json()["translations"]
    first = expected["sentences"][0]
    assert page.text_content("#translation") == expected["text"]
    assert page.locator("#model option").all_text_contents() == ["vel-en (Velu → English, trdec-con)"]
    assert [text for text, status in statuses(page) if status == "done"] == ["ROOT"]
    page.get_by_role("button", name="Last step").first.click()
    assert shown_words(page) == first["text"].split()
    assert page.locator(".candidate").count() == 2
    assert "".join(page.locator(".piece:not(.last)").all_text_contents()) == lines[0]
    page.locator("g.word").first.hover()
    assert "Attention" in page.inner_text(".facts >> nth=0")
    page.locator(".copies button", has_text="PNG").first.click()
    page.locator("#toast", has_text="PNG copied").wait_for()
    page.fill("#prefix", "no such word" * 400)
    page.click("#translate")
    page.wait_for_selector("#problem:not([hidden])")
    assert page.get_attribute("#prefix", "aria-invalid") == "true"


def test_a_page_opened_before_the_models_are_loaded_waits_for_them(visit: Any, server: PageServer) -> None:
    server.loading = 1
    page = visit()
    page.locator("#problem", has_text="being loaded").wait_for()
    page.wait_for_selector("#model:enabled")
    assert page.is_hidden("#problem")
