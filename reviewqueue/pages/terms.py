"""The filter language of the queue: `is:unclaimed severity:high age:>10m refund`. Text in, filters out; no Django."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

#: What `is:` knows, with its meaning as the help of the page says it.
IS: Final = {
    "unclaimed": "nobody holds a claim",
    "claimed": "somebody holds a claim",
    "mine": "you hold the claim",
    "untold": "nobody opened it, and a quarter of its time is gone",
    "overdue": "its deadline has passed",
    "edited": "a person changed the content",
    "reopened": "it was rejected and taken up again",
    "returned": "it was sent out and came back",
    "escalated": "nobody decided in time, or the receiver never answered",
    "high-risk": "the sender or the policy says high risk",
    "half-approved": "one approval is there, another is missing",
}
NAMES: Final = ("is", "severity", "role", "finding", "age", "session")
SEVERITIES: Final = ("high", "medium", "low", "none")
MOST: Final = 20  # terms in one text

_TERM = re.compile(r'(?P<name>[A-Za-z_]+):(?P<value>"[^"]*"|\S*)')
_TOKEN = re.compile(r'[A-Za-z_]+:"[^"]*"|\S+')
_AGE = re.compile(r"(?P<sign>[<>]?)(?P<number>\d{1,6})(?P<unit>[smhd])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True)
class Age:
    """Waiting for longer (or, `younger`, for less) than `span`."""

    span: timedelta
    younger: bool


@dataclass(slots=True)
class Parsed:
    """`given` are the filters by name (`is` holds several, comma between), `words` the rest, `faults` sentences."""

    words: str = ""
    given: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """What somebody typed. A word with a colon is a term only where its name is known or looks meant as one."""
    parsed, words, states = Parsed(), [], []
    for number, token in enumerate(_TOKEN.findall(text)):
        found = _TERM.fullmatch(token)
        name = found["name"].lower() if found else ""
        if not found or name not in NAMES:
            words.append(token)
            continue
        if number >= MOST:
            parsed.faults.append(f"At most {MOST} terms fit into one search.")
            break
        value = found["value"].strip('"')
        if (fault := fault_of(name, value)) is not None:
            parsed.faults.append(fault)
        elif name == "is":
            states.append(value.lower())
        else:
            parsed.given[name] = value.lower() if name == "severity" else value
    if states:
        parsed.given["is"] = joined(states)
    parsed.words = " ".join(words)
    return parsed


def fault_of(name: str, value: str) -> str | None:
    """Why a filter cannot be used, with what would be; None where it can."""
    if not value:
        return f"“{name}:” needs a value right after the colon, as in {_example(name)}."
    if name == "is":
        unknown = [item for item in value.lower().split(",") if item not in IS]
        if unknown:
            return f"“is:{unknown[0]}” is not known. Use one of {', '.join(IS)}."
    if name == "severity" and value.lower() not in SEVERITIES:
        return f"“severity:{value}” is not known. Use one of {', '.join(SEVERITIES)}."
    if name == "age" and age(value) is None:
        return f"“age:{value}” is no length of time. Write age:>10m, age:<2h or age:>1d."
    return None


def age(value: str) -> Age | None:
    """`>10m`, `<2h`; without a sign longer is meant. None where the text says neither."""
    found = _AGE.fullmatch(value)
    if found is None:
        return None
    span = timedelta(**{_UNITS[found["unit"]]: int(found["number"])})
    return Age(span, younger=found["sign"] == "<")


def states(value: str) -> list[str]:
    """The values of an `is` filter, each once, in their order."""
    return list(dict.fromkeys(item for item in value.split(",") if item))


def joined(values: list[str]) -> str:
    return ",".join(states(",".join(values)))


def _example(name: str) -> str:
    examples = {"is": "is:unclaimed", "severity": "severity:high", "role": "role:billing", "finding": "finding:HC-11",
                "age": "age:>10m", "session": "session:demo-1"}  # fmt: skip
    return examples[name]
