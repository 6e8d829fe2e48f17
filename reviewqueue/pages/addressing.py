"""The address of the queue: typed terms, parameters, and the chips that take them away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import InvalidInput
from checkpoints.services.policy import active
from checkpoints.types import Gate
from reviewqueue.pages import listing, terms, waiting, words
from reviewqueue.pages.shell import single_parameters

FILTERS = ("is", "severity", "role", "finding", "age", "session", "q")
ORDER = ("view", *listing.CURSORS, *FILTERS)
PARAMETERS = frozenset(ORDER)


def read_address(query: QueryDict) -> tuple[dict[str, str], list[str]]:
    """The parameters with the terms of `q` taken out of it, empty ones left out, and what is wrong with the terms.

    A typed term takes the place of the same filter in the address; `is` adds up. Raises InvalidInput (400).
    """
    posted = query.copy()
    if "is" in posted:  # boxes of one form
        posted["is"] = terms.joined([part for text in posted.getlist("is") for part in text.split(",")])
    given = {name: text for name, text in single_parameters(posted, known=PARAMETERS).items() if text.strip()}
    listing.texts(given, FILTERS)
    faults = [
        fault
        for name in ("is", "age")
        if name in given and (fault := terms.fault_of(name, given[name])) is not None
    ]
    if faults:
        raise InvalidInput(" ".join(faults), status=400)
    parsed = terms.parse(given.pop("q", ""))
    if parsed.given.get("is"):
        parsed.given["is"] = terms.joined([given.get("is", ""), parsed.given["is"]])
    if parsed.given and not parsed.faults:  # another list: its pages are not this one's
        given = {name: text for name, text in given.items() if name not in listing.CURSORS}
    given.update(parsed.given)
    if parsed.words:
        given["q"] = parsed.words
    return {name: given[name] for name in ORDER if name in given}, parsed.faults


def read_filters(given: Mapping[str, str]) -> waiting.Filters:
    """The filters of an address. Raises InvalidInput (400) for a severity that is none."""
    severity = given.get("severity", "")
    if severity and severity not in words.RANKS:
        raise InvalidInput("“severity” is high, medium, low or none.", status=400)
    texts = listing.texts(given, FILTERS)
    return waiting.Filters(
        severity=words.RANKS[severity] if severity else None,
        role=texts["role"],
        finding=texts["finding"],
        session=texts["session"],
        q=texts["q"],
        states=tuple(terms.states(texts["is"])),
        age=terms.age(texts["age"]) if texts["age"] else None,
    )


def chips(path: str, given: Mapping[str, str]) -> list[listing.Chip]:
    """One chip for each value of `is`, one for each other filter."""
    found = []
    chosen = terms.states(given.get("is", ""))
    for state in chosen:
        left = ",".join(other for other in chosen if other != state)
        kept = {name: text for name, text in given.items() if name not in listing.CURSORS}
        found.append(listing.Chip("is", state, listing.link(path, {**kept, "is": left})))
    return found + listing.chips(path, given, FILTERS[1:])


def suggestions() -> dict[str, Any]:
    """What the search box offers while somebody types."""
    roles = sorted(active().compiled.roles)
    codes = [(code, entry.title) for code, entry in CATALOGUE.items() if entry.gate is Gate.CHECKS]
    return {"roles": roles, "codes": codes}
