"""Recording what somebody looked at: opened findings, the opened comparison, time with the page in front.

These rows serve people (a second look before an approval, a manager's question). They stand outside the audit
trail, because they say what was on a screen and change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import InvalidInput, NotFound, ProblemError
from checkpoints.models import CheckRun, Handoff
from checkpoints.services import clock
from reviewqueue.models import OpenedFinding, User, Viewing
from reviewqueue.services.access import Act, require

LONGEST_REPORT = 3600  # seconds that one report may add


@dataclass(frozen=True, slots=True)
class UnopenedFinding:
    """`number` is the finding's place in the run, from 1: the page has it under `#finding-<number>`."""

    number: int
    code: str
    pointer: str
    title: str


def newest_run(handoff: Handoff) -> CheckRun | None:
    """The run that judged the current revision, None while it is being checked."""
    return handoff.check_runs.filter(revision=handoff.revision).order_by("-finished_at").first()


def record_opened(*, handoff_id: UUID, revision: int, viewer: User, number: int, code: str) -> None:
    """This person opened the finding that stands at `number` (from 1) of the newest run. Again changes nothing.

    Raises NotAllowed (403), NotFound (404); InvalidInput (422) where the revision on the screen is not the
    current one or the newest run has another finding there.
    """
    with transaction.atomic(durable=True):
        viewing = _viewing(handoff_id, revision, viewer)
        found = _found(newest_run(viewing.handoff))
        if not 0 < number <= len(found) or found[number - 1]["code"] != code:
            raise _refused("number", f"Finding {number} of revision {revision} is not {code[:20]!r}.")
        pointer = found[number - 1].get("pointer") or ""
        row = OpenedFinding(viewing=viewing, code=code, pointer=pointer, at=clock.now())
        OpenedFinding.objects.bulk_create([row], ignore_conflicts=True)


def record_diff_opened(*, handoff_id: UUID, revision: int, viewer: User) -> None:
    """This person opened the comparison. The first time counts. Raises as `record_opened` does."""
    with transaction.atomic(durable=True):
        viewing = _viewing(handoff_id, revision, viewer)
        if viewing.diff_opened_at is None:
            viewing.diff_opened_at = clock.now()
            viewing.save(update_fields=["diff_opened_at"])


def record_dwell(*, handoff_id: UUID, revision: int, viewer: User, seconds: int) -> None:
    """Add time with the page in front; 0 says that it was opened. Never more than passed by our clock."""
    if not 0 <= seconds <= LONGEST_REPORT:
        raise _refused("seconds", f"“seconds” is a number from 0 to {LONGEST_REPORT}.")
    with transaction.atomic(durable=True):
        viewing = _viewing(handoff_id, revision, viewer)
        passed = int((clock.now() - viewing.first_at).total_seconds())
        viewing.seconds = min(viewing.seconds + seconds, passed)
        viewing.save(update_fields=["seconds"])


def opened_findings(*, handoff: Handoff, user: User) -> set[tuple[str, str]]:
    """(code, pointer) of what this person opened in the current revision."""
    rows = OpenedFinding.objects.filter(
        viewing__handoff=handoff, viewing__revision=handoff.revision, viewing__viewer=user
    )
    return set(rows.values_list("code", "pointer"))


def unopened_high_findings(*, handoff: Handoff, user: User) -> list[UnopenedFinding]:
    """The high findings of the current revision that this person has not opened, in the run's order."""
    opened = opened_findings(handoff=handoff, user=user)
    return [
        UnopenedFinding(number, item["code"], pointer, _title(item))
        for number, item in enumerate(_found(newest_run(handoff)), start=1)
        if item["severity"] == "high" and (item["code"], pointer := item.get("pointer") or "") not in opened
    ]


def _viewing(handoff_id: UUID, revision: int, viewer: User) -> Viewing:
    """The person's row for the current revision, locked."""
    require(viewer, Act.READ_BODIES)
    handoff = Handoff.objects.filter(pk=handoff_id).first()
    if handoff is None:
        raise NotFound("There is no such handoff.")
    if revision != handoff.revision:
        raise _refused("revision", f"Revision {revision} is not the current one; that is {handoff.revision}.")
    named = {"handoff": handoff, "revision": revision, "viewer": viewer}
    Viewing.objects.bulk_create([Viewing(**named, first_at=clock.now())], ignore_conflicts=True)
    found: Viewing = Viewing.objects.select_for_update(of=("self",)).select_related("handoff").get(**named)
    return found


def _found(run: CheckRun | None) -> list[dict[str, str]]:
    found: list[dict[str, str]] = run.findings if run else []
    return found


def _title(finding: dict[str, str]) -> str:
    entry = CATALOGUE.get(finding["code"])
    return entry.title if entry and finding.get("origin") != "reported" else finding.get("name", "")


def _refused(name: str, text: str) -> InvalidInput:
    return InvalidInput(text, slug="invalid-form", errors=[ProblemError(name, "invalid", text)])
