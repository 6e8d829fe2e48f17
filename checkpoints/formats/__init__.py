"""Reading checkpoints: which format, whose, what it says. Pure, total, and the same for every caller."""

from checkpoints.formats.admission import admit, is_envelope, reread
from checkpoints.formats.engine import resume_effect
from checkpoints.formats.form import Format
from checkpoints.formats.identity import is_name, is_other_id
from checkpoints.formats.registry import FORMATS, schema
from checkpoints.formats.vocabulary import (
    ENVELOPE_MEMBERS,
    STATUSES,
    Received,
    covered_object,
    folded_status,
    hash_of,
    received,
    received_all,
)

__all__ = [
    "ENVELOPE_MEMBERS",
    "FORMATS",
    "STATUSES",
    "Format",
    "Received",
    "admit",
    "covered_object",
    "folded_status",
    "hash_of",
    "is_envelope",
    "is_name",
    "is_other_id",
    "received",
    "received_all",
    "reread",
    "resume_effect",
    "schema",
]
