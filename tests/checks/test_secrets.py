"""Credentials are found and masked; clean documents hold none."""

from __future__ import annotations

import json
import random
import string
import time

import pytest

from checkpoints.checks.secrets import kinds_in, mask, masked
from tests.checks.documents import changed, hits, set_at

ALPHABET = string.ascii_letters + string.digits


def made(length, alphabet=ALPHABET):
    """A random-looking text: no real credential stands in this file, nor one that a scanner would report."""
    return "".join(random.Random(length).choices(alphabet, k=length)) + "7"  # noqa: S311


SECRETS = {
    "model key": "sk-" + made(40),
    "model project key": "sk-proj-" + made(60),
    "model key of another house": "sk-ant-api03-" + made(80),
    "live payment key": "sk_" + "live_" + made(24),
    "restricted payment key": "rk_" + "live_" + made(24),
    "code host token": "ghp_" + made(36),
    "fine-grained token": "github_" + "pat_" + made(60),
    "other code host": "glpat-" + made(20),
    "cloud key": "AKIA" + made(15, string.ascii_uppercase + string.digits),
    "session key": "ASIA" + made(15, string.ascii_uppercase + string.digits),
    "chat token": "xoxb-" + made(30),
    "map key": "AIza" + made(35),
    "model hub": "hf_" + made(34),
    "package registry": "npm_" + made(36),
    "mail": "SG." + made(22) + "." + made(43),
    "web token": "eyJ" + made(30) + ".eyJ" + made(40) + "." + made(43),
    "own token": "rq_" + made(7) + "_" + made(42),
    "private key": "-----BEGIN " + "EC PRIVATE KEY-----",
}
HARMLESS = [
    "task-management-with-kanban-boards-and-lists",
    "risk-assessment-2026-for-water-damage-claims",
    "sk-learn-compatible-estimators-and-pipelines",
    "ask-me-anything-session-number-12-of-this-year",
    "npm_config_registry",
    "hf_transfer",
    "AKIAlike words",
    "SG. is short for Singapore. Yes.",
    "eyJ",
    "-----BEGIN CERTIFICATE-----",
    "https://example.test/path?token=abc",
    "0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a64",
    "sha256:" + "ab" * 32,
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_credential_is_found_and_masked(secret):
    text = f"Use {secret}, please"
    document = changed(set_at("/context_snapshot/key_facts/0", text))
    found = [hit for hit in hits(document) if hit.code == "HC-10"]
    assert [hit.pointer for hit in found] == ["/context_snapshot/key_facts/0"]
    assert secret not in str(found)
    assert secret not in mask(text)
    assert mask(text).endswith(", please")
    assert mask(text).startswith(f"Use {secret[:4]}")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_similar_is_no_credential(text):
    assert list(kinds_in(text)) == []
    assert mask(text) == text


def test_values_and_names_are_masked_at_any_depth():
    secret = SECRETS["model key"]
    value = {"a": [{secret: secret}], "n": 1, "b": True, "z": None}
    assert secret not in json.dumps(masked(value))
    assert masked(value)["n"] == 1


def test_a_credential_in_the_envelope_or_in_a_name_is_found():
    secret = SECRETS["code host token"]
    document = changed(set_at(f"/context_snapshot/{secret}", "x"))
    found = [hit for hit in hits(document) if hit.code == "HC-10"]
    assert len(found) == 1
    assert secret not in str(found)
    assert (
        len(
            [
                hit
                for hit in hits({"session_id": "s", "handoff_reason": secret, "payload": {}})
                if hit.code == "HC-10"
            ]
        )
        == 1
    )


def test_a_thousand_clean_documents_hold_no_credential():
    chance = random.Random(4)  # noqa: S311
    words = [
        "task",
        "risk",
        "desk",
        "ask",
        "sk",
        "npm",
        "hf",
        "key",
        "token",
        "secret",
        "pat",
        "live",
        "AKI",
        "eyJ",
    ]
    for _ in range(1000):
        parts = [
            chance.choice("-_. /:").join(chance.choices(words, k=chance.randint(2, 6)))
            + str(chance.randint(0, 9999))
            for _ in range(20)
        ]
        parts += [f"{chance.getrandbits(128):032x}", f"{chance.getrandbits(256):064x}"]
        assert not [kind for part in parts for kind in kinds_in(part)]


@pytest.mark.parametrize(
    "text",
    ["sk-" * 100_000, "-eyJ" * 80_000, "eyJaaaaaaaaaaaa.eyJ" * 15_000, "xoxb" * 80_000, "-----BEGIN " * 30_000,
     "-----BEGIN " + "A" * 300_000, "SG." + "a" * 300_000, "a-sk-" * 60_000, "ghp_" * 80_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_no_text_makes_the_search_slow(text):
    started = time.process_time()
    mask(text)
    assert time.process_time() - started < 1.0
