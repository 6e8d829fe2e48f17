"""The description of the API is one that tools can read, is kept beside the code, and is true."""

from __future__ import annotations

import json
from pathlib import Path

from django.test import Client
from drf_spectacular.validation import validate_schema

from checkpoints.api.openapi import document
from checkpoints.api.problems import TYPES
from checkpoints.api.urls import urlpatterns
from tests.api.conformance import specification

SNAPSHOT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def test_the_file_is_openapi_3_1() -> None:
    found = specification()
    assert found["openapi"].startswith("3.1")
    validate_schema(found)


def test_the_snapshot_is_up_to_date() -> None:
    assert SNAPSHOT.read_bytes() == document() + b"\n", (
        "The API's description changed. Look at the difference, then write it: "
        "python manage.py export_openapi > docs/openapi.json"
    )


def test_every_address_is_described_but_the_description_itself() -> None:
    described = {path.strip("/").partition("{")[0] for path in specification()["paths"]}
    known = {str(item.pattern).partition("<")[0] for item in urlpatterns}
    assert known - described == {"api/v1/schema", "api/docs"}


def test_every_operation_says_how_it_can_fail() -> None:
    for path, operations in specification()["paths"].items():
        for method, operation in operations.items():
            answers = operation["responses"]
            assert {"400", "406", "500", "503"} <= set(answers), (method, path)
            if operation.get("security"):
                assert "401" in answers
            if method == "post":
                assert {"413", "415", "422"} <= set(answers)


def test_every_problem_type_is_explained_at_its_address(db: None) -> None:
    for slug, known in TYPES.items():
        shown = Client().get(f"/problems/{slug}").json()
        assert (shown["type"], shown["status"]) == (f"/problems/{slug}", known.status)
        assert shown["title"]
        assert shown["meaning"].endswith(".")


def test_the_served_file_is_the_documented_one(db: None) -> None:
    response = Client().get("/api/v1/schema")
    assert json.loads(response.content) == specification()


def test_the_page_runs_nothing_but_our_own_files(db: None) -> None:
    response = Client().get("/api/docs")
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    text = response.content.decode()
    assert "http://" not in text
    assert "https://" not in text
    assert text.count("<script") == text.count("<script src=") + text.count('<script type="module" src=')
