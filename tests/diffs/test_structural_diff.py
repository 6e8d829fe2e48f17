"""The comparison of two documents: what it shows is true, small, and quick."""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import jsonpatch
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkpoints.canonical.equality import same_value
from reviewqueue.diffs import changes, compare, marked, patch
from reviewqueue.diffs.trees import Difference

NAMES = st.sampled_from(["a", "b", "step_id", "~/", "", "items"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, "x", "y", "the claim", "a claim"]),
)
NAMED = st.fixed_dictionaries(
    {"step_id": st.sampled_from(["s1", "s2", "s3", "s4"])}, optional={"text": SCALARS, "n": SCALARS}
)
VALUES = st.recursive(
    SCALARS | NAMED,
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None)
@given(VALUES, VALUES)
def test_applying_the_patch_to_the_old_document_gives_the_new_one(old, new):
    before = copy.deepcopy(old)
    found = patch(compare(old, new))
    result = jsonpatch.JsonPatch(copy.deepcopy(found)).apply(copy.deepcopy(old)) if found else old
    assert same_value(result, new)
    assert bool(found) is (json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True))
    assert old == before, "the documents stay as they are"


DISTINCT = st.lists(
    st.integers(0, 9) | st.sampled_from(["pii_masking", "no_refunds"]), unique=True, max_size=9
)


@settings(max_examples=200, deadline=None)
@given(DISTINCT.flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
@pytest.mark.parametrize("member", [lambda item: item, lambda item: {"id": item, "text": "t"}])
def test_an_order_that_changed_is_told_as_moves_and_nothing_else(member, pair):
    old, new = ([member(item) for item in items] for items in pair)
    assert {change.kind for change in changes(old, new)} <= {"moved"}
    operations = patch(compare(old, new))
    assert all(operation["op"] == "move" for operation in operations)
    assert len(operations) < max(1, len(old)), "one member at least stays where it is"


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
@example([{"step_id": "s2", "n": False}], [{"step_id": "s2", "text": None, "n": False}])
def test_everything_of_both_documents_is_shown_once(old, new):
    shown = compare(old, new)
    assert same_value(_rebuilt(shown, "old"), old)
    assert same_value(_rebuilt(shown, "new"), new)


def _rebuilt(found: Difference, side: str) -> Any:
    """One of the documents, put together again from what the tree says."""
    value = getattr(found, side)
    if found.kind != "inside":
        return value
    parts: dict[Any, Any] = {}
    for child in found.children:
        place = getattr(child, f"{side}_place")
        if place is None:
            continue
        if child.count > 1:
            # A stretch of members is one in the old order: a new document may have others between them.
            places = list(found.old) if isinstance(value, dict) else list(range(len(value)))
            first = places.index(place)
            parts.update((name, value[name]) for name in places[first : first + child.count])
        else:
            parts[place] = _rebuilt(child, side)
    return parts if isinstance(value, dict) else [parts[place] for place in sorted(parts)]


def steps(*names: str, **changed: str) -> list[dict[str, str]]:
    return [{"step_id": name, "description": changed.get(name, f"Did {name}")} for name in names]


def kinds(old: Any, new: Any) -> list[tuple[str, str]]:
    return [(change.kind, change.pointer) for change in changes(old, new)]


@pytest.mark.parametrize("name", ["step_id", "decision_id", "call_id", "id", "requestId"])
def test_members_are_matched_by_what_names_them(name):
    old = [{name: "one", "text": "a"}, {name: "two", "text": "b"}, {name: "three", "text": "c"}]
    new = [{name: "zero", "text": "z"}, {name: "one", "text": "a"}, {name: "three", "text": "changed"}]
    assert kinds(old, new) == [("added", "/0"), ("removed", "/1"), ("changed", "/2/text")]


def test_a_new_step_in_front_is_one_addition():
    assert kinds(steps("a", "b", "c"), steps("new", "a", "b", "c")) == [("added", "/0")]


def test_a_step_that_was_moved_and_changed_is_both():
    found = kinds(steps("a", "b", "c"), steps("c", "a", "b", c="Did it better"))
    assert found == [("moved", "/0"), ("changed", "/0/description")]


def test_a_dropped_constraint_is_removed_and_an_altered_one_changed():
    old = ["pii_masking", "refund_limit_500", "no_payment_before_fraud_check"]
    assert kinds(old, ["pii_masking", "refund_limit_500"]) == [("removed", "/2")]
    assert kinds(old, ["pii_masking", "refund_limit_900", old[2]]) == [("changed", "/1")]
    assert kinds(old, ["pii_masking", "audit", old[2]]) == [("removed", "/1"), ("added", "/1")]


def test_numbers_truth_values_and_texts_are_told_apart():
    assert kinds({"n": 1}, {"n": True}) == [("changed", "/n")]
    assert kinds({"n": 1}, {"n": "1"}) == [("changed", "/n")]
    assert kinds({"n": 2**70}, {"n": 2**70}) == []


def test_only_the_words_that_differ_are_marked():
    old, new = marked("s3://runs/8812/fraud.json", "s3://runs/8813/fraud.json")
    assert [part.text for part in old if part.kind == "differs"] == ["8812"]
    assert [part.text for part in new if part.kind == "differs"] == ["8813"]
    assert "".join(part.text for part in old) == "s3://runs/8812/fraud.json"


def test_a_long_equal_run_of_a_text_is_left_out():
    same = "word " * 400
    old, new = marked(f"{same}ends here", f"{same}stops here")
    left_out = [part for part in old if part.kind == "left_out"]
    assert [int(part.text) for part in left_out] == [len(same) - 80 - 0]
    assert len("".join(part.text for part in new)) < 200


BIG = {
    "steps": [{"step_id": f"s{n}", "text": "x", "n": n} for n in range(16_000)],
    "list": list(range(18_000)),
    "same": [[0, 1]] * 6_000,
}


def _reversed(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "list": document["list"][::-1]}


def _edited(document: dict[str, Any]) -> dict[str, Any]:
    value = copy.deepcopy(document)
    for n in range(0, 16_000, 7):
        value["steps"][n]["text"] = "y"
    return value


def _other(document: dict[str, Any]) -> dict[str, Any]:
    return {
        "steps": [[n] for n in range(32_000)],
        "list": [str(n) for n in range(18_000)],
        "same": [0, 1] * 9_000,
    }


# Under a second on a quiet machine; comparing each with each takes minutes. Not a measure of speed.
LINEAR_SECONDS = 8


@pytest.mark.parametrize(
    "change", [copy.deepcopy, _edited, _reversed, _other], ids=["equal", "edited", "reversed", "other"]
)
def test_a_hundred_thousand_values_are_compared_without_growing_out_of_hand(change):
    new = change(BIG)
    best = min(_seconds(BIG, new) for _ in range(3))
    assert best < LINEAR_SECONDS, f"{best:.2f} s"


def _seconds(old: Any, new: Any) -> float:
    start = time.thread_time()  # whatever else the machine does meanwhile
    compare(old, new)
    return time.thread_time() - start


def test_a_list_of_equal_members_costs_no_more():
    assert _seconds([0] * 50_000 + [1], [1] + [0] * 50_000) < LINEAR_SECONDS
    assert _seconds([0, 1] * 20_000, [1, 0, 0] * 15_000) < LINEAR_SECONDS
    assert (
        _seconds(
            ["word " * 300 + str(n) for n in range(300)], ["word " * 300 + "x" + str(n) for n in range(300)]
        )
        < 1
    )
