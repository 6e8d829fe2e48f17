"""The fields of the policy's form: what they are called, where they stand, what they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEVELS: Final = ("high", "medium", "low")
DISPOSITIONS: Final = ("reject", "review", "warn", "ignore")
NOBODY: Final = "-"
BLANK_ROWS: Final = 2
PREFIXES: Final = ("/", "role.", "required.", "conflict.", "rule.", "check.")


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: number, text, list (commas between), numbers, choice, switch. An empty text or number is null."""

    name: str
    label: str
    kind: str = "number"
    choices: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    fields: tuple[Field, ...]
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind. `cells` are the fields of a row, named without the row's prefix."""

    prefix: str
    title: str
    cells: tuple[Field, ...]
    hint: str = ""


SECTIONS: Final = (
    Section(
        "Who has to agree",
        (
            *(Field(f"/approvals/{level}", f"Approvals at {level} risk") for level in LEVELS),
            *(
                Field(f"/self_approval_of_edits/{level}", f"An editor may approve at {level} risk", "switch")
                for level in LEVELS[1:]
            ),
            Field("/risk/default", "Risk where nobody names one", "choice", LEVELS),
        ),
    ),
    Section(
        "Waiting for a person",
        (
            *(
                Field(f"/review/deadline_seconds/{level}", f"Deadline at {level} risk, seconds")
                for level in LEVELS
            ),
            Field("/review/on_expiry", "Without a decision in time", "choice", ("escalate", "abort")),
            Field("/review/claim_seconds", "A claim lasts, seconds"),
        ),
    ),
    Section(
        "Receivers that do not answer",
        (
            Field("/handoff_timeout_seconds", "Acknowledge within, seconds"),
            Field("/max_retries", "Retries at most"),
            Field(
                "/retry_backoff_seconds",
                "Pauses before retries, seconds",
                "numbers",
                hint="The last one repeats.",
            ),
            Field("/approval/valid_seconds", "A ticket is valid for, seconds"),
            Field("/approval/reissue_seconds", "An expired ticket is signed again for, seconds"),
        ),
    ),
    Section(
        "Documents",
        (
            Field("/max_document_bytes", "Largest document, bytes"),
            Field("/max_context_tokens", "Largest context, tokens"),
            Field("/clock_skew_seconds", "Tolerated clock difference, seconds"),
            Field("/reference_schemes", "Schemes of references", "list"),
            Field(
                "/task_id_pattern", "Pattern of task ids", "text", hint="A regular expression; empty: any."
            ),
            Field("/strict_non_empty", "Required lists must not be empty", "switch"),
            Field("/opaque", "Documents of unknown format", "choice", DISPOSITIONS),
            Field("/retention_days", "Keep bodies for, days"),
        ),
    ),
    Section(
        "Change tickets",
        (
            Field("/ticket/pattern", "Pattern of references", "text", hint="Empty: any text."),
            Field("/ticket/url", "Address, with {reference} in it", "text"),
            *(
                Field(f"/ticket/required_for/{level}", f"Required at {level} risk", "switch")
                for level in LEVELS
            ),
        ),
        hint="All empty: no change system.",
    ),
)
TABLES: Final = (
    Table(
        "role",
        "Roles",
        (
            Field("name", "Role", "text"),
            Field("capabilities", "Can", "list"),
            Field("may_hand_off_to", "May hand to", "list"),
            Field("fallback_role", "Fallback", "text"),
        ),
        hint=f"Commas between names. May hand to: empty is any role of this table, {NOBODY} is nobody.",
    ),
    Table(
        "required",
        "Required constraints",
        (
            Field("side", "Handoffs", "choice", ("from", "to")),
            Field("role", "Role", "text"),
            Field("constraints", "Must carry", "list"),
        ),
    ),
    Table(
        "conflict",
        "Constraints that contradict each other",
        (Field("first", "One", "text"), Field("second", "Other", "text")),
    ),
    Table(
        "rule",
        "What raises the risk",
        (
            Field("level", "Risk", "choice", LEVELS),
            Field("target_role", "Target role", "list"),
            Field("agent_role", "Sending role", "list"),
            Field("tool_name", "Tool", "list"),
            Field("finding", "Finding", "list"),
            Field("task_id", "Task", "list"),
            Field("format", "Format", "list"),
        ),
        hint="Everything in a row must match; of several values one is enough.",
    ),
    Table(
        "check",
        "Checks with their own rule",
        (
            Field("code", "Code", "text"),
            Field("severity", "Counts as", "choice", ("", *LEVELS)),
            Field("disposition", "Leads to", "choice", ("", *DISPOSITIONS)),
        ),
        hint="Empty: as the catalogue says.",
    ),
)
FIELDS: Final = tuple(item for section in SECTIONS for item in section.fields)
CONDITIONS: Final = tuple(cell.name for cell in TABLES[3].cells if cell.name != "level")
