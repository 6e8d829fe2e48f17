"""What changed since the checkpoint before, another of the session, or an earlier revision."""

from __future__ import annotations

import json

import pytest

from checkpoints.formats import reread
from checkpoints.services.bodies import current_body
from checkpoints.services.history import Case, collect_many, predecessor
from checkpoints.services.policy import active
from reviewqueue.diffs import compare
from reviewqueue.models import Role, Viewing
from reviewqueue.pages import changes, comparing
from reviewqueue.services.editing import edit
from tests.characters import document, flagged, fresh, judged, orchestrator, person, reload
from tests.visiting import detail_url, page_text, signed_in

pytestmark = pytest.mark.django_db

STEP = {
    "step_id": "price",
    "description": "Priced the repair",
    "output_reference": "artifact://runs/9/p.json",
}


def two_checkpoints(**changes):
    """The handoff of sequence 2, which has a step more and another constraint than that of sequence 1."""
    owner, session = orchestrator(), fresh("session")
    # One work's times in both: two documents made in different seconds differ in more than is meant here.
    same = {
        name: value for name, value in document().items() if name in ("completed_steps", "in_progress_step")
    }
    first = judged(
        owner, document(session_id=session, active_constraints=["pii_masking", "limit_500"], **same)
    )
    steps = [*same["completed_steps"], {**STEP, "completed_at": "2026-01-01T00:00:00Z"}]
    given = {**same, "completed_steps": steps, "active_constraints": ["pii_masking", "limit_900"], **changes}
    return first, flagged(owner, session_id=session, handoff_sequence=2, **given)


def compared(client, handoff, **query):
    return client.get(f"{detail_url(handoff)}diff/", query)


def test_the_page_of_a_handoff_says_what_changed_since_the_one_before(db):
    _, handoff = two_checkpoints()
    response = signed_in(person()).get(detail_url(handoff))
    words, body = page_text(response), response.content.decode()
    assert "Changed since sequence 1:" in words
    assert "completed steps , active constraints" in words.replace("<strong>", "")
    assert "2 · price added" in words
    assert "<mark><bdi hx-ignore>limit_500</bdi></mark>" in body
    assert "<mark><bdi hx-ignore>limit_900</bdi></mark>" in body
    assert "names, times and hashes differ, as in every checkpoint" in words


def test_the_compared_one_is_the_one_that_the_checks_compare_with(db):
    owner, session = orchestrator(), fresh("session")
    for sequence, role in ((1, "triage"), (2, "legal"), (3, "triage")):
        changes = {"session_id": session, "handoff_sequence": sequence, "agent_role": role}
        handoff = judged(owner, document(**changes))
    submission = reread(current_body(handoff=handoff))
    case = Case(handoff, submission, likeness="")
    known = collect_many(cases=[case], policy=active().compiled)[handoff.pk]
    before = predecessor(handoff=handoff)
    assert before is not None
    assert before.handoff_sequence == known.previous_sequence == 1


def test_a_first_checkpoint_has_nothing_to_be_compared_with(db):
    handoff = flagged(orchestrator())
    assert predecessor(handoff=handoff) is None
    client = signed_in(person())
    assert 'id="changes"' not in client.get(detail_url(handoff)).content.decode()
    assert "there is nothing to compare with" in page_text(compared(client, handoff))


def test_any_other_of_the_session_is_chosen_beside_it(db):
    first, second = two_checkpoints()
    client = signed_in(person())
    body = compared(client, first, against="2").content.decode()
    assert '<option value="2" selected>' in body
    assert "Changes since sequence 2" in body
    assert "2 · price" in body
    assert compared(client, second, against="3").status_code == 404
    assert compared(client, second, against="1 or 1=1").status_code == 400
    assert compared(client, second, against="r9").status_code == 404
    assert compared(client, second, other="1").status_code == 400
    fragment = client.get(f"{detail_url(second)}diff/", {"against": "1"}, headers={"HX-Request": "true"})
    assert fragment.content.decode().lstrip().startswith("<section")


def test_revisions_of_one_handoff_are_compared(db):
    handoff = flagged(orchestrator())
    changed = json.loads(current_body(handoff=handoff))
    changed["active_constraints"] = ["pii_masking", "two_people"]
    edit(
        handoff_id=handoff.pk,
        reviewer=person(),
        document=json.dumps(changed),
        reason="The constraint was missing",
        content_digest=handoff.content_digest,
        version=handoff.version,
    )
    handoff = reload(handoff)
    client = signed_in(person())
    page = client.get(detail_url(handoff)).content.decode()
    assert "diff/?against=r1&amp;revision=2" in page
    words = page_text(compared(client, handoff, against="r1", revision="2"))
    assert "Changes since revision 1" in words
    assert "two_people" in words
    assert "The same as" in words, "the patch is printed"


def test_looking_at_the_comparison_is_recorded(db):
    _, handoff = two_checkpoints()
    alice = person(name="alice")
    compared(signed_in(alice), handoff)
    assert Viewing.objects.get(handoff=handoff, viewer=alice).diff_opened_at is not None


def test_large_documents_are_compared_on_a_page_of_their_own_and_larger_ones_offered_as_files(db):
    owner, session = orchestrator(), fresh("session")
    outputs = [{"tool_name": "t", "call_id": f"c-{n}", "result_summary": "x" * 90} for n in range(900)]
    changed = [*outputs[:-1], {**outputs[-1], "result_summary": "y"}]
    judged(owner, document(session_id=session, tool_outputs=outputs, context_snapshot={"a": "x" * 30_000}))
    handoff = flagged(owner, session_id=session, handoff_sequence=2, tool_outputs=changed)
    client = signed_in(person())
    assert "too large to be compared on this page" in page_text(client.get(detail_url(handoff)))
    assert "900 · c-899" in page_text(compared(client, handoff))
    newer = comparing.current(handoff)
    found = comparing.build(comparing.older_side(handoff, newer, ""), newer, most=1000)
    assert found.large
    assert found.shown is None


def test_findings_say_since_when_they_stand(db):
    owner, session = orchestrator(), fresh("session")
    step = document()["completed_steps"][0]
    for sequence in (1, 2, 3):
        steps = [step] if sequence == 1 else [step, step]
        handoff = judged(
            owner, document(session_id=session, handoff_sequence=sequence, completed_steps=steps)
        )
        if sequence == 2:
            assert "new" in page_text(signed_in(person()).get(detail_url(handoff)))
    assert "since sequence 2" in page_text(signed_in(person()).get(detail_url(handoff)))


def test_the_stored_bytes_are_saved_exactly_and_never_shown(db):
    handoff = flagged(orchestrator())
    response = signed_in(person()).get(f"{detail_url(handoff)}raw/")
    assert response.content == current_body(handoff=handoff)
    assert response["Content-Disposition"].startswith("attachment")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert signed_in(person()).get(f"{detail_url(handoff)}raw/", {"revision": "2"}).status_code == 404
    assert signed_in(person(Role.ADMIN)).get(f"{detail_url(handoff)}raw/").status_code == 403


def test_the_whole_document_is_searched_beyond_what_the_page_shows(db):
    outputs = [{"tool_name": "t", "call_id": f"c-{n}", "result_summary": f"row {n}"} for n in range(900)]
    handoff = flagged(orchestrator(), tool_outputs=outputs)
    client = signed_in(person())
    assert "row 871" not in client.get(detail_url(handoff)).content.decode()
    response = client.get(f"{detail_url(handoff)}search/", {"q": "ROW 871"})
    assert "1 place" in page_text(response)
    assert "/tool_outputs/871/result_summary" in response.content.decode()
    assert "Nowhere" in page_text(client.get(f"{detail_url(handoff)}search/", {"q": "nothing like it"}))


def test_a_comparison_with_thousands_of_differences_shows_some_and_says_how_many_are_left(db):
    old = {"rows": [{"id": n, "value": 1, "other": n} for n in range(5000)]}
    new = {"rows": [{"id": n, "value": 2, "other": n} for n in range(5000)]}
    found = changes.shown(compare(old, new))
    assert (found.changed, found.left_out) == (300, 4700)
    assert len(found.rows) < 3 * 300 + 10
    assert found.same == 10_000
