"""All formats. A new one is a module with a `FORMAT`, its schema file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from checkpoints.formats import (
    agent_framework,
    engine,
    google_adk,
    handoff,
    langgraph,
    opaque,
    openai_agents,
    prompty_session,
)
from checkpoints.formats.form import Format
from checkpoints.formats.json_schema import compose
from checkpoints.formats.vocabulary import ENVELOPE_MEMBERS
from checkpoints.types import JSONObject, Submission

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        form.name: form
        for form in (
            handoff.FORMAT,
            engine.FORMAT,
            prompty_session.FORMAT,
            langgraph.FORMAT,
            openai_agents.FORMAT,
            agent_framework.FORMAT,
            google_adk.FORMAT,
            opaque.FORMAT,
        )
    }
)


def schema(name: str) -> JSONObject:
    """The JSON Schema (2020-12) of a format. Raises KeyError for an unknown format."""
    return compose(name, FORMATS[name].title)


def unknown_members(submission: Submission) -> tuple[str, ...]:
    """Top-level names that neither the format nor the envelope knows, in the sender's order (HC-06, EC-55).

    A foreign SDK's own top level changes with its releases and is not judged; its envelope is.
    """
    form = FORMATS[submission.format]
    flat = submission.form == "flat"
    unknown = [name for name in submission.envelope if name not in ENVELOPE_MEMBERS]
    if form.unknown_member_code is not None:
        known = {*form.members, *(ENVELOPE_MEMBERS if flat else ())}
        unknown.extend(name for name in submission.payload if name not in known)
    return tuple(unknown)
