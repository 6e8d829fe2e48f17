"""The policy as form fields, and form fields as a policy. A field that stands for one member is named by its pointer.

Tables (roles, rules and the like) have fields such as `role.0.name`; rows left empty do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from checkpoints.errors import ProblemError
from checkpoints.policies import compile_policy, defaults, with_defaults
from checkpoints.types import CheckPolicy, JSONObject, JSONValue
from reviewqueue.pages.policy_fields import (
    BLANK_ROWS,
    CONDITIONS,
    FIELDS,
    LEVELS,
    NOBODY,
    SECTIONS,
    TABLES,
    Field,
)


@dataclass
class Built:
    """What the fields say. `places` maps a pointer of the document to the field that gave it."""

    document: JSONObject = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    errors: list[ProblemError] = field(default_factory=list)  # by field name

    def put(self, pointer: str, value: JSONValue, name: str) -> None:
        *path, last = pointer.split("/")[1:]
        holder: Any = self.document
        for part in path:
            holder = holder.setdefault(part, {})
        holder[last] = value
        self.places[pointer] = name


def values_of(document: JSONObject) -> dict[str, str]:
    """Every field of the form as text; "on" for a switch that is on."""
    full: Any = with_defaults(document)
    ticket = full["ticket"] or {}
    full = {**full, "ticket": {**ticket, "required_for": dict.fromkeys(ticket.get("required_for", ()), True)}}
    values = {item.name: _text(_at(full, item.name), item.kind) for item in FIELDS}
    for prefix, index, cells in _rows_of(full):
        values |= {f"{prefix}.{index}.{name}": text for name, text in cells.items()}
    return values


def build(values: Mapping[str, str], *, original: JSONObject) -> Built:
    """The document that the fields say. What is a default and was not in `original` stays out of it."""
    built = Built()
    for item in FIELDS:
        built.put(item.name, _value(values.get(item.name, ""), item.kind), item.name)
    _build_ticket(built)
    _build_roles(built, values)
    _build_constraints(built, values)
    _build_rules(built, values)
    _build_checks(built, values)
    built.document = _pruned(built.document, defaults(), original)
    return built


def fits(document: JSONObject) -> bool:
    """Whether the form can say all of the document: names with commas in them, for example, it cannot."""
    built = build(values_of(document), original=document)
    return not built.errors and _meaning(built.document) == _meaning(document)


def _meaning(document: JSONObject) -> tuple[CheckPolicy, JSONValue, JSONValue]:
    """The compiled policy, with its patterns as text: compiled ones are never equal."""
    compiled = compile_policy(document, version=0)
    ticket = document.get("ticket")
    return (
        replace(compiled, task_id_matches=None, external_ticket_matches=None),
        document.get("task_id_pattern"),
        ticket.get("pattern") if isinstance(ticket, dict) else None,
    )


def located(errors: list[ProblemError], places: Mapping[str, str]) -> dict[str, str]:
    """The sentence for each field that has a mistake, by the field's name; "" for those that no field has."""
    found: dict[str, str] = {}
    for error in errors:
        pointer = error.pointer
        while pointer and pointer not in places:
            pointer = pointer.rpartition("/")[0]
        found.setdefault(places.get(pointer, ""), error.detail)
    return found


def shown(values: Mapping[str, str], errors: Mapping[str, str]) -> dict[str, Any]:
    """Sections and tables, ready to print, with empty rows to write into."""
    return {
        "sections": [
            {
                "title": section.title,
                "hint": section.hint,
                "fields": [_cell(item, item.name, values, errors) for item in section.fields],
            }
            for section in SECTIONS
        ],
        "tables": [
            {
                "title": table.title,
                "hint": table.hint,
                "prefix": table.prefix,
                "head": [cell.label for cell in table.cells],
                "rows": [
                    [
                        _cell(cell, f"{table.prefix}.{index}.{cell.name}", values, errors)
                        for cell in table.cells
                    ]
                    for index in _indexes_to_show(values, table.prefix)
                ],
            }
            for table in TABLES
        ],
    }


def _cell(item: Field, name: str, values: Mapping[str, str], errors: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "label": item.label,
        "kind": item.kind,
        "choices": item.choices,
        "hint": item.hint,
        "value": values.get(name, ""),
        "error": errors.get(name, ""),
    }


def _indexes(values: Mapping[str, str], prefix: str) -> list[int]:
    """The rows of a table that have something in them. A choice alone is nothing."""
    pattern = re.compile(rf"{prefix}\.(\d{{1,5}})\.(\w+)")
    choices = {
        cell.name
        for table in TABLES
        if table.prefix == prefix
        for cell in table.cells
        if cell.kind == "choice"
    }
    found = {
        int(match[1])
        for name, text in values.items()
        if text.strip() and (match := pattern.fullmatch(name)) and match[2] not in choices
    }
    return sorted(found)


def _indexes_to_show(values: Mapping[str, str], prefix: str) -> list[int]:
    filled = _indexes(values, prefix)
    first = filled[-1] + 1 if filled else 0
    return [*filled, *range(first, first + BLANK_ROWS)]


def _rows(values: Mapping[str, str], prefix: str) -> Iterator[tuple[str, dict[str, str]]]:
    """(name of the row's fields up to the last dot, cells) of each filled row."""
    cells = next(table.cells for table in TABLES if table.prefix == prefix)
    for index in _indexes(values, prefix):
        row = f"{prefix}.{index}"
        yield row, {cell.name: values.get(f"{row}.{cell.name}", "").strip() for cell in cells}


def _rows_of(full: Any) -> Iterator[tuple[str, int, dict[str, str]]]:
    for index, (name, role) in enumerate(sorted(full["roles"].items())):
        targets = role.get("may_hand_off_to")
        yield (
            "role",
            index,
            {
                "name": name,
                "capabilities": ", ".join(role.get("capabilities", ())),
                "may_hand_off_to": NOBODY if targets == [] else ", ".join(targets or ()),
                "fallback_role": role.get("fallback_role") or "",
            },
        )
    sides = [
        (side, role, names)
        for side in ("from", "to")
        for role, names in sorted(full["required_constraints"][side].items())
    ]
    for index, (side, role, names) in enumerate(sides):
        yield "required", index, {"side": side, "role": role, "constraints": ", ".join(names)}
    for index, (first, second) in enumerate(full["conflicting_constraints"]):
        yield "conflict", index, {"first": first, "second": second}
    for index, rule in enumerate(full["risk"]["rules"]):
        when = {
            name: wanted if isinstance(wanted, str) else ", ".join(wanted)
            for name, wanted in rule["when"].items()
        }
        yield "rule", index, {"level": rule["level"], **when}
    for index, (code, rule) in enumerate(sorted(full["checks"].items())):
        yield "check", index, {"code": code, **rule}


def _build_ticket(built: Built) -> None:
    ticket: Any = built.document.pop("ticket")
    required: list[JSONValue] = [level for level in LEVELS if ticket["required_for"][level]]
    given = {name: ticket[name] for name in ("pattern", "url") if ticket[name] is not None}
    built.document["ticket"] = {**given, **({"required_for": required} if required else {})} or None


def _build_roles(built: Built, values: Mapping[str, str]) -> None:
    roles: dict[str, JSONValue] = {}
    for row, cells in _rows(values, "role"):
        name = cells["name"]
        if not _named(built, f"{row}.name", name, roles):
            continue
        targets = [] if cells["may_hand_off_to"] == NOBODY else _split(cells["may_hand_off_to"])
        role: JSONObject = {}
        if cells["capabilities"]:
            role["capabilities"] = [*_split(cells["capabilities"])]
        if cells["may_hand_off_to"]:
            role["may_hand_off_to"] = [*targets]
        if cells["fallback_role"]:
            role["fallback_role"] = cells["fallback_role"]
        roles[name] = role
        for member in ("capabilities", "may_hand_off_to", "fallback_role"):
            built.places[f"/roles/{_escaped(name)}/{member}"] = f"{row}.{member}"
        built.places[f"/roles/{_escaped(name)}"] = f"{row}.name"
    built.document["roles"] = roles


def _build_constraints(built: Built, values: Mapping[str, str]) -> None:
    required: dict[str, dict[str, JSONValue]] = {"from": {}, "to": {}}
    for row, cells in _rows(values, "required"):
        side = required.get(cells["side"])
        if side is None:
            built.errors.append(ProblemError(f"{row}.side", "invalid", "Choose from or to."))
        elif _named(built, f"{row}.role", cells["role"], side):
            side[cells["role"]] = [*_split(cells["constraints"])]
            built.places[f"/required_constraints/{cells['side']}/{_escaped(cells['role'])}"] = (
                f"{row}.constraints"
            )
    pairs: list[JSONValue] = []
    for row, cells in _rows(values, "conflict"):
        built.places[f"/conflicting_constraints/{len(pairs)}"] = f"{row}.first"
        pairs.append([cells["first"], cells["second"]])
    built.document["required_constraints"] = {**required}
    built.document["conflicting_constraints"] = pairs


def _build_rules(built: Built, values: Mapping[str, str]) -> None:
    rules: list[JSONValue] = []
    for row, cells in _rows(values, "rule"):
        when: JSONObject = {}
        for member in CONDITIONS:
            wanted = _split(cells[member])
            if wanted:
                when[member] = wanted[0] if len(wanted) == 1 else [*wanted]
            built.places[f"/risk/rules/{len(rules)}/when/{member}"] = f"{row}.{member}"
        built.places[f"/risk/rules/{len(rules)}"] = f"{row}.level"
        rules.append({"when": when, "level": cells["level"]})
    risk = built.document["risk"]
    if isinstance(risk, dict):
        risk["rules"] = rules


def _build_checks(built: Built, values: Mapping[str, str]) -> None:
    checks: dict[str, JSONValue] = {}
    for row, cells in _rows(values, "check"):
        code = cells["code"]
        if not _named(built, f"{row}.code", code, checks):
            continue
        rule: JSONObject = {name: cells[name] for name in ("severity", "disposition") if cells[name]}
        if rule:
            checks[code] = rule
        built.places[f"/checks/{_escaped(code)}"] = f"{row}.code"
        built.places |= {
            f"/checks/{_escaped(code)}/{name}": f"{row}.{name}" for name in ("severity", "disposition")
        }
    built.document["checks"] = checks


def _named(built: Built, name: str, text: str, taken: Mapping[str, JSONValue]) -> bool:
    if not text:
        built.errors.append(
            ProblemError(name, "required", "This row has no name. Name it, or empty the row.")
        )
    elif text in taken:
        built.errors.append(
            ProblemError(name, "repeated", f"{text[:64]} has a row already. Keep one of them.")
        )
    else:
        return True
    return False


def _pruned(
    document: JSONObject, default: Mapping[str, JSONValue], original: Mapping[str, JSONValue]
) -> JSONObject:
    kept: JSONObject = {}
    for name, value in document.items():
        before = original.get(name)
        if name not in original and value == default.get(name):
            continue
        standard = default.get(name)
        if name not in ("roles", "checks") and isinstance(value, dict) and isinstance(standard, dict):
            inner = _pruned(value, standard, before if isinstance(before, dict) else {})
            if inner or name in original:
                kept[name] = inner
        else:
            kept[name] = value
    # The order that the author gave it, new members after it.
    return {name: kept[name] for name in [*(name for name in original if name in kept), *kept]}


def _at(document: Any, pointer: str) -> JSONValue:
    for part in pointer.split("/")[1:]:
        document = document.get(part) if isinstance(document, dict) else None
    value: JSONValue = document
    return value


def _text(value: JSONValue, kind: str) -> str:
    if kind == "switch":
        return "on" if value else ""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)


def _value(text: str, kind: str) -> JSONValue:
    text = text.strip()
    if kind == "switch":
        return text == "on"
    if kind == "list":
        return [*_split(text)]
    if kind == "numbers":
        return [_number(item) for item in _split(text)]
    if kind == "number":
        return _number(text)
    return text or None


def _number(text: str) -> JSONValue:
    """An integer; anything else as it was typed, for the schema to refuse at its place."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else text


def _split(text: str) -> list[str]:
    return [item.strip() for item in re.split(r"[,\n]", text) if item.strip()]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
