"""Five orchestrators that tell the truth, each with habits that a strict check could take for a lie.

A story is a session: one piece of work that several roles hand to each other. Each yields `Post`s; the replay
stores and judges one before it asks for the next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from checkpoints.canonical import context_fingerprint
from checkpoints.formats import covered_object, hash_of
from checkpoints.identifiers import uuid7

#: How long before the first post of a story its work began.
BEGAN = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Post:
    """A body, and what becomes of the handoff: acknowledged, failed (retries used up first), aborted, or answered."""

    body: bytes
    then: str = "acknowledged"


@dataclass
class Work:
    """The state of one piece of work, as its orchestrator keeps it."""

    session: str
    task: str
    intent: str
    began: datetime = field(default_factory=lambda: datetime.now(UTC) - BEGAN)
    sequence: int = 0
    minutes: int = 0
    steps: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    highlights: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=lambda: ["pii_masking"])
    decisions: list[dict[str, Any]] = field(default_factory=list)

    def did(self, name: str, what: str, *, tool: str | None = None, result: str = "") -> None:
        """A step that is over, and the tool call it made."""
        self.steps.append(
            {
                "step_id": name,
                "description": what,
                "output_reference": f"artifact://{self.session}/{name}.json",
                "completed_at": self._at(),
            }
        )
        if tool:
            self.tools.append(
                {
                    "tool_name": tool,
                    "call_id": f"{self.session}-{name}",
                    "result_summary": result,
                    "full_result_reference": f"artifact://{self.session}/{name}-full.json",
                }
            )

    def post(self, sender: str, target: str, why: str, *, doing: str | None = None, **changes: Any) -> bytes:
        """The next checkpoint. `changes` replace members of the document."""
        self.sequence += 1
        started = self._at()
        document: dict[str, Any] = {
            "checkpoint_id": str(uuid7()),
            "session_id": self.session,
            "handoff_sequence": self.sequence,
            "agent_id": f"{sender}/1",
            "agent_role": sender,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "task_id": self.task,
            "task_status": "in_progress",
            "completed_steps": list(self.steps),
            "in_progress_step": None
            if doing is None
            else {
                "step_id": doing,
                "description": f"About to {doing.replace('-', ' ')}",
                "partial_output": None,
                "started_at": started,
            },
            "pending_decisions": list(self.decisions),
            "active_constraints": list(self.constraints),
            "tool_outputs": list(self.tools),
            "context_snapshot": {
                "key_facts": list(self.facts),
                "user_intent": self.intent,
                "session_highlights": list(self.highlights),
            },
            "handoff_target": {"target_role": target, "handoff_reason": why, "expected_return": False},
            "recovery_instructions": {
                "idempotency_key": f"{self.session}:{self.sequence}:{self.task}",
                "rollback_notes": "Look-ups only; nothing has to be undone.",
                "max_retries": 3,
            },
            "human_approval_required": False,
            **changes,
        }
        document["context_fingerprint"] = context_fingerprint(document["context_snapshot"])
        covered = covered_object(document, {})
        document["consistency_hash"] = hash_of(covered) if covered else None
        return json.dumps(document).encode()

    def _at(self) -> str:
        self.minutes += 2
        return (self.began + timedelta(minutes=self.minutes)).isoformat().replace("+00:00", "Z")


def claims(number: int, salt: str) -> Iterator[Post]:
    """Four roles in a row, each with steps of its own; the last one closes the task."""
    work = Work(f"claim-{salt}-{number}", f"CLM-{number}", "Get the broken window paid for")
    work.facts = ["The window was broken by hail", f"The policy is HH-{5500 + number}"]
    work.did(
        "read-claim",
        "Read the claim and its photographs",
        tool="read_mail",
        result="Three photographs, one letter",
    )
    yield Post(work.post("intake", "surveyor", "A surveyor judges the damage", doing="judge-damage"))
    work.did("judge-damage", "Judged the damage from the photographs")
    work.facts.append("One pane, 120 by 80 cm")
    yield Post(work.post("surveyor", "pricing", "The price follows from the pane", doing="price-pane"))
    work.did("price-pane", "Priced the pane", tool="price_list", result="Pane 120 x 80: 210 EUR")
    work.highlights = ["The pane costs 210 EUR"]
    yield Post(work.post("pricing", "payments", "The sum is within the limit", doing="pay-out"))
    work.did(
        "pay-out", "Put the payment on the list of Friday", tool="payment_list", result="Listed for Friday"
    )
    yield Post(work.post("payments", "intake", "The customer can be told", task_status="completed"))


def retrying(number: int, salt: str) -> Iterator[Post]:
    """A receiver that fails, an attempt that is made again, and a restart after a person said so."""
    work = Work(f"order-{salt}-{number}", f"ORD-{number}", "Change the delivery address of an open order")
    work.facts = ["The order has not been packed"]
    work.did("find-order", "Found the order", tool="orders", result=f"Order {number}, not packed")
    yield Post(
        work.post("support", "warehouse", "The warehouse changes addresses", doing="change-address"), "failed"
    )
    work.facts.append("The warehouse answered at the second try")
    yield Post(
        work.post("support", "warehouse", "Asked again: please change the address", doing="change-address"),
        "aborted",
    )
    # Restarted as advised: the same work under a new id and the next number.
    yield Post(work.post("support", "warehouse", "Started again as advised", doing="change-address"))
    work.did("change-address", "Changed the address", tool="warehouse", result="Changed, label printed")
    yield Post(work.post("warehouse", "support", "The address is changed", task_status="completed"))


def compacting(number: int, salt: str) -> Iterator[Post]:
    """Long research whose context is shortened before it outgrows the model."""
    work = Work(f"research-{salt}-{number}", f"RES-{number}", "Compare three suppliers of packaging")
    for round_number in range(4):
        name = f"supplier-{round_number}"
        work.did(
            name,
            f"Read the offer of supplier {round_number}",
            tool="read_offer",
            result=f"Offer {round_number}: 3 pages",
        )
        work.facts.append(f"Supplier {round_number} asks {40 + round_number} cents a box")
        work.highlights.append(f"Offer {round_number} is valid for a month")
        if round_number == 2:  # what was said at length becomes one line
            work.facts = ["Two offers were read: 40 and 41 cents a box", work.facts[-1]]
            work.highlights = work.highlights[-1:]
        target = ("analyst", "reader")[round_number % 2]
        sender = ("reader", "analyst")[round_number % 2]
        yield Post(
            work.post(sender, target, f"Offer {round_number} is read", doing=f"compare-{round_number}")
        )


def rephrasing(number: int, salt: str) -> Iterator[Post]:
    """A model that words the same wish anew each time, in another language too."""
    work = Work(f"travel-{salt}-{number}", f"TRV-{number}", "Book a train to Graz for Tuesday")
    wishes = (
        "The customer wants a train to Graz on Tuesday",
        "Train journey to Graz, Tuesday, one adult",
        "Zugfahrt nach Graz am Dienstag, eine Person",
        "One seat on a Tuesday train to Graz",
    )
    roles = ("travel", "booking", "billing", "travel", "archive")
    work.facts = ["One adult", "Tuesday"]
    for step, wish in enumerate(wishes):
        work.intent = wish
        work.did(
            f"step-{step}",
            ("Looked up trains", "Held a seat", "Charged the card on file", "Sent the ticket")[step],
        )
        yield Post(work.post(roles[step], roles[step + 1], f"{roles[step + 1].capitalize()} takes over"))


def deciding(number: int, salt: str) -> Iterator[Post]:
    """Questions that are asked, answered by a person, and gone from the next checkpoint."""
    work = Work(f"contract-{salt}-{number}", f"CON-{number}", "Renew the cleaning contract")
    work.facts = ["The contract ends in March"]
    work.did(
        "read-contract",
        "Read the contract",
        tool="read_document",
        result="Twelve pages, notice of three months",
    )
    work.decisions = [
        {
            "decision_id": "term",
            "question": "Renew for one year or for three?",
            "options": ["one", "three"],
            "recommendation": "one: prices are falling",
            "blocking": True,
        }
    ]
    yield Post(
        work.post("legal", "purchasing", "Purchasing renews what legal has read", doing="renew"), "answered"
    )
    work.decisions = []
    work.facts.append("A person chose one year")
    yield Post(work.post("purchasing", "legal", "The draft follows the answer", doing="draft-renewal"))
    work.did("draft-renewal", "Drafted the renewal", tool="write_document", result="Two pages")
    work.constraints.append("signature_by_director")
    yield Post(work.post("legal", "director", "The director signs", doing="sign"))
    work.did("sign", "Signed the renewal")
    yield Post(work.post("director", "purchasing", "Signed and filed", task_status="completed"))


STORIES: dict[str, Callable[[int, str], Iterator[Post]]] = {
    "claims": claims,
    "retrying": retrying,
    "compacting": compacting,
    "rephrasing": rephrasing,
    "deciding": deciding,
}
