"""The first gate's pure half: from bytes to a Submission that can be named and stored."""

from __future__ import annotations

from typing import Final

from checkpoints.canonical import digest, digest_bytes, load_trusted, parse
from checkpoints.errors import ProblemError, Refused
from checkpoints.formats import engine
from checkpoints.formats.form import Format
from checkpoints.formats.identity import Identity, read_identity, refuse
from checkpoints.formats.registry import FORMATS
from checkpoints.types import JSONObject, JSONValue, Limits, Submission

DEFAULT_LIMITS: Final = Limits()


def admit(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Submission:
    """Parses, tells the form and the format, reads identity and facts. Raises Refused, and nothing else."""
    document = parse(body, limits)
    payload, envelope = split(document)
    form = _known_format(payload, envelope)
    identity = read_identity(payload, envelope, form)
    if identity.errors or identity.mismatches:
        refuse(identity)
    return _submission(body, document, form, identity)


def reread(body: bytes) -> Submission:
    """The Submission of bytes that were admitted before; limits and names are not judged again."""
    value = load_trusted(body)
    document = value if isinstance(value, dict) else {}
    payload, envelope = split(document)
    name = detect(payload, envelope)
    form = FORMATS.get(name, FORMATS["opaque"]) if isinstance(name, str) else FORMATS["opaque"]
    return _submission(body, document, form, read_identity(payload, envelope, form))


def is_envelope(document: JSONObject) -> bool:
    """Whether a document is an envelope: an object with an object member `payload`."""
    return isinstance(document.get("payload"), dict)


def split(document: JSONObject) -> tuple[JSONObject, JSONObject]:
    """(payload, envelope): what digests cover, and the members beside it; the flat form has no envelope."""
    payload = document.get("payload")
    if not isinstance(payload, dict):
        return document, {}
    return payload, {name: value for name, value in document.items() if name != "payload"}


def detect(payload: JSONObject, envelope: JSONObject) -> JSONValue:
    """The format's name as given, known or not; else what the members say (contract §3, Detection)."""
    given = (envelope or payload).get("format")
    if given is not None:
        return given
    if sum(mark in payload for mark in engine.MARKS) >= 2:
        return "prompty.engine/1"
    if "sessionId" in payload and "title" in payload and "session_id" not in payload:
        return "prompty.session/1"
    return "handoff/1"


def _known_format(payload: JSONObject, envelope: JSONObject) -> Format:
    name = detect(payload, envelope)
    form = FORMATS.get(name) if isinstance(name, str) else None
    if form is None:
        given = repr(name)[:64] if isinstance(name, str) else f"a {type(name).__name__}"
        detail = (
            f"format is {given}. Send one of {', '.join(FORMATS)}, or leave format out to have it detected."
        )
        raise Refused(
            detail, slug="unknown-format", errors=[ProblemError("/format", "unknown-format", detail)]
        )
    return form


def _submission(body: bytes, document: JSONObject, form: Format, identity: Identity) -> Submission:
    payload, envelope = split(document)
    body_digest = digest_bytes(body)
    return Submission(
        form="envelope" if is_envelope(document) else "flat",
        format=form.name,
        document=document,
        envelope=envelope,
        payload=payload,
        session_id=identity.session_id or "",
        checkpoint_id=identity.checkpoint_id,
        handoff_sequence=identity.handoff_sequence,
        body_digest=body_digest,
        content_digest=digest(payload),
        body_size=len(body),
        facts=form.read(payload, envelope),
    )
