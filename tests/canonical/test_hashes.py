"""The sender's hashes: what they cover, how they may be written, and which mistake a wrong one shows."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from checkpoints.canonical import (
    canonicalize,
    consistency_hash,
    context_fingerprint,
    engine_fingerprint,
    matching_serialisation,
    normalize_claimed,
)

COVERED: dict[str, Any] = {
    "checkpoint_id": "c-1",
    "task_id": "T-1",
    "task_status": "in_progress",
    "completed_steps": [{"step_id": "é"}],
    "pending_decisions": [],
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_the_consistency_hash_covers_exactly_five_members() -> None:
    written = (
        '{"checkpoint_id":"c-1","completed_steps":[{"step_id":"é"}],"pending_decisions":[],'
        '"task_id":"T-1","task_status":"in_progress"}'
    )
    assert consistency_hash(**COVERED) == "sha256:" + sha256(written.encode())


def test_without_a_checkpoint_id_it_covers_four() -> None:
    four = {name: value for name, value in COVERED.items() if name != "checkpoint_id"}
    assert consistency_hash(**(COVERED | {"checkpoint_id": None})) == "sha256:" + sha256(canonicalize(four))


def test_fingerprints_cover_the_context_alone() -> None:
    assert context_fingerprint({"b": 1, "a": 2}) == "sha256:" + sha256(b'{"a":2,"b":1}')
    assert engine_fingerprint([], {}) == "sha256:" + sha256(b'{"contextState":{},"messages":[]}')


HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "text", [HEX, HEX.upper(), f"sha256:{HEX}", f"SHA256:{HEX.upper()}", f"sha256:{HEX.title()}"]
)
def test_accepted_texts_have_one_normal_form(text: str) -> None:
    assert normalize_claimed(text) == f"sha256:{HEX}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEX[:-1],
        HEX + "0",
        "g" + HEX[1:],
        f"sha512:{HEX}",
        f"sha256: {HEX}",
        f"{HEX}\n",
        f" {HEX}",
        "d41d8cd98f00b204e9800998ecf8427e",
        "ASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8=",
        "٠" * 64,
    ],
)
def test_other_texts_are_no_sha_256(text: str) -> None:
    assert normalize_claimed(text) is None


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("rfc8785", canonicalize(COVERED)),
        ("json.dumps", json.dumps(COVERED).encode()),
        ("json.dumps", json.dumps(COVERED, ensure_ascii=False).encode()),
        ("json.dumps-compact", json.dumps(COVERED, separators=(",", ":")).encode()),
        ("json.dumps-sorted", json.dumps(COVERED, sort_keys=True).encode()),
        ("json.dumps-sorted-compact", json.dumps(COVERED, sort_keys=True, separators=(",", ":")).encode()),
    ],
)
def test_the_serialisation_of_a_claim_is_named(name: str, written: bytes) -> None:
    document = COVERED | {"other": 1}
    assert matching_serialisation(COVERED, document, b"{}", sha256(written).upper()) == name


def test_members_in_the_documents_own_order_are_recognised() -> None:
    document = {"pending_decisions": [], **COVERED, "other": 1}
    received = {name: value for name, value in document.items() if name in COVERED}
    written = json.dumps(received).encode()
    assert matching_serialisation(received, document, None, sha256(written)) == "json.dumps"


def test_bytes_as_received_and_whole_documents_are_named() -> None:
    document = COVERED | {"other": 1.0, "consistency_hash": "x", "context_fingerprint": "y"}
    body = json.dumps(document, indent=3).encode()
    bare = {
        name: value
        for name, value in document.items()
        if name not in ("consistency_hash", "context_fingerprint")
    }

    def match(data: bytes) -> str:
        return matching_serialisation(COVERED, document, body, sha256(data))

    assert match(body) == "as-received"
    assert matching_serialisation(COVERED, document, body + b"\n", sha256(body)) == "as-received"
    assert match(canonicalize(document)) == "whole-document"
    assert match(canonicalize(bare)) == "whole-document"
    assert match(json.dumps(bare, sort_keys=True).encode()) == "whole-document"
    assert match(b"something else") == "none"


def test_what_is_no_hash_matches_nothing() -> None:
    assert matching_serialisation(COVERED, COVERED, b"{}", "none of these") == "none"
