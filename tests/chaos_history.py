"""A small run as a chaos run leaves it behind, with every promise kept: the material for doctored ones."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwcrypto import jwk, jws

from tools.chaos.chains import commitment, digest
from tools.chaos.records import History, Row
from tools.chaos.tree import roots_of

START = datetime(2026, 12, 1, 12, tzinfo=UTC)
BY_CHECKS, BY_PERSON, WAITING, REJECTED = "c-cleared", "c-approved", "c-waiting", "c-rejected"
TICKET = "APR-2026-000001"
PEOPLE = {"ann": "operator", "sam": "senior_operator"}


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@dataclass
class Scene:
    """Builds the rows step by step, each act with its audit entry."""

    rows: dict[str, list[Row]] = field(
        default_factory=lambda: {
            name: []
            for name in (
                "handoff", "checkpoint", "check_run", "attempt", "ticket", "decision", "audit", "refusal", "leaf",
                "head", "policy", "account", "clock",
            )
        }
    )  # fmt: skip
    journal: list[Row] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)
    second: float = 0

    def tick(self) -> datetime:
        self.second += 1
        return at(self.second)

    def note(self, kind: str, **members: Any) -> None:
        self.journal.append({"kind": kind, "at": self.tick().timestamp(), **members})

    def handoff(self, checkpoint_id: str, *, target: str, sequence: int = 1) -> Row:
        """Posted and answered with 201."""
        document = {"session_id": f"s-{checkpoint_id}", "checkpoint_id": checkpoint_id, "target_role": target}
        body = json.dumps(document, indent=1).encode()
        content_digest = sha256(rfc8785.dumps(document))
        row: Row = {
            "id": f"h-{checkpoint_id}",
            "checkpoint_id": checkpoint_id,
            "session_id": document["session_id"],
            "handoff_sequence": sequence,
            "id_assigned": False,
            "body_digest": sha256(body),
            "content_digest": content_digest,
            "revision": 1,
            "state": "received",
            "round": 1,
            "approval_ticket_reference": None,
            "last_attempt": 0,
            "max_retries": 2,
            "acknowledge_by": None,
            "review_deadline": None,
            "idempotency_key": None,
        }
        self.rows["handoff"].append(row)
        self.rows["checkpoint"].append(
            {
                "handoff_id": row["id"],
                "revision": 1,
                "content_digest": content_digest,
                "body_digest": sha256(body),
                "content": body,
            }
        )
        self.audit(row, "handoff.received", None, {"state": "received"})
        self.note(
            "stored",
            status=201,
            checkpoint_id=checkpoint_id,
            session_id=row["session_id"],
            handoff_sequence=sequence,
            named=True,
            body_digest=sha256(body),
        )
        return row

    def audit(self, handoff: Row, action: str, before: Any, after: Any) -> None:
        chain = [item for item in self.rows["audit"] if item["subject_id"] == handoff["id"]]
        entry: Row = {
            "id": f"e-{len(self.rows['audit'])}",
            "at": self.tick(),
            "action": action,
            "actor_kind": "system",
            "actor_id": "system:test",
            "subject_kind": "handoff",
            "subject_id": handoff["id"],
            "subject_index": len(chain),
            "request_id": None,
            "trace_id": None,
            "policy_version": 1,
            "previous_digest": chain[-1]["digest"] if chain else None,
            "salt": b"s" * 32,
            "label": "Test",
            "reason": None,
            "before": before,
            "after": after,
        }
        entry["text_commitment"] = commitment(entry)
        entry["digest"] = digest(entry)
        self.rows["audit"].append(entry)

    def move(self, handoff: Row, action: str, state: str) -> None:
        self.audit(handoff, action, {"state": handoff["state"]}, {"state": state})
        handoff["state"] = state

    def judge(self, handoff: Row, outcome: str, risk: str = "low") -> None:
        self.rows["check_run"].append(
            {
                "handoff_id": handoff["id"],
                "revision": 1,
                "complete": True,
                "outcome": outcome,
                "risk": risk,
                "policy_version": 1,
            }
        )
        self.move(handoff, f"handoff.{outcome}", outcome)

    def approve(self, handoff: Row, username: str) -> None:
        """One person, told by 303; the ticket is minted with it."""
        moment = self.tick()
        self.rows["decision"].append(
            {
                "id": f"d-{username}",
                "handoff_id": handoff["id"],
                "round": 1,
                "revision": 1,
                "content_digest": handoff["content_digest"],
                "action": "approve",
                "actor_kind": "person",
                "actor_id": f"u_{username}",
                "role": PEOPLE[username],
                "target": "same",
                "at": moment,
            }
        )
        self.rows["ticket"].append(
            {
                "handoff_id": handoff["id"],
                "reference": TICKET,
                "jti": "j-1",
                "revision": 1,
                "content_digest": handoff["content_digest"],
                "approvers": [{"id": f"u_{username}", "role": PEOPLE[username]}],
                "decided_at": moment,
                "redeemed_at": None,
                "revoked_at": None,
            }
        )
        handoff["approval_ticket_reference"] = TICKET
        self.move(handoff, "handoff.approved", "approved")
        self.note(
            "decided",
            username=username,
            handoff=handoff["id"],
            action="approve",
            content_digest=handoff["content_digest"],
            target="same",
        )

    def dispatch(self, handoff: Row, key: jwk.JWK) -> Row:
        handoff["last_attempt"] += 1
        moment = self.tick()
        attempt: Row = {
            "handoff_id": handoff["id"],
            "number": handoff["last_attempt"],
            "revision": 1,
            "content_digest": handoff["content_digest"],
            "dispatched_at": moment,
            "ended_at": None,
            "outcome": None,
        }
        self.rows["attempt"].append(attempt)
        tickets = [row for row in self.rows["ticket"] if row["handoff_id"] == handoff["id"]]
        for row in tickets:
            row["redeemed_at"] = moment
        self.move(handoff, "handoff.dispatched", "dispatched")
        self.note(
            "dispatched",
            checkpoint_id=handoff["checkpoint_id"],
            attempt=attempt["number"],
            revision=1,
            content_digest=handoff["content_digest"],
            key=f"k-{handoff['checkpoint_id']}",
            request_key=f"r-{handoff['checkpoint_id']}",
            ticket=signed(handoff, attempt["number"], key) if tickets else None,
        )
        return attempt

    def acknowledge(self, handoff: Row, attempt: Row, receiver: str) -> None:
        self.effects.append(
            {
                "receiver": receiver,
                "checkpoint_id": handoff["checkpoint_id"],
                "attempt": attempt["number"],
                "key": f"k-{handoff['checkpoint_id']}",
                "digest": handoff["content_digest"],
            }
        )
        attempt["ended_at"], attempt["outcome"] = self.tick(), "acknowledged"
        self.move(handoff, "handoff.acknowledged", "acknowledged")
        self.note("reported", verb="ack", checkpoint_id=handoff["checkpoint_id"], attempt=attempt["number"])


def signed(handoff: Row, attempt: int, key: jwk.JWK) -> str:
    claims = {
        "sub": handoff["checkpoint_id"],
        "content_digest": handoff["content_digest"],
        "attempt": attempt,
    }
    token = jws.JWS(json.dumps(claims))
    token.allowed_algs = ["EdDSA"]
    token.add_signature(key, None, json.dumps({"alg": "EdDSA", "kid": key.thumbprint()}))
    return str(token.serialize(compact=True))


def sealed(rows: dict[str, list[Row]], key: Ed25519PrivateKey) -> None:
    """Places for all entries, two heads, signed."""
    hashes = []
    for index, entry in enumerate(rows["audit"]):
        raw = bytes.fromhex(entry["digest"].removeprefix("sha256:"))
        hashes.append(hashlib.sha256(b"\x00" + raw).digest())
        rows["leaf"].append({"leaf_index": index, "entry_id": entry["id"], "leaf_hash": hashes[-1]})
    roots = roots_of(hashes)
    for size in (3, len(hashes)):
        rows["head"].append({"size": size, "root": roots[size - 1], "note": note(size, roots[size - 1], key)})


def note(size: int, root: bytes, key: Ed25519PrivateKey) -> str:
    text = f"test/audit\n{size}\n{base64.b64encode(root).decode()}\n"
    signature = base64.b64encode(b"hash" + key.sign(text.encode())).decode()
    return f"{text}\n\u2014 test/audit {signature}\n"


def kept() -> History:
    """A run in which everything happened and nothing went wrong."""
    scene, ticket_key, sealer = (
        Scene(),
        jwk.JWK.generate(kty="OKP", crv="Ed25519"),
        Ed25519PrivateKey.generate(),
    )
    cleared = scene.handoff(BY_CHECKS, target="bookkeeping")
    scene.judge(cleared, "cleared")
    scene.acknowledge(cleared, scene.dispatch(cleared, ticket_key), "ledger")
    scene.note("repeated", checkpoint_id=BY_CHECKS, request_key=f"r-{BY_CHECKS}", same=True)
    approved = scene.handoff(BY_PERSON, target="printing")
    scene.judge(approved, "flagged", risk="medium")
    scene.approve(approved, "ann")
    scene.acknowledge(approved, scene.dispatch(approved, ticket_key), "plain")
    waiting = scene.handoff(WAITING, target="printing")
    scene.judge(waiting, "flagged", risk="high")
    scene.judge(scene.handoff(REJECTED, target="printing"), "rejected")
    bad = sha256(b"{")
    scene.note(
        "refused", status=400, type="/problems/malformed-json", detail="", expected=True, body_digest=bad
    )
    scene.rows["refusal"].append(
        {"id": "r-1", "status": 400, "type": "/problems/malformed-json", "body_digest": bad}
    )
    scene.rows["account"] = [
        {"public_id": f"u_{name}", "username": name, "role": role} for name, role in PEOPLE.items()
    ]
    went = scene.second
    for number in range(6):
        scene.judge(scene.handoff(f"c-outage-{number}", target="printing"), "cleared")
    came_back = scene.second + 0.5
    waiting["review_deadline"] = at(scene.second + 900)
    scene.rows["clock"] = [{"now": at(scene.second + 5)}]
    sealed(scene.rows, sealer)
    return History(
        journal=scene.journal,
        effects=scene.effects,
        rows=scene.rows,
        jwks={"keys": [json.loads(ticket_key.export_public()) | {"kid": ticket_key.thumbprint()}]},
        sealer_key=sealer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
        heads="".join(f"{row['note']}\n" for row in scene.rows["head"]),
        outages=[(at(went).timestamp(), at(came_back).timestamp())],
    )
