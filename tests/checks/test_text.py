"""Deceiving characters are found; honest writing in any script stays silent."""

from __future__ import annotations

import pytest

from checkpoints.checks.text import suspicious
from tests.checks.documents import changed, hits, set_at

HONEST = [
    "Plain text, with a tab\tand\r\nlines",
    "Größe 20 °C, naïve façade, 5 µm, Ωm, x² ≥ 3 €",
    "Кухня залита водой, нужен оценщик",
    "Η κουζίνα πλημμύρισε",
    "המטבח מוצף \u200fABC-12\u200e ועוד",
    "المطبخ غارق\u060c رقم \u200e42",
    "می\u200cخواهم خانه را تعمیر کنم",
    "क्\u200dष और क्\u200cष",
    "台所が水浸しです。修理を希望",
    "👩\u200d💻 👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3 🏳\ufe0f\u200d🌈",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "kapı, ılık, Iğdır",
    "iPhone-ом, ИИ-agent, β-Version",
]

DECEIVING = [
    ("Pay \u202e0002\u202c", "U+202E", "bidirectional"),
    ("a\u2066b\u2069", "U+2066", "bidirectional"),
    ("left\u200fright", "U+200F", "bidirectional"),
    ("re\u200bfund", "U+200B", "invisible"),
    ("re\u200dfund", "U+200D", "invisible"),
    ("\ufeffrefund", "U+FEFF", "invisible"),
    ("re\u00adfund", "U+00AD", "invisible"),
    ("refund\U000e0041\U000e0042", "U+E0041", "invisible"),
    ("a\ufe0fb", "U+FE0F", "invisible"),
    ("\x1b[2Jrefund", "U+001B", "invisible"),
    ("refund\x7f", "U+007F", "invisible"),
    ("refund \u3164 all", "U+3164", "invisible"),
    ("\ue000", "U+E000", "invisible"),
    ("p\u0430ypal", "U+0430", "confusable"),
    ("\u0410dmin", "U+0410", "confusable"),
    ("g\u03bfogle", "U+03BF", "confusable"),
]

NAMES = [
    ("аssessor", "U+0430"),
    ("сору", "U+0441"),
    ("ｐayments", "U+FF50"),
    ("𝐩ayments", "U+1D429"),
    ("pay‑ments", "U+2011"),
    ("ıntake", "U+0131"),
    ("المطبخ\u200e", "U+200E"),
]


@pytest.mark.parametrize("text", HONEST)
def test_honest_writing_is_silent(text):
    assert list(suspicious(text)) == []


@pytest.mark.parametrize(("text", "label", "what"), DECEIVING)
def test_a_deceiving_character_is_named(text, label, what):
    found = next(suspicious(text))
    assert (found.label, found.what) == (label, what)
    assert text[found.at] == found.character


@pytest.mark.parametrize(("name", "label"), NAMES)
def test_names_are_judged_more_strictly(name, label):
    assert next(suspicious(name, strict=True)).label == label


@pytest.mark.parametrize("name", ["assessor", "intäke", "评估员", "оценщик-2", "жюри", "Straße"])
def test_honest_names_are_silent(name):
    assert list(suspicious(name, strict=True)) == []


def test_the_finding_names_the_character_its_place_and_how_many():
    document = changed(set_at("/handoff_target/handoff_reason", "Pay \u202e0002\u202c now"))
    found = next(hit for hit in hits(document) if hit.code == "HC-84")
    assert "U+202E RIGHT-TO-LEFT OVERRIDE at position 5, and 1 more" in found.message


def test_a_member_name_is_looked_at_too():
    document = changed(set_at("/context_snapshot/user\u200b_intent", "x"))
    assert [hit.code for hit in hits(document)] == ["HC-84"]
