"""Who the document says it is: session, checkpoint, sequence (contract §3, Identity)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from checkpoints.errors import ProblemError, Refused
from checkpoints.formats.form import Format
from checkpoints.types import JSONObject, JSONValue

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=~-]{0,199}")
OTHER_ID: Final = re.compile(r"[\x20-\x7e]{1,200}")
_MAX_SEQUENCE: Final = (1 << 53) - 1
_RULE: Final = "Use 1 to 200 of the characters A-Z a-z 0-9 . _ : @ + = ~ - and begin with a letter or digit."
_SEQUENCE_RULE: Final = "Send an integer from 1 to 2^53-1, or leave the member out."

type _Source = tuple[str, JSONValue]  # pointer, value


@dataclass(slots=True)
class Identity:
    """What could be read, and what is wrong with the rest."""

    session_id: str | None = None
    checkpoint_id: str | None = None
    handoff_sequence: int | None = None
    errors: list[ProblemError] = field(default_factory=list)
    mismatches: list[ProblemError] = field(default_factory=list)


def is_name(value: JSONValue) -> bool:
    """Whether a value may be a `session_id` or `checkpoint_id`."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def is_other_id(value: JSONValue) -> bool:
    """Whether a value may be any other id: 1 to 200 printable ASCII characters."""
    return isinstance(value, str) and OTHER_ID.fullmatch(value) is not None


def read_identity(payload: JSONObject, envelope: JSONObject, form: Format) -> Identity:
    """Reads the three members, all errors at once. `envelope` is {} in the flat form.

    The envelope (or the flat document) names the handoff; the payload of a format that names itself may repeat
    the names or bring them alone; a Prompty document's `sessionId` serves where no `session_id` was sent.
    """
    identity = Identity()
    identity.session_id = _name(identity, "session_id", _sources("session_id", payload, envelope, form))
    identity.checkpoint_id = _name(
        identity, "checkpoint_id", _sources("checkpoint_id", payload, envelope, form)
    )
    sources = _sources("handoff_sequence", payload, envelope, form)
    numbers = [source for source in sources if _is_sequence(identity, *source)]
    _compare(identity, "handoff_sequence", numbers)
    if numbers and type(numbers[0][1]) is int:
        identity.handoff_sequence = numbers[0][1]
    _own_session(identity, payload, envelope, form)
    return identity


def refuse(identity: Identity) -> NoReturn:
    """Raises Refused for what `read_identity` found, with the names that could be read."""
    slug, errors = "identity-invalid", identity.errors
    if not errors:
        slug, errors = "identity-mismatch", identity.mismatches
    raise Refused(
        " ".join(error.detail for error in errors),
        slug=slug,
        errors=errors,
        session_id=identity.session_id,
        checkpoint_id=identity.checkpoint_id,
    )


def _sources(member: str, payload: JSONObject, envelope: JSONObject, form: Format) -> list[_Source]:
    if not envelope:
        return [(f"/{member}", payload[member])] if member in payload else []
    found = [(f"/{member}", envelope[member])] if member in envelope else []
    if form.names_itself and member in payload:
        found.append((f"/payload/{member}", payload[member]))
    return found


def _name(identity: Identity, member: str, sources: list[_Source]) -> str | None:
    names = [source for source in sources if source[1] is not None and _is_name(identity, member, *source)]
    _compare(identity, member, names)
    return str(names[0][1]) if names else None


def _is_name(identity: Identity, member: str, pointer: str, value: JSONValue) -> bool:
    if is_name(value):
        return True
    if not isinstance(value, str):
        code, detail = "HC-03", f"{member} is {_quoted(value)}, not a string. {_RULE}"
    elif not value:
        code, detail = "HC-02", f"{member} is empty. {_RULE}"
    else:
        code, detail = "HC-02", f"{member} {_quoted(value)} is malformed. {_RULE}"
    identity.errors.append(ProblemError(pointer, code, detail))
    return False


def _is_sequence(identity: Identity, pointer: str, value: JSONValue) -> bool:
    if type(value) is not int:
        code, detail = "HC-03", f"handoff_sequence is {_quoted(value)}, not an integer. {_SEQUENCE_RULE}"
    elif not 1 <= value <= _MAX_SEQUENCE:
        code, detail = "HC-02", f"handoff_sequence {value} is out of range. {_SEQUENCE_RULE}"
    else:
        return True
    identity.errors.append(ProblemError(pointer, code, detail))
    return False


def _compare(identity: Identity, member: str, sources: list[_Source]) -> None:
    for pointer, value in sources[1:]:
        if value != sources[0][1]:
            detail = (
                f"{member} is {_quoted(sources[0][1])} in the envelope and {_quoted(value)} at {pointer}. "
                "Send the same in both places, or only one of them."
            )
            identity.mismatches.append(ProblemError(pointer, "identity-mismatch", detail))


def _own_session(identity: Identity, payload: JSONObject, envelope: JSONObject, form: Format) -> None:
    """A format's own session member serves where `session_id` is absent, and may not contradict it."""
    own = form.session_member
    value = payload.get(own) if own else None
    pointer = f"/payload/{own}" if envelope else f"/{own}"
    if identity.session_id is not None:
        # What is no text or empty names nothing: EC-01 and EC-02 speak of it after storage.
        if isinstance(value, str) and value and value != identity.session_id:
            _compare(identity, "session_id", [("/session_id", identity.session_id), (pointer, value)])
        return
    if any(error.pointer.endswith("/session_id") for error in identity.errors):
        return
    if own is not None and value is not None:
        if _is_name(identity, own, pointer, value):
            identity.session_id = str(value)
        return
    names = f"session_id or {own}" if own else "session_id"
    detail = f"{names} is missing: without it the checkpoint cannot be stored or found again. {_RULE}"
    identity.errors.append(ProblemError("/session_id", "HC-01", detail))


def _quoted(value: JSONValue) -> str:
    """At most 64 characters of a value, in ASCII, as JSON would write it."""
    written = json.dumps(value) if not isinstance(value, list | dict) else type(value).__name__
    return written if len(written) <= 64 else f"{written[:60]}…"
