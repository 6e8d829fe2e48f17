"""What senders look up: checks, schemas, digests, the policy and the checkpoint prompt (contract §5)."""

from __future__ import annotations

from typing import ClassVar, Final

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api import bodies
from checkpoints.api.documents import ANYTHING, OBJECT, one_of, page_of, ref
from checkpoints.api.documents import TEXT as TEXT_SCHEMA
from checkpoints.api.endpoint import Endpoint, PublicEndpoint, accepted, answer, plain
from checkpoints.api.openapi import described, query
from checkpoints.api.parameters import Parameters, invalid
from checkpoints.canonical import canonicalize, digest, digest_bytes, parse_value
from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import NotFound
from checkpoints.formats import (
    FORMATS,
    covered_values,
    explain_claim,
    folded_risk,
    hash_of,
    is_other_id,
    schema,
)
from checkpoints.models import Scope
from checkpoints.policies.prompt import render
from checkpoints.services.policy import active
from checkpoints.types import JSONObject, rfc3339

PUBLIC: Final = {"Cache-Control": "public, max-age=300"}
TEXT: Final = "text/plain"


class Checks(PublicEndpoint):
    @described("listChecks", "The catalogue of checks", {200: page_of("Check")}, tag="reference")
    def get(self, request: Request) -> HttpResponse:
        """Every check, with its severity and disposition as shipped, and the gate at which it speaks."""
        Parameters(plain(request))
        results = [entry.as_json() for entry in CATALOGUE.values()]
        return answer({"results": [*results], "next": None, "previous": None}, headers=PUBLIC)


class SchemaList(PublicEndpoint):
    @described("listSchemas", "The known formats", {200: page_of("Format")}, tag="reference")
    def get(self, request: Request) -> HttpResponse:
        """The formats whose schemas can be fetched."""
        Parameters(plain(request))
        results: list[JSONObject] = [
            {"format": name, "title": form.title, "schema": f"{settings.PUBLIC_URL}/api/v1/schemas/{name}"}
            for name, form in FORMATS.items()
        ]
        return answer({"results": [*results], "next": None, "previous": None}, headers=PUBLIC)


class SchemaDetail(PublicEndpoint):
    @described(
        "getSchema", "The JSON Schema of a format", {200: OBJECT}, tag="reference", problems=["not-found"]
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        """The JSON Schema of a format."""
        Parameters(plain(request))
        if name not in FORMATS:
            raise NotFound(f"There is no such format. Known: {', '.join(FORMATS)}.")
        return answer(schema(name), headers=PUBLIC)


class Digests(Endpoint):
    scope = Scope.CHECKPOINTS_WRITE

    @described(
        "computeDigests",
        "Canonical form and digests of a JSON value",
        {200: ref("Digests")},
        tag="reference",
        scope=Scope.CHECKPOINTS_WRITE.value,
        body=ANYTHING,
        parameters=[query("claimed", "A hash: what was it taken over?")],
    )
    def post(self, request: Request) -> HttpResponse:
        """Canonical form and digests of any JSON value; with `claimed`, what a wrong hash was taken over."""
        http = plain(request)
        claimed = Parameters(http, single=("claimed",)).text("claimed")
        body = bodies.read(http, limit=settings.BODY_BYTES)
        value = parse_value(body, bodies.limits())
        covered, context = covered_values(value)
        shown: JSONObject = {
            "canonical": canonicalize(value).decode(),
            "digest": digest(value),
            "body_digest": digest_bytes(body),
            "consistency_hash": None if covered is None else hash_of(covered),
            "context_fingerprint": None if context is None else digest(context),
        }
        if claimed is not None:
            shown["matches"] = explain_claim(value, body, claimed)
        return answer(shown)


class Policy(Endpoint):
    scope = Scope.POLICY_READ

    @described(
        "getPolicy",
        "The policy in force",
        {200: ref("Policy")},
        tag="reference",
        scope=Scope.POLICY_READ.value,
    )
    def get(self, request: Request) -> HttpResponse:
        """The policy that the next check goes by, as it was published."""
        Parameters(plain(request))
        policy = active(fresh=True)
        return answer(
            {
                "version": policy.version,
                "published_at": rfc3339(policy.published_at) if policy.published_at else None,
                "document": policy.document,
            }
        )


class Prompt(Endpoint):
    produces: ClassVar[tuple[str, ...]] = (TEXT, "text/markdown", "application/json")

    @described(
        "getPrompt",
        "The checkpoint prompt for a sending agent",
        {200: TEXT_SCHEMA, (200, "application/json"): ref("Prompt")},
        tag="reference",
        scope=None,
        media_type=("text/plain", "text/markdown"),
        parameters=[
            query("agent_role", "Who hands over."),
            query("target_role", "Who takes over."),
            query(
                "risk_level",
                "How risky the handoff is.",
                one_of(["low", "medium", "normal", "high", "critical"]),
            ),
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        """The checkpoint prompt for a sending agent, from the live policy."""
        http = plain(request)
        parameters = Parameters(http, single=("agent_role", "target_role", "risk_level"))
        roles = {name: parameters.text(name) or None for name in ("agent_role", "target_role")}
        for name, role in roles.items():
            if role is not None and not is_other_id(role):
                raise invalid(name, f"{name} must have 1 to 200 printable ASCII characters.")
        given = parameters.text("risk_level") or None
        risk = folded_risk(given)
        if given is not None and risk is None:
            raise invalid("risk_level", f"risk_level is {given[:64]!r}. Use low, medium or high.")
        policy = active(fresh=True)
        text = render(
            policy.compiled, agent_role=roles["agent_role"], target_role=roles["target_role"], risk_level=risk
        )
        chosen = accepted(http.META.get("HTTP_ACCEPT", ""), self.produces) or TEXT
        headers = {"Vary": "Accept"}
        if chosen == "application/json":
            return answer({"prompt": text, "policy_version": policy.version}, headers=headers)
        return HttpResponse(text, content_type=f"{chosen}; charset=utf-8", headers=headers)
