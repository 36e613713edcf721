"""What a text probably is, in many scripts."""

from __future__ import annotations

import pytest

from trdec.detection import expected_script, looks_raw, looks_swapped

RAW = {
    "Hindi": "वह घर जाता है।",
    "Bengali": "আমি ভাত খাচ্ছি।",
    "Tamil": "பூனை தூங்குகிறது.",
    "Thai": "แมวกำลังนอนหลับ เขากลับบ้าน",
    "Burmese": "ကြောင်အိပ်နေသည်။",
    "Khmer": "ឆ្មាកំពុងដេក។",
    "Tibetan": "ཞི་མི་གཉིད་ཁུག་བཞིན་འདུག །",
    "Armenian": "Կատուն քնում է։",
    "Urdu": "بلی سو رہی ہے۔",
    "Yoruba": "Ó lọ pẹ̀lú ọ̀rẹ́ rẹ̀.",
    "Chinese": "我们去北京。",
    "Chinese without a stop": "我去市场",
    "Japanese without a stop": "私は市場に行きました",
    "quoted": 'He said: "It is."',
    "in brackets": "(He said so.)",
}
TOKENISED = {
    "Hindi": "वह घर जाता है ।",
    "Thai": "แมว กำลัง นอน หลับ",
    "Burmese": "ကြောင် အိပ် နေ သည် ။",
    "Armenian": "Կատուն քնում է ։",
    "Chinese": "我们 去 北京 的 市场",
    "English": 'He said : " It \'s Mr. Brown . "',
    "nothing": "",
}


@pytest.mark.parametrize("language", RAW)
def test_raw_text_is_seen(language: str) -> None:
    assert looks_raw([RAW[language]] * 3)


@pytest.mark.parametrize("language", TOKENISED)
def test_tokenised_text_is_seen(language: str) -> None:
    assert not looks_raw([TOKENISED[language]] * 3)


@pytest.mark.parametrize(
    ("language", "script"),
    [
        ("kk", "Cyrillic"),
        ("kk-Latn", "Latin"),
        ("sr-Cyrl-RS", "Cyrillic"),
        ("pt-BR", "Latin"),
        ("pa-arab", "Arabic"),
        ("zh-Hant", "Han"),
        ("ja-Jpan", "Hiragana"),
        ("hi-Kana", "Katakana"),
        ("de-1996", "Latin"),
        ("kk-Brai", None),
        ("sr", None),
    ],
)
def test_a_code_may_name_the_script(language: str, script: str | None) -> None:
    assert expected_script(language) == script


def test_swapped_sides_are_seen_in_the_script_that_is_named() -> None:
    kazakh, english = ["Men üige bara jatyrmyn"], ["I am on the way to the house"]
    russian = ["Я иду домой"]
    assert not looks_swapped(kazakh, russian, "kk-Latn", "ru")
    assert looks_swapped(russian, kazakh, "kk-Latn", "ru")
    assert looks_swapped(english, ["Ich bin auf dem Weg und das ist nicht der Weg"], "de-DE", "en-GB")
