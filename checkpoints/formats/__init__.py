"""Reading checkpoints: which format, whose, what it says. Pure, total, and the same for every caller."""

from checkpoints.formats.admission import DEFAULT_LIMITS, admit, is_envelope, reread, split
from checkpoints.formats.engine import resume_effect
from checkpoints.formats.form import Format
from checkpoints.formats.hashing import (
    covered_values,
    expected_fingerprint,
    expected_hash,
    explain_claim,
)
from checkpoints.formats.identity import is_name, is_other_id
from checkpoints.formats.names import with_short_names
from checkpoints.formats.reading import folded_risk, folded_severity, instant
from checkpoints.formats.registry import FORMATS, schema, unknown_members
from checkpoints.formats.revivable import Revivable, revivable_types, revivable_values
from checkpoints.formats.vocabulary import (
    ENVELOPE_MEMBERS,
    STATUSES,
    Received,
    covered_object,
    folded_status,
    hash_of,
    received,
    received_all,
    value_of,
)

__all__ = [
    "DEFAULT_LIMITS",
    "ENVELOPE_MEMBERS",
    "FORMATS",
    "STATUSES",
    "Format",
    "Received",
    "Revivable",
    "admit",
    "covered_object",
    "covered_values",
    "expected_fingerprint",
    "expected_hash",
    "explain_claim",
    "folded_risk",
    "folded_severity",
    "folded_status",
    "hash_of",
    "instant",
    "is_envelope",
    "is_name",
    "is_other_id",
    "received",
    "received_all",
    "reread",
    "resume_effect",
    "revivable_types",
    "revivable_values",
    "schema",
    "split",
    "unknown_members",
    "value_of",
    "with_short_names",
]
