"""Proves from outside logs and an independent reading of the database that nothing was lost, doubled or skipped.

`check` is a pure function. tests/test_chaos_checker.py shows that each of its rules can fail.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import rfc8785
from jwcrypto import jwk, jws
from jwcrypto.common import JWException

from tools.chaos.chains import lawful, unbroken
from tools.chaos.records import History, Row, Violation
from tools.chaos.tree import sealed

type Rule = Callable[[History], Iterator[Violation]]

LATE: Final = timedelta(seconds=10)
"""How long after its time a deadline may stand unkept once everything runs again."""


def check(history: History) -> list[Violation]:
    """Every broken promise; [] where all were kept."""
    return [violation for rule in RULES for violation in rule(history)]


def stored(history: History) -> Iterator[Violation]:
    """I1: what was answered with 200 or 201 stands in the database with the bytes that were sent."""
    created: Counter[str] = Counter()
    for entry in history.of_kind("stored"):
        checkpoint_id = entry["checkpoint_id"]
        ids = {"checkpoint_id": checkpoint_id, "session_id": entry["session_id"]}
        handoff = history.by_checkpoint_id.get(checkpoint_id)
        if handoff is None:
            yield Violation("lost", f"answered with {entry['status']}, and not stored", ids)
            continue
        original = next(
            (row for row in history.by_handoff["checkpoint"][handoff["id"]] if row["revision"] == 1), None
        )
        if original is None or original["content"] is None:
            yield Violation("lost", "the handoff stands without the bytes that were sent", ids)
        elif {handoff["body_digest"], original["body_digest"], _sha256(original["content"])} != {
            entry["body_digest"]
        }:
            yield Violation("digest", "the stored bytes are not those that were sent", ids)
        if (handoff["session_id"], handoff["handoff_sequence"]) != (
            entry["session_id"],
            entry["handoff_sequence"],
        ):
            yield Violation("digest", "session or sequence are not those of the answer", ids)
        created[checkpoint_id] += entry["status"] == 201
    for checkpoint_id, count in created.items():
        if count > 1:
            yield Violation("double", f"created {count} times", {"checkpoint_id": checkpoint_id})


def contents(history: History) -> Iterator[Violation]:
    """Every revision's digests fit its bytes."""
    for row in history.rows["checkpoint"]:
        if row["content"] is None:
            continue
        if row["body_digest"] != _sha256(row["content"]) or row["content_digest"] != _content_digest(
            row["content"]
        ):
            ids = {"handoff": str(row["handoff_id"]), "revision": row["revision"]}
            yield Violation("digest", "a digest does not fit the stored bytes", ids)


def named_once(history: History) -> Iterator[Violation]:
    """The same unnamed bytes of a session have one name, however often they were posted; sequences have no gap."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for entry in history.of_kind("stored"):
        if not entry["named"]:
            names[entry["session_id"], entry["body_digest"]].add(entry["checkpoint_id"])
    for handoff in history.rows["handoff"]:
        key = (handoff["session_id"], handoff["body_digest"])
        if handoff["id_assigned"] and key in names:
            names[key].add(handoff["checkpoint_id"])
    for (session_id, _), found in names.items():
        if len(found) > 1:
            yield Violation(
                "double", f"one document got the names {sorted(found)}", {"session_id": session_id}
            )
    sequences: dict[str, list[int]] = defaultdict(list)
    for handoff in history.rows["handoff"]:
        sequences[handoff["session_id"]].append(handoff["handoff_sequence"])
    for session_id, numbers in sequences.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield Violation("gap", f"sequences {sorted(numbers)}", {"session_id": session_id})


def refused(history: History) -> Iterator[Violation]:
    """What was refused was refused on purpose, and its bytes' digest stands in quarantine."""
    kept = {(row["status"], row["type"], row["body_digest"]) for row in history.rows["refusal"]}
    for entry in history.of_kind("refused"):
        ids = {"body_digest": entry["body_digest"], "type": entry["type"]}
        if not entry["expected"]:
            yield Violation("refused", f"a repeat or a good document was refused: {entry['detail']}", ids)
        elif (entry["status"], entry["type"], entry["body_digest"]) not in kept:
            yield Violation("lost", "a refusal is not kept", ids)


def settled(history: History) -> Iterator[Violation]:
    """I2: everything has a verdict, and no deadline that is over stands unkept."""
    now = history.rows["clock"][0]["now"]
    for handoff in history.rows["handoff"]:
        ids = {"checkpoint_id": handoff["checkpoint_id"]}
        state = handoff["state"]
        if state == "received":
            yield Violation("stuck", "still without a verdict", ids)
        elif state == "dispatched" and handoff["acknowledge_by"] < now - LATE:
            yield Violation("stuck", f"unacknowledged since {handoff['acknowledge_by']}", ids)
        elif state == "flagged" and handoff["review_deadline"] < now - LATE:
            yield Violation("stuck", f"undecided since {handoff['review_deadline']}", ids)
        open_attempts = [
            row for row in history.by_handoff["attempt"][handoff["id"]] if row["ended_at"] is None
        ]
        if len(open_attempts) != (state == "dispatched"):
            yield Violation("stuck", f"{state}, with {len(open_attempts)} attempts in flight", ids)


def gated(history: History) -> Iterator[Violation]:
    """I3: cleared and sent content has a complete cleared run, or a ticket of enough people for exactly it."""
    for handoff in history.rows["handoff"]:
        ids = {"checkpoint_id": handoff["checkpoint_id"]}
        tickets = history.by_handoff["ticket"][handoff["id"]]
        if handoff["state"] == "cleared" and not _cleared(history, handoff["id"], handoff["revision"]):
            yield Violation("gate", "cleared without a complete check run", ids)
        live = {row["reference"] for row in tickets if row["revoked_at"] is None}
        if handoff["state"] == "approved" and handoff["approval_ticket_reference"] not in live:
            yield Violation("gate", "approved without a live ticket", ids)
        for attempt in history.by_handoff["attempt"][handoff["id"]]:
            wanted = (attempt["revision"], attempt["content_digest"])
            ticketed = any(
                (row["revision"], row["content_digest"]) == wanted
                and row["redeemed_at"] is not None
                and row["redeemed_at"] <= attempt["dispatched_at"]
                for row in tickets
            )
            if not ticketed and not _cleared(history, handoff["id"], attempt["revision"]):
                text = f"attempt {attempt['number']} went out without a complete run or a ticket"
                yield Violation("gate", text, ids)
        for ticket in tickets:
            yield from _approvers(history, handoff, ticket)


def _approvers(history: History, handoff: Row, ticket: Row) -> Iterator[Violation]:
    """A ticket names as many people as its risk needs, and each of them decided on its content."""
    risk = _risk(history, handoff["id"], ticket["revision"])
    people = {item["id"] for item in ticket["approvers"]}
    decided = {
        row["actor_id"]
        for row in history.by_handoff["decision"][handoff["id"]]
        if row["action"] == "approve" and row["content_digest"] == ticket["content_digest"]
    }
    senior = any(item["role"] == "senior_operator" for item in ticket["approvers"])
    enough = len(people) >= _people_needed(risk) and (senior or risk != "high")
    if not enough or not people <= decided:
        ids = {"checkpoint_id": handoff["checkpoint_id"], "ticket": ticket["reference"]}
        yield Violation(
            "gate", f"a ticket at {risk} risk with {sorted(people)}, decided by {sorted(decided)}", ids
        )


def effects(history: History) -> Iterator[Violation]:
    """I5: one effect per attempt, one per key at the receiver with a ledger, none that was not asked for."""
    asked = {(entry["checkpoint_id"], entry["attempt"]): entry for entry in history.of_kind("dispatched")}
    per_attempt: Counter[tuple[str, str, int]] = Counter()
    per_key: Counter[str] = Counter()
    for effect in history.effects:
        ids = {"checkpoint_id": effect["checkpoint_id"], "attempt": effect["attempt"]}
        per_attempt[effect["receiver"], effect["checkpoint_id"], effect["attempt"]] += 1
        if effect["receiver"] == "ledger":
            per_key[effect["key"]] += 1
        answer, row = asked.get((effect["checkpoint_id"], effect["attempt"])), history.attempt(**_of(effect))
        if answer is None or row is None:
            yield Violation("unasked effect", "an effect without a dispatch", ids)
        elif len({effect["digest"], answer["content_digest"], row["content_digest"]}) > 1:
            yield Violation("digest", "the receiver got other content than was dispatched", ids)
    for (receiver, checkpoint_id, attempt), count in per_attempt.items():
        if count > 1:
            ids = {"checkpoint_id": checkpoint_id, "attempt": attempt}
            yield Violation("double", f"{count} effects of one attempt at the receiver {receiver}", ids)
    for key, count in per_key.items():
        if count > 1:
            yield Violation("double", f"{count} effects under one key", {"key": key})


def dispatches(history: History) -> Iterator[Violation]:
    """Every dispatch answer is one attempt; its ticket verifies; a handoff keeps its key, and shares it with nobody."""
    keys: dict[str, set[str]] = defaultdict(set)
    owners: dict[str, set[str]] = defaultdict(set)
    answers: Counter[tuple[str, int]] = Counter()
    ring = jwk.JWKSet.from_json(json.dumps(history.jwks))
    for entry in history.of_kind("dispatched"):
        ids = {"checkpoint_id": entry["checkpoint_id"], "attempt": entry["attempt"]}
        keys[entry["checkpoint_id"]].add(entry["key"])
        owners[entry["key"]].add(entry["checkpoint_id"])
        answers[entry["checkpoint_id"], entry["attempt"]] += 1
        row = history.attempt(**_of(entry))
        if row is None or (row["revision"], row["content_digest"]) != (
            entry["revision"],
            entry["content_digest"],
        ):
            yield Violation("lost", "a dispatch was answered and its attempt is not stored as answered", ids)
        if entry["ticket"] and (problem := _ticket_fault(entry, ring)):
            yield Violation("gate", f"the ticket of a dispatch: {problem}", ids)
    for (checkpoint_id, attempt), count in answers.items():
        if count > 1:
            ids = {"checkpoint_id": checkpoint_id, "attempt": attempt}
            yield Violation("double", f"one attempt was given to {count} askers", ids)
    for mapping, text in ((keys, "idempotency keys"), (owners, "handoffs under one idempotency key")):
        for name, found in mapping.items():
            if len(found) > 1:
                yield Violation("double", f"{len(found)} {text}: {sorted(found)}", {"name": name})
    for entry in history.of_kind("repeated"):
        if not entry["same"]:
            ids = {"checkpoint_id": entry["checkpoint_id"], "request_key": entry["request_key"]}
            yield Violation("double", "the same Idempotency-Key got another answer", ids)


def _ticket_fault(entry: Row, ring: jwk.JWKSet) -> str | None:
    token = jws.JWS()
    try:
        token.deserialize(entry["ticket"])
        token.allowed_algs = ["Ed25519", "EdDSA"]
        token.verify(ring)
    except JWException as error:
        return f"it does not verify ({error})"
    claims = json.loads(token.payload)
    wanted = {
        "sub": entry["checkpoint_id"],
        "content_digest": entry["content_digest"],
        "attempt": entry["attempt"],
    }
    wrong = {name: claims.get(name) for name, value in wanted.items() if claims.get(name) != value}
    return f"its claims say {wrong}" if wrong else None


REPORTED: Final[dict[str, set[str | None]]] = {
    "ack": {"acknowledged"},
    "fail": {"failed", "timed_out", "acknowledged"},  # a late acknowledgement counts after a failure
    "refuse": {"refused"},
    "cancel": {"cancelled", "acknowledged", "failed", "timed_out", "refused", None},
}


def reports(history: History) -> Iterator[Violation]:
    """What a report was answered 200 for has happened to its attempt."""
    for entry in history.of_kind("reported"):
        ids = {"checkpoint_id": entry["checkpoint_id"], "attempt": entry["attempt"], "verb": entry["verb"]}
        row, handoff = history.attempt(**_of(entry)), history.by_checkpoint_id.get(entry["checkpoint_id"])
        if row is None or handoff is None or row["outcome"] not in REPORTED[entry["verb"]]:
            yield Violation("lost", f"reported, and the attempt ended as {row and row['outcome']}", ids)
        elif {"ack": "acknowledged", "cancel": "cancelled"}.get(entry["verb"], handoff["state"]) != handoff[
            "state"
        ]:
            yield Violation("lost", f"reported, and the handoff is {handoff['state']}", ids)


def decisions(history: History) -> Iterator[Violation]:
    """I4: at most one effective decision per handoff, revision and round; none that a person was told of is lost."""
    people = {row["username"]: row["public_id"] for row in history.rows["account"]}
    acts = Counter(
        (str(row["handoff_id"]), row["actor_id"], row["action"], row["content_digest"])
        for row in history.rows["decision"]
    )
    shown = {
        (row["handoff_id"], row["revision"]): row["content_digest"] for row in history.rows["checkpoint"]
    }
    # An approval for the fallback role binds to the revision that it derives; the page showed the one before.
    acts |= Counter(
        (
            str(row["handoff_id"]),
            row["actor_id"],
            "approve",
            shown.get((row["handoff_id"], row["revision"] - 1)),
        )
        for row in history.rows["decision"]
        if row["action"] == "approve" and row["target"] == "fallback"
    )
    for entry in history.of_kind("decided"):
        if entry["content_digest"] is None:  # claims, releases, undos and reopenings carry no digest
            continue
        person, action = people[entry["username"]], entry["action"].strip("/")
        if not acts[entry["handoff"], person, action, entry["content_digest"]]:
            yield Violation(
                "lost",
                f"{entry['username']} was told {action}: 303, and no decision stands",
                {"handoff": entry["handoff"]},
            )
    groups: dict[tuple[Any, int, int], list[Row]] = defaultdict(list)
    for row in history.rows["decision"]:
        groups[row["handoff_id"], row["revision"], row["round"]].append(row)
    for (handoff_id, revision, number), rows in groups.items():
        problem = _decisions_fault(history, handoff_id, revision, rows)
        if problem:
            ids = {"handoff": str(handoff_id), "revision": revision, "round": number}
            yield Violation("decisions", problem, ids)


def _decisions_fault(history: History, handoff_id: Any, revision: int, rows: list[Row]) -> str | None:
    approvals = [row for row in rows if row["action"] == "approve"]
    needed = _people_needed(_risk(history, handoff_id, revision))
    if len({row["actor_id"] for row in approvals}) < len(approvals):
        return "one person approved twice"
    if len(approvals) > needed:
        return f"{len(approvals)} approvals where {needed} are needed"
    last = approvals[-1]["at"] if approvals else None
    tickets = history.by_handoff["ticket"][handoff_id]
    stands = any(row["decided_at"] == last and row["revoked_at"] is None for row in tickets)
    ends = sum(row["action"] in ("abort", "send_back", "edit") for row in rows)
    return f"{ends + stands} decisions took effect" if ends + stands > 1 else None


def unbroken_service(history: History) -> Iterator[Violation]:
    """A server whose parts are away says 503; any other 5xx is a fault of the product."""
    for entry in history.of_kind("broken"):
        yield Violation(
            "broken",
            f"{entry['method']} answered {entry['status']}: {entry['body']}",
            {"path": entry["path"]},
        )


def without_broker(history: History) -> Iterator[Violation]:
    """While there is no broker every post is stored at once, and posts go on to the end of it."""
    for went, came_back in history.outages:
        ids = {"went": went, "came_back": came_back}
        for entry in history.of_kind("away"):
            if went < entry["at"] < came_back and entry["path"].startswith("/api/v1/checkpoints"):
                yield Violation("broker", "a post was answered 503 because the broker was away", ids)
        third = (came_back - went) / 3
        created = [entry["at"] for entry in history.of_kind("stored") if entry["status"] == 201]
        for part in range(3):
            begins = went + part * third
            if not any(begins <= at < begins + third for at in created):
                yield Violation("broker", f"nothing was stored in part {part + 1} of 3 of the outage", ids)


def complete(history: History) -> Iterator[Violation]:
    """A run proves something only where everything happened, every crash point included."""
    for name in history.points_missing:
        yield Violation("point", f"the crash point {name} was never hit", {"point": name})
    done = {entry["kind"] for entry in history.journal} | {effect["receiver"] for effect in history.effects}
    for kind in ("stored", "refused", "dispatched", "repeated", "reported", "decided", "ledger", "plain"):
        if kind not in done:
            yield Violation("thin", f"nothing of the kind {kind!r} happened", {})


RULES: Final[tuple[Rule, ...]] = (
    stored, contents, named_once, refused, settled, gated, effects, dispatches, reports, decisions, unbroken, lawful,
    sealed, unbroken_service, without_broker, complete,
)  # fmt: skip


def _of(entry: Row) -> dict[str, Any]:
    return {"checkpoint_id": entry["checkpoint_id"], "number": entry["attempt"]}


def _cleared(history: History, handoff_id: Any, revision: int) -> bool:
    return any(
        row["revision"] == revision and row["complete"] and row["outcome"] == "cleared"
        for row in history.by_handoff["check_run"][handoff_id]
    )


def _risk(history: History, handoff_id: Any, revision: int) -> str:
    runs = [row for row in history.by_handoff["check_run"][handoff_id] if row["revision"] == revision]
    return str(runs[-1]["risk"]) if runs else "high"


def _people_needed(risk: str) -> int:
    """The defaults of contract §8, which the run's policies leave as they are."""
    return 2 if risk == "high" else 1


def _sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(bytes(content)).hexdigest()


def _content_digest(content: bytes) -> str:
    """Contract §2.8: over the canonical payload of an envelope, or the whole flat document."""
    document = json.loads(bytes(content))
    payload = document.get("payload")
    return _sha256(rfc8785.dumps(payload if isinstance(payload, dict) else document))
