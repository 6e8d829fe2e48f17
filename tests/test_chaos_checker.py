"""The checker of `make chaos` can fail: a run with every promise kept passes it, each doctored one does not."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.chaos_history import (
    BY_CHECKS,
    BY_PERSON,
    REJECTED,
    TICKET,
    WAITING,
    at,
    kept,
    sha256,
)
from tools.chaos import points
from tools.chaos.chains import commitment, digest
from tools.chaos.checker import check
from tools.chaos.records import History

ROOT = Path(__file__).resolve().parent.parent

type Doctor = Callable[[History], None]


def row(history: History, table: str, **wanted: Any) -> dict[str, Any]:
    """The only row of a table with these values."""
    (found,) = (item for item in history.rows[table] if wanted.items() <= item.items())
    return found


def told(history: History, kind: str, **wanted: Any) -> dict[str, Any]:
    """The first entry of a client's journal with these values."""
    return next(item for item in history.of_kind(kind) if wanted.items() <= item.items())


def handoff(history: History, checkpoint_id: str) -> dict[str, Any]:
    return row(history, "handoff", checkpoint_id=checkpoint_id)


def chain(history: History, checkpoint_id: str) -> list[dict[str, Any]]:
    name = handoff(history, checkpoint_id)["id"]
    return [item for item in history.rows["audit"] if item["subject_id"] == name]


def drop(history: History, table: str, **wanted: Any) -> None:
    history.rows[table].remove(row(history, table, **wanted))


def relink(entries: list[dict[str, Any]]) -> None:
    """What a forger with the database in hand would do: every digest of the chain anew."""
    previous = None
    for place, entry in enumerate(entries):
        entry["subject_index"], entry["previous_digest"] = place, previous
        entry["text_commitment"] = commitment(entry)
        previous = entry["digest"] = digest(entry)


# I1: what was answered stands


def lose_a_stored_one(history: History) -> None:
    drop(history, "handoff", checkpoint_id=REJECTED)


def lose_its_bytes(history: History) -> None:
    row(history, "checkpoint", handoff_id=f"h-{WAITING}")["content"] = None


def change_its_bytes(history: History) -> None:
    stored = row(history, "checkpoint", handoff_id=f"h-{WAITING}")
    stored["content"] = stored["content"].replace(b"printing", b"bookkeep")


def change_its_bytes_and_digests(history: History) -> None:
    stored, owner = row(history, "checkpoint", handoff_id=f"h-{WAITING}"), handoff(history, WAITING)
    stored["content"] = stored["content"] + b" "
    stored["body_digest"] = owner["body_digest"] = sha256(stored["content"])


def change_a_content_digest(history: History) -> None:
    row(history, "checkpoint", handoff_id=f"h-{WAITING}")["content_digest"] = sha256(b"other")


def change_a_sequence(history: History) -> None:
    handoff(history, WAITING)["handoff_sequence"] = 2


def create_twice(history: History) -> None:
    history.journal.append(dict(told(history, "stored", checkpoint_id=WAITING)))


def give_one_document_two_names(history: History) -> None:
    first = told(history, "stored", checkpoint_id=WAITING)
    first["named"] = False
    history.journal.append({**first, "status": 200, "checkpoint_id": REJECTED})


def lose_a_refusal(history: History) -> None:
    history.rows["refusal"].clear()


def refuse_a_good_one(history: History) -> None:
    told(history, "refused")["expected"] = False


# I2: everything comes to an end


def leave_one_without_verdict(history: History) -> None:
    handoff(history, WAITING)["state"] = "received"


def leave_a_deadline_unkept(history: History) -> None:
    handoff(history, WAITING)["review_deadline"] = at(-60)


def leave_an_attempt_open(history: History) -> None:
    row(history, "attempt", handoff_id=f"h-{BY_CHECKS}")["ended_at"] = None


def leave_an_acknowledgement_awaited(history: History) -> None:
    sent = row(history, "attempt", handoff_id=f"h-{BY_CHECKS}")
    sent["ended_at"] = sent["outcome"] = None
    handoff(history, BY_CHECKS).update(state="dispatched", acknowledge_by=at(-60))


# I3: nothing goes out that was not let through


def clear_without_a_run(history: History) -> None:
    drop(history, "check_run", handoff_id="h-c-outage-0")


def clear_with_a_broken_run(history: History) -> None:
    row(history, "check_run", handoff_id="h-c-outage-0")["complete"] = False


def send_without_a_run(history: History) -> None:
    row(history, "check_run", handoff_id=f"h-{BY_CHECKS}")["outcome"] = "flagged"


def send_other_content_than_the_ticket_s(history: History) -> None:
    row(history, "ticket", reference=TICKET)["content_digest"] = sha256(b"other")


def redeem_after_sending(history: History) -> None:
    row(history, "ticket", reference=TICKET)["redeemed_at"] += timedelta(seconds=1)


def approve_high_risk_alone(history: History) -> None:
    row(history, "check_run", handoff_id=f"h-{BY_PERSON}")["risk"] = "high"


def name_a_person_who_did_not_decide(history: History) -> None:
    row(history, "ticket", reference=TICKET)["approvers"] = [{"id": "u_sam", "role": "senior_operator"}]


def revoke_a_live_approval(history: History) -> None:
    handoff(history, BY_PERSON)["state"] = "approved"
    row(history, "ticket", reference=TICKET)["revoked_at"] = at(1)


def forge_a_ticket(history: History) -> None:
    entry = told(history, "dispatched", checkpoint_id=BY_PERSON)
    head, _, signature = entry["ticket"].split(".")
    claims = base64.urlsafe_b64encode(b'{"sub": "somebody else"}').decode().rstrip("=")
    entry["ticket"] = f"{head}.{claims}.{signature}"


def carry_a_ticket_of_another_attempt(history: History) -> None:
    entry = told(history, "dispatched", checkpoint_id=BY_PERSON)
    entry["attempt"] = 2
    sent = row(history, "attempt", handoff_id=f"h-{BY_PERSON}")
    history.rows["attempt"].append({**sent, "number": 2})


# I4: decisions


def lose_a_decision(history: History) -> None:
    history.rows["decision"].clear()


def approve_twice_alone(history: History) -> None:
    history.rows["decision"].append(dict(row(history, "decision", actor_id="u_ann")))


def approve_once_too_often(history: History) -> None:
    first = row(history, "decision", actor_id="u_ann")
    history.rows["decision"].append({**first, "actor_id": "u_sam", "role": "senior_operator"})


def abort_beside_an_approval(history: History) -> None:
    first = row(history, "decision", actor_id="u_ann")
    history.rows["decision"].append({**first, "actor_id": "u_sam", "action": "abort"})


# I5: effects


def have_two_effects_of_an_attempt(history: History) -> None:
    history.effects.append(dict(history.effects[1]))


def have_two_effects_under_a_key(history: History) -> None:
    other = dict(history.effects[0], attempt=2)
    history.effects.append(other)


def have_an_effect_unasked(history: History) -> None:
    history.effects.append(dict(history.effects[1], checkpoint_id=WAITING, key="k-else"))


def deliver_other_content(history: History) -> None:
    history.effects[1]["digest"] = sha256(b"other")


def give_an_attempt_to_two(history: History) -> None:
    history.journal.append({**told(history, "dispatched", checkpoint_id=BY_CHECKS), "request_key": "r-else"})


def change_a_key(history: History) -> None:
    history.journal.append(
        {**told(history, "dispatched", checkpoint_id=BY_CHECKS), "attempt": 2, "key": "k-else"}
    )


def share_a_key(history: History) -> None:
    told(history, "dispatched", checkpoint_id=BY_PERSON)["key"] = f"k-{BY_CHECKS}"


def lose_an_attempt(history: History) -> None:
    drop(history, "attempt", handoff_id=f"h-{BY_PERSON}")


def answer_a_repeat_otherwise(history: History) -> None:
    told(history, "repeated")["same"] = False


def lose_an_acknowledgement(history: History) -> None:
    handoff(history, BY_CHECKS)["state"] = "recoverable"


def lose_how_an_attempt_ended(history: History) -> None:
    row(history, "attempt", handoff_id=f"h-{BY_CHECKS}")["outcome"] = "timed_out"


# I6: the trail


def lose_an_entry(history: History) -> None:
    history.rows["audit"].remove(chain(history, BY_PERSON)[1])


def lose_the_last_entry(history: History) -> None:
    history.rows["audit"].remove(chain(history, BY_PERSON)[-1])


def swap_two_entries(history: History) -> None:
    first, second = chain(history, BY_PERSON)[1:3]
    first["subject_index"], second["subject_index"] = second["subject_index"], first["subject_index"]


def rewrite_an_entry(history: History) -> None:
    chain(history, BY_PERSON)[2]["actor_id"] = "u_sam"


def rewrite_a_text(history: History) -> None:
    chain(history, BY_PERSON)[2]["reason"] = "Looked fine"


def erase_a_text(history: History) -> None:
    chain(history, BY_PERSON)[2]["salt"] = None


def rewrite_a_chain_with_all_its_digests(history: History) -> None:
    entries = chain(history, BY_PERSON)
    entries[2]["actor_id"] = "u_sam"
    relink(entries)


def take_a_forbidden_step(history: History) -> None:
    entries = chain(history, BY_PERSON)
    entries[1]["after"] = entries[2]["before"] = {"state": "rejected"}
    relink(entries)


def skip_the_approval(history: History) -> None:
    entries = chain(history, BY_PERSON)
    entries[2]["action"] = "handoff.waved_through"
    relink(entries)


def send_more_often_than_retries_allow(history: History) -> None:
    handoff(history, BY_CHECKS)["max_retries"] = -1


def end_in_another_state(history: History) -> None:
    handoff(history, REJECTED)["state"] = "aborted"


def speak_of_nobody(history: History) -> None:
    history.rows["audit"][0]["subject_id"] = "h-nobody"


# The tree


def leave_an_entry_unsealed(history: History) -> None:
    history.rows["leaf"].pop()


def leave_a_hole(history: History) -> None:
    for leaf in history.rows["leaf"][4:]:
        leaf["leaf_index"] += 1


def seal_twice(history: History) -> None:
    history.rows["leaf"][4]["entry_id"] = history.rows["leaf"][3]["entry_id"]


def change_a_leaf(history: History) -> None:
    history.rows["leaf"][4]["leaf_hash"] = b"x" * 32


def change_a_root(history: History) -> None:
    history.rows["head"][0]["root"] = b"x" * 32


def forge_a_head(history: History) -> None:
    head = history.rows["head"][0]
    text, _, signature = head["note"].partition("\n\n")
    name, origin, encoded = signature.split()
    raw = bytearray(base64.b64decode(encoded))
    raw[-1] ^= 1
    head["note"] = f"{text}\n\n{name} {origin} {base64.b64encode(bytes(raw)).decode()}\n"


def publish_a_head_of_another_tree(history: History) -> None:
    other = kept()  # another key, too
    history.heads = other.heads


def publish_more_than_is_sealed(history: History) -> None:
    history.rows["leaf"].pop()
    history.rows["audit"].remove(history.rows["audit"][-1])
    history.rows["head"].pop()


# The service, and the run itself


def answer_500(history: History) -> None:
    history.journal.append(
        {"kind": "broken", "at": 0, "method": "GET", "path": "/queue/", "status": 500, "body": "Oops"}
    )


def refuse_posts_without_a_broker(history: History) -> None:
    went, came_back = history.outages[0]
    history.journal.append(
        {"kind": "away", "at": (went + came_back) / 2, "path": "/api/v1/checkpoints", "status": 503}
    )


def store_nothing_without_a_broker(history: History) -> None:
    went, came_back = history.outages[0]
    for entry in history.of_kind("stored"):
        if went + (came_back - went) / 3 < entry["at"] < came_back:
            history.journal.remove(entry)


def miss_a_point(history: History) -> None:
    history.points_missing.append("ack.before_commit")


def run_without_orchestrators(history: History) -> None:
    history.journal = [item for item in history.journal if item["kind"] != "repeated"]


DOCTORED: list[tuple[Doctor, str]] = [
    (lose_a_stored_one, "lost"),
    (lose_its_bytes, "lost"),
    (change_its_bytes, "digest"),
    (change_its_bytes_and_digests, "digest"),
    (change_a_content_digest, "digest"),
    (change_a_sequence, "gap"),
    (create_twice, "double"),
    (give_one_document_two_names, "double"),
    (lose_a_refusal, "lost"),
    (refuse_a_good_one, "refused"),
    (leave_one_without_verdict, "stuck"),
    (leave_a_deadline_unkept, "stuck"),
    (leave_an_attempt_open, "stuck"),
    (leave_an_acknowledgement_awaited, "stuck"),
    (clear_without_a_run, "gate"),
    (clear_with_a_broken_run, "gate"),
    (send_without_a_run, "gate"),
    (send_other_content_than_the_ticket_s, "gate"),
    (redeem_after_sending, "gate"),
    (approve_high_risk_alone, "gate"),
    (name_a_person_who_did_not_decide, "gate"),
    (revoke_a_live_approval, "gate"),
    (forge_a_ticket, "gate"),
    (carry_a_ticket_of_another_attempt, "gate"),
    (lose_a_decision, "lost"),
    (approve_twice_alone, "decisions"),
    (approve_once_too_often, "decisions"),
    (abort_beside_an_approval, "decisions"),
    (have_two_effects_of_an_attempt, "double"),
    (have_two_effects_under_a_key, "double"),
    (have_an_effect_unasked, "unasked effect"),
    (deliver_other_content, "digest"),
    (give_an_attempt_to_two, "double"),
    (change_a_key, "double"),
    (share_a_key, "double"),
    (lose_an_attempt, "lost"),
    (answer_a_repeat_otherwise, "double"),
    (lose_an_acknowledgement, "lost"),
    (lose_how_an_attempt_ended, "lost"),
    (lose_an_entry, "audit chain"),
    (lose_the_last_entry, "story"),
    (swap_two_entries, "audit chain"),
    (rewrite_an_entry, "audit chain"),
    (rewrite_a_text, "audit chain"),
    (erase_a_text, "audit chain"),
    (rewrite_a_chain_with_all_its_digests, "audit chain"),
    (take_a_forbidden_step, "story"),
    (skip_the_approval, "story"),
    (send_more_often_than_retries_allow, "story"),
    (end_in_another_state, "story"),
    (speak_of_nobody, "story"),
    (leave_an_entry_unsealed, "gap"),
    (leave_a_hole, "gap"),
    (seal_twice, "double"),
    (change_a_leaf, "audit chain"),
    (change_a_root, "audit chain"),
    (forge_a_head, "audit chain"),
    (publish_a_head_of_another_tree, "audit chain"),
    (publish_more_than_is_sealed, "audit chain"),
    (answer_500, "broken"),
    (refuse_posts_without_a_broker, "broker"),
    (store_nothing_without_a_broker, "broker"),
    (miss_a_point, "point"),
    (run_without_orchestrators, "thin"),
]


def test_a_run_that_kept_every_promise_passes() -> None:
    assert check(kept()) == []


@pytest.mark.parametrize(("doctor", "rule"), DOCTORED, ids=[doctor.__name__ for doctor, _ in DOCTORED])
def test_a_doctored_run_fails(doctor: Doctor, rule: str) -> None:
    history = kept()
    doctor(history)
    broken = {violation.rule for violation in check(history)}
    assert rule in broken, f"the checker saw {broken or 'nothing'}"


def test_every_rule_that_the_checker_can_break_has_a_doctored_run() -> None:
    files = [ROOT / "tools" / "chaos" / name for name in ("checker.py", "chains.py", "tree.py")]
    text = "".join(file.read_text() for file in files)
    rules = set(re.findall(r'Violation\(\s*"([a-z ]+)"', text))
    assert rules == {rule for _, rule in DOCTORED}


def test_every_crash_point_of_the_product_is_among_those_that_a_run_must_hit() -> None:
    found = set()
    for half in ("checkpoints", "reviewqueue"):
        for file in (ROOT / half).rglob("*.py"):
            found |= set(re.findall(r'\bfault\("([a-z._]+)"\)', file.read_text()))
    # Admission names its own by who stores: one post or a batch.
    found |= {f"{act}.{side}_commit" for act in ("admission", "batch") for side in ("before", "after")}
    assert found == points.ALL
