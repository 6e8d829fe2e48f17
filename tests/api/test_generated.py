"""Requests that a generator makes from the OpenAPI file, good and bad: no answer is outside of it, none is a 500."""

from __future__ import annotations

import os
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.calling import Api
from tests.api.conformance import specification

CHECKS: list[Any] = [content_type_conformance, response_schema_conformance, status_code_conformance]
EXAMPLES = int(os.environ.get("GENERATED_EXAMPLES", "20"))

schema = schemathesis.openapi.from_dict(specification())
schema.app = get_wsgi_application()
OPERATIONS = [result.ok() for result in schema.exclude(path_regex="^/(metrics|readyz)").get_all_operations()]


@pytest.fixture(scope="module")
def token(django_db_setup: None, django_db_blocker: Any) -> str:
    with django_db_blocker.unblock():
        api = Api()
        api.submitted()
        return api.token


# Where there is no body, hardly anything can be generated that does not fit.
CASES = [
    pytest.param(operation, mode, id=f"{operation.label} {mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    if operation.body or mode is GenerationMode.POSITIVE
]


@pytest.mark.full
@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_every_answer_is_a_documented_one(operation: Any, mode: GenerationMode, token: str, db: None) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        response = case.call(headers={"Authorization": f"Bearer {token}"})
        assert response.status_code < 500, response.content
        case.validate_response(response, checks=CHECKS)

    check()
