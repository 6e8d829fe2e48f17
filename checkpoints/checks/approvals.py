"""The human gate: risk, the sender's wish for a person, and tickets that claim one has been there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints.checks.shape import HANDOFF, shown, view
from checkpoints.types import CheckContext, Hit, Risk, Submission

FORMATS = ("*",)

OUR_TICKETS: Final = "APR-"


def approval_flag(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-25, HC-27 and HC-28. HC-26 stands with the conclusions: its risk may come from a finding."""
    document = view(submission)
    flag = document.given("human_approval_required")
    pointer = document.pointer("human_approval_required", "/human_approval_required")
    ticket = document.text("approval_ticket_reference")
    risk = document.given("risk_level")
    if flag is None and submission.facts.risk_level is Risk.HIGH and risk is not None:
        yield Hit(
            "HC-25",
            pointer,
            f"risk_level is {shown(risk.value, 40)}, but human_approval_required is absent. Say whether a "
            "person must approve.",
            True,
            None,
        )
    wants_person = submission.facts.human_approval_required
    if ticket is not None and not wants_person and (flag is None or isinstance(flag.value, bool)):
        yield Hit(
            "HC-28",
            pointer,
            f"approval_ticket_reference is {shown(ticket, 80)}, but human_approval_required is "
            f"{'absent' if flag is None else 'false'}: the flag was dropped, or the ticket is not this "
            "handoff's.",
            True,
            None if flag is None else False,
        )
    if submission.format != HANDOFF or not wants_person or ticket is not None:
        return
    if document.status is not None and document.status != "awaiting_approval":
        yield Hit(
            "HC-27",
            pointer,
            "human_approval_required is true and there is no ticket yet, while the task is "
            f"{shown(document.status, 40)}. A person decides here first.",
            "awaiting_approval",
            shown(document.status),
        )


def unknown_ticket(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-77."""
    document = view(submission)
    ticket = document.text("approval_ticket_reference")
    if ticket is None or context.known_ticket is not False or not ticket.strip().startswith(OUR_TICKETS):
        return
    yield Hit(
        "HC-77",
        document.pointer("approval_ticket_reference", "/approval_ticket_reference"),
        f"approval_ticket_reference {shown(ticket, 80)} looks like one of our tickets, but no such ticket "
        "was issued to this orchestrator. It authorises nothing.",
        None,
        shown(ticket),
    )


CHECKS = (approval_flag, unknown_ticket)
