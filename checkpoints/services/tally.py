"""Counts of a simulation that can be added up, stored half-way as JSON and taken up again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from checkpoints.types import JSONObject, Outcome

SIDES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Verdict:
    """As much of a verdict as is compared. Codes are sorted, each once."""

    outcome: Outcome
    reasons: tuple[str, ...]
    codes: tuple[str, ...]

    def as_json(self) -> JSONObject:
        return {"outcome": self.outcome.value, "reasons": [*self.reasons], "findings": [*self.codes]}


@dataclass
class Tally:
    """How many handoffs had which outcome and which code, before and after, in all and by pair of roles.

    `without_body` were left out because retention deleted their bytes. `not_reproduced` differ now under the very
    policy that judged them, so they count with their stored verdict on both sides.
    """

    judged: int = 0
    without_body: int = 0
    not_reproduced: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)  # (side, outcome)
    codes: Counter[tuple[str, str]] = field(default_factory=Counter)  # (code, side)
    pairs: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)  # (from, to, side, outcome)
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)  # (outcome before, outcome after)

    @property
    def seen(self) -> int:
        return self.judged + self.without_body

    @property
    def differing(self) -> int:
        return sum(number for (before, after), number in self.moves.items() if before != after)

    def count(self, before: Verdict, after: Verdict, pair: tuple[str, str]) -> None:
        """One handoff; a role that its document does not name is ""."""
        self.judged += 1
        self.moves[before.outcome.value, after.outcome.value] += 1
        for side, verdict in zip(SIDES, (before, after), strict=True):
            self.outcomes[side, verdict.outcome.value] += 1
            self.pairs[*pair, side, verdict.outcome.value] += 1
            self.codes.update((code, side) for code in verdict.codes)

    def add(self, other: Tally) -> None:
        self.judged += other.judged
        self.without_body += other.without_body
        self.not_reproduced += other.not_reproduced
        for name in ("outcomes", "codes", "pairs", "moves"):
            getattr(self, name).update(getattr(other, name))

    def side(self, name: str) -> dict[str, int]:
        """All three outcomes of one side."""
        return {outcome.value: self.outcomes[name, outcome.value] for outcome in Outcome}

    def code_rows(self) -> list[tuple[str, int, int]]:
        """(code, before, after), the codes that change most first."""
        rows = [
            (code, self.codes[code, "before"], self.codes[code, "after"]) for code in self._named(self.codes)
        ]
        return sorted(rows, key=lambda row: (-abs(row[2] - row[1]), -row[1], row[0]))

    def pair_rows(self) -> list[tuple[str, str, dict[str, int], dict[str, int]]]:
        """(from, to, outcomes before, outcomes after), the pairs that change most first."""
        rows = []
        for source, target in {(source, target) for source, target, _, _ in self.pairs}:
            before, after = (
                {outcome.value: self.pairs[source, target, side, outcome.value] for outcome in Outcome}
                for side in SIDES
            )
            rows.append((source, target, before, after))
        return sorted(rows, key=lambda row: (-_change(row[2], row[3]), -sum(row[2].values()), row[0], row[1]))

    @staticmethod
    def _named(codes: Counter[tuple[str, str]]) -> set[str]:
        return {code for code, _ in codes}

    def as_json(self) -> JSONObject:
        """Everything, for a row that is taken up again by `of_json`."""
        return {
            "judged": self.judged,
            "without_body": self.without_body,
            "not_reproduced": self.not_reproduced,
            **{
                name: [[*key, number] for key, number in sorted(getattr(self, name).items())]
                for name in ("outcomes", "codes", "pairs", "moves")
            },
        }

    @classmethod
    def of_json(cls, stored: dict[str, Any]) -> Self:
        return cls(
            judged=stored.get("judged", 0),
            without_body=stored.get("without_body", 0),
            not_reproduced=stored.get("not_reproduced", 0),
            **{
                name: Counter({tuple(key): number for *key, number in stored.get(name, ())})
                for name in ("outcomes", "codes", "pairs", "moves")
            },
        )


def _change(before: dict[str, int], after: dict[str, int]) -> int:
    return sum(abs(after[outcome] - before[outcome]) for outcome in before)
