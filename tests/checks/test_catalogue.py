"""The catalogue as data, and the page made from it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.catalogue.document import markdown
from checkpoints.checks.runner import FAMILIES
from checkpoints.formats import FORMATS
from checkpoints.types import Disposition, Gate

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"
REJECTED = {"HC-01", "HC-02", "HC-03", "HC-11", "EC-01", "EC-02", "EC-03", "EC-05"}


def test_the_page_is_the_catalogue():
    assert PAGE.read_text(encoding="utf-8") == markdown()


def test_the_module_prints_the_page():
    printed = subprocess.run(
        [sys.executable, "-m", "checkpoints.checks.catalogue"], capture_output=True, text=True, check=True
    ).stdout
    assert printed == markdown()


def test_names_are_unique_words_with_hyphens():
    names = [entry.name for entry in CATALOGUE.values()]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_the_codes_of_the_handoff_are_all_there():
    assert {f"HC-{number:02d}" for number in range(1, 85)} <= set(CATALOGUE)
    assert {f"RAW-{number}" for number in range(1, 9)} | {"SYS-01", "SYS-02", "SYS-03", "REP"} <= set(
        CATALOGUE
    )


def test_only_the_codes_of_the_contract_reject_after_storage():
    rejecting = {
        code
        for code, entry in CATALOGUE.items()
        if entry.gate is Gate.CHECKS and entry.disposition is Disposition.REJECT
    }
    assert rejecting == REJECTED


def test_bytes_and_reused_ids_are_refused_at_admission():
    admission = {code for code, entry in CATALOGUE.items() if entry.gate is Gate.ADMISSION}
    assert admission == {f"RAW-{number}" for number in range(1, 9)} | {"HC-16"}


def test_formats_and_families_are_known():
    families = {family.__name__.rpartition(".")[2] for family in FAMILIES} | {
        "conclusions",
        "system",
        "admission",
    }
    for code, entry in CATALOGUE.items():
        assert entry.family in families, code
        assert set(entry.formats) <= {"*", *FORMATS}, code


def test_every_text_is_a_sentence_and_no_line_repeats_another():
    for entry in CATALOGUE.values():
        for text in (entry.why, entry.fix, entry.prevent):
            assert text.endswith((".", "?")), entry.code
        assert len({entry.title, entry.why, entry.fix, entry.prevent}) == 4, entry.code
