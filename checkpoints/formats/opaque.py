"""`opaque`: a document that is shown and digested, and not interpreted."""

from __future__ import annotations

from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.types import Facts, JSONObject


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """The envelope's facts only."""
    return with_envelope(Facts(), payload, envelope)


FORMAT: Final = Format(
    name="opaque",
    title="Opaque document",
    read=read,
    members=(),
    approve_means="The orchestrator may dispatch this handoff; what the document does is known to its sender alone.",
    editable=False,
    interpreted=False,
)
