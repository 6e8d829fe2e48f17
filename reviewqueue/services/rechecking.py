"""What an edit would mean, before it is saved: findings, digest, patch, and repairs that would help. Stores nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jsonpatch
import orjson

from checkpoints.checks import tokens
from checkpoints.errors import InvalidInput, ProblemError
from checkpoints.formats import is_envelope, reread
from checkpoints.handoffs.likeness import likeness
from checkpoints.models import Handoff
from checkpoints.policies import judge
from checkpoints.services.bodies import current_body
from checkpoints.services.history import Case, collect_many
from checkpoints.services.policy import of_version
from checkpoints.types import CheckContext, Disposition, JSONObject, JSONValue, Judgement, Submission
from reviewqueue.repairs import Repair, Sources, fields, proposals
from reviewqueue.services.editing import parsed, whole_of
from reviewqueue.services.viewing import newest_run

MOST_TRIED = 40  # repairs that are judged for one page
MOST_LINES, LINE = 40, 400  # of a patch that is shown
HANDOFF = "handoff/1"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A repair that takes its finding away and brings no other. `key` names it for this very text."""

    key: str
    code: str
    pointer: str
    title: str
    patch: list[JSONObject]
    text: str  # the document with it


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What the checks say of an edited text that was not saved."""

    text: str
    changed: bool
    rejected: bool
    outcome: str
    risk: str
    approvals_required: int
    content_digest: str
    patch: list[JSONObject]
    gone: list[dict[str, Any]]
    new: list[dict[str, Any]]
    same: list[dict[str, Any]]
    suggestions: list[Suggestion]


def recheck(*, handoff: Handoff, document: str) -> Rechecked:
    """Judge the text of an editor as saving would. Raises InvalidInput (422) for what could not be saved at all."""
    edited = parsed(document)
    before: JSONObject = orjson.loads(current_body(handoff=handoff))
    whole = whole_of(handoff=handoff, edited=edited)
    submission, context = _collected(handoff, whole)
    judgement = judge(submission, context)
    gone, new, same = compared(_stored_findings(handoff), [_as_json(item) for item in judgement.findings])
    return Rechecked(
        text=document,
        changed=whole != before,
        rejected=any(item.disposition is Disposition.REJECT for item in judgement.findings),
        outcome=judgement.outcome.value,
        risk=judgement.risk.value,
        approvals_required=judgement.approvals_required,
        content_digest=submission.content_digest,
        patch=[*jsonpatch.make_patch(before, whole).patch],
        gone=gone,
        new=new,
        same=same,
        suggestions=_suggestions(handoff, edited, submission, context, judgement),
    )


def applied(*, checked: Rechecked, key: str) -> str:
    """The text with one of its suggestions. Raises InvalidInput (422) where the text has changed since."""
    for suggestion in checked.suggestions:
        if suggestion.key == key:
            return suggestion.text
    text = "This suggestion was made for another text. Look at the suggestions as they are now."
    raise InvalidInput(
        text, slug="suggestion-gone", errors=[ProblemError("document", "suggestion-gone", text)]
    )


def with_fields(*, handoff: Handoff, document: str, given: Mapping[str, str], was: Mapping[str, str]) -> str:
    """The text with what was changed in the fields beside it. Raises InvalidInput (422) where both changed it."""
    if handoff.format != HANDOFF or not given:
        return document
    edited = parsed(document)
    try:
        merged = fields.merged(edited, given, was)
    except fields.Crossed as crossed:
        text = f"{crossed.args[0]} was changed in the field and in the text. Make both say the same."
        raise InvalidInput(
            text, slug="fields-crossed", errors=[ProblemError("document", "crossed", text)]
        ) from None
    return document if merged == edited else written(merged)


def field_values(*, handoff: Handoff, document: str) -> dict[str, str]:
    """The fields that this text offers, {} where it has none or cannot be read."""
    if handoff.format != HANDOFF:
        return {}
    try:
        return fields.read(parsed(document))
    except InvalidInput:
        return {}


def written(payload: JSONObject) -> str:
    """A document as the editor shows it."""
    return orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode()


def lines_of(patch: Sequence[JSONObject]) -> list[str]:
    """RFC 6902 operations as text, one a line, long values cut."""
    lines = []
    for operation in patch[:MOST_LINES]:
        text = orjson.dumps(operation).decode()
        lines.append(text if len(text) <= LINE else text[: LINE - 1] + "…")
    if len(patch) > MOST_LINES:
        lines.append(f"… and {len(patch) - MOST_LINES} more")
    return lines


def compared(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Findings that are gone, new, and the same; of two lists by code and place, where a place moved by code alone."""
    left = [dict(item) for item in before]
    same: list[dict[str, Any]] = []
    new = [dict(item) for item in after]
    for keys in (("code", "pointer"), ("code",)):
        for item in list(new):
            match = next((old for old in left if all(old[key] == item[key] for key in keys)), None)
            if match is not None:
                left.remove(match)
                new.remove(item)
                same.append(item)
    return left, new, same


def _collected(handoff: Handoff, whole: JSONObject) -> tuple[Submission, CheckContext]:
    submission = reread(orjson.dumps(whole))
    policy = of_version(version=handoff.policy_version or 0).compiled
    case = Case(handoff, submission, likeness(submission))
    return submission, collect_many(cases=[case], policy=policy, count_tokens=tokens.load())[handoff.pk]


def _suggestions(
    handoff: Handoff, edited: JSONObject, submission: Submission, context: CheckContext, judgement: Judgement
) -> list[Suggestion]:
    if handoff.format != HANDOFF:
        return []
    sources = Sources(
        facts=submission.facts,
        envelope=submission.envelope if is_envelope(submission.document) else {},
        previous=context.previous.payload if context.previous else None,
        policy=context.policy,
    )
    counts = _counts(judgement)
    found: dict[str, Suggestion] = {}
    tried = 0
    for finding in judgement.findings:
        for repair in proposals(_as_json(finding), edited, sources):
            tried += 1
            if tried > MOST_TRIED:
                return list(found.values())
            patch: list[JSONObject] = [*jsonpatch.make_patch(edited, repair.payload).patch]
            key = hashlib.sha256(orjson.dumps([repair.code, patch])).hexdigest()[:16]
            if key not in found and _helps(handoff, repair, context, counts):
                found[key] = Suggestion(
                    key, repair.code, repair.pointer, repair.title, patch, written(repair.payload)
                )
    return list(found.values())


def _helps(handoff: Handoff, repair: Repair, context: CheckContext, before: Counter[str]) -> bool:
    """Whether the checks find one of its code less, and no more of any other.

    What a stronger finding had silenced at the same place may speak now: it was true before.
    """
    try:
        whole = whole_of(handoff=handoff, edited=repair.payload)
    except InvalidInput:  # it would touch what is protected
        return False
    found = judge(reread(orjson.dumps(whole)), context).findings
    after = Counter(item.code for item in found if item.code == repair.code or item.pointer != repair.pointer)
    return after[repair.code] < before[repair.code] and all(
        after[code] <= before[code] for code in after if code != repair.code
    )


def _counts(judgement: Judgement) -> Counter[str]:
    return Counter(finding.code for finding in judgement.findings)


def _stored_findings(handoff: Handoff) -> list[dict[str, Any]]:
    run = newest_run(handoff)
    return list(run.findings) if run else []


def _as_json(finding: Any) -> dict[str, JSONValue]:
    return asdict(finding)
