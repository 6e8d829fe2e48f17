"""Reading the forms of contract §7: literal names, nothing twice, nothing unknown, nothing missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.http import QueryDict

from checkpoints.errors import InvalidInput, ProblemError, ReviewQueueError
from reviewqueue.services.deciding import DecisionForm

ALWAYS = frozenset({"csrfmiddlewaretoken", "next"})
DECISION = ALWAYS | {
    "action", "reason", "content_digest", "version", "external_ticket", "target", "advice", "question",
    "asks_opened", "unopened", "list",
}  # fmt: skip
EDIT = ALWAYS | {"document", "reason", "content_digest", "version", "do"}
REASON = ALWAYS | {"reason", "content_digest", "version"}  # what was on the screen may come along
ANSWER, RECONCILE = "answer:", "reconcile:"
LONGEST = 10_000  # characters of a typed text


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person typed, kept whatever happens to it, and what is wrong with it by field."""

    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_text(self) -> bool:
        return any(
            self.values.get(name, "").strip()
            for name in ("reason", "question", "external_ticket", "document")
        )


def read(posted: QueryDict, known: frozenset[str], *, prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    """The fields of a form, once each. Raises InvalidInput: 400 for a repeated field, 422 for an unknown one."""
    values: dict[str, str] = {}
    unknown = []
    problems: list[ProblemError] = []
    for name, given in posted.lists():
        if not (name in known or name.startswith(prefixes)):
            unknown.append(ProblemError(name[:64], "unknown-field", f"The form has no field {name[:64]!r}."))
            continue
        # An answer may come from a choice or from the text field beside it; the one left empty does not count.
        filled = [text for text in given if text.strip()] if name.startswith(ANSWER) else given
        if len(filled) > 1:
            raise InvalidInput(
                f"“{name[:64]}” was sent {len(filled)} times. Send it once.",
                slug="parameter-repeated",
                status=400,
            )
        values[name] = filled[0] if filled else ""
        if "\x00" in values[name] or (name != "document" and len(values[name]) > LONGEST):
            problems.append(
                ProblemError(name[:64], "invalid", f"Use at most {LONGEST} characters, none of them U+0000.")
            )
    if problems:
        raise InvalidInput("A field cannot be used as it is.", slug="invalid-form", errors=problems)
    if unknown:
        raise InvalidInput(
            "The form has fields that do not belong to it.", slug="unknown-field", errors=unknown
        )
    return values


def decision(values: Mapping[str, str]) -> DecisionForm:
    """The decision form. Raises InvalidInput (422) where action, digest or version is missing or malformed."""
    errors = _missing(values, ("action",))
    digest, version, seen_errors = _seen(values)
    errors += seen_errors
    if errors:
        raise InvalidInput("The decision cannot be read.", slug="invalid-form", errors=errors)
    return DecisionForm(
        action=values["action"],
        content_digest=digest,
        version=version,
        reason=values.get("reason", ""),
        external_ticket=values.get("external_ticket", ""),
        target=values.get("target") or "same",
        answers=_prefixed(values, ANSWER),
        reconciliations={key: text for key, text in _prefixed(values, RECONCILE).items() if text},
        advice=values.get("advice") or "none",
        question=values.get("question", ""),
        asks_opened=bool(values.get("asks_opened")),
        unopened_accepted=bool(values.get("unopened")),
    )


def seen(values: Mapping[str, str]) -> tuple[str, int]:
    """Digest and version that were on the screen. Raises InvalidInput (422) where one is missing."""
    digest, version, errors = _seen(values)
    if errors:
        raise InvalidInput(
            "The form does not say what was on the screen.", slug="invalid-form", errors=errors
        )
    return digest, version


def _seen(values: Mapping[str, str]) -> tuple[str, int, list[ProblemError]]:
    errors = _missing(values, ("content_digest", "version"))
    version = values.get("version", "")
    if version and not (version.isascii() and version.isdigit() and len(version) < 19):
        errors.append(ProblemError("version", "invalid", "“version” is the number from the page."))
        version = ""
    return values.get("content_digest", ""), int(version or 0), errors


def _missing(values: Mapping[str, str], names: tuple[str, ...]) -> list[ProblemError]:
    return [
        ProblemError(name, "required", f"“{name}” is missing. Open the page again and decide from there.")
        for name in names
        if not values.get(name)
    ]


def _prefixed(values: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: text for name, text in values.items() if name.startswith(prefix)}


def typed(posted: QueryDict, error: ReviewQueueError | None = None) -> Typed:
    """Everything that was sent, last value of each, with the error's sentences beside their fields."""
    values = {name: text for name, text in posted.items() if isinstance(text, str) and name not in ALWAYS}
    return Typed(values, {item.pointer: item.detail for item in error.errors} if error else {})
