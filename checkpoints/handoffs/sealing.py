"""What the server rewrites in an edited document: the two hashes, and nothing else."""

from __future__ import annotations

from copy import deepcopy

from checkpoints.canonical import context_fingerprint, engine_fingerprint
from checkpoints.formats import covered_object, hash_of, is_envelope
from checkpoints.types import JSONObject, JSONValue

ENGINE = "prompty.engine/1"


def sealed(document: JSONObject, *, format_name: str) -> JSONObject:
    """The whole document with `consistency_hash` and `context_fingerprint` computed anew where it carries them."""
    copy = deepcopy(document)
    payload = _payload(copy)
    envelope = {} if payload is copy else {key: value for key, value in copy.items() if key != "payload"}
    if format_name == "handoff/1":
        covered = covered_object(payload, envelope)
        if covered is not None:
            payload["consistency_hash"] = hash_of(covered)
    fingerprint = _fingerprint(payload, format_name)
    for holder in (copy, payload):
        if fingerprint is not None and (
            "context_fingerprint" in holder or _requires(holder, payload, format_name)
        ):
            holder["context_fingerprint"] = fingerprint
    return copy


def retargeted(document: JSONObject, *, target_role: str) -> JSONObject:
    """The whole document for another receiver: every place that names the target says `target_role`."""
    copy = deepcopy(document)
    payload = _payload(copy)
    target = payload.get("handoff_target")
    if isinstance(target, dict):
        target["target_role"] = target_role
    for holder in (copy, payload):
        if "target_role" in holder:
            holder["target_role"] = target_role
    if not isinstance(target, dict) and "target_role" not in payload:
        copy["target_role"] = target_role
    return copy


def _payload(document: JSONObject) -> JSONObject:
    payload = document.get("payload")
    return payload if is_envelope(document) and isinstance(payload, dict) else document


def _fingerprint(payload: JSONObject, format_name: str) -> JSONValue:
    if format_name == "handoff/1" and payload.get("context_snapshot") is not None:
        return context_fingerprint(payload["context_snapshot"])
    if format_name == ENGINE and "messages" in payload and "contextState" in payload:
        return engine_fingerprint(payload["messages"], payload["contextState"])
    return None


def _requires(holder: JSONObject, payload: JSONObject, format_name: str) -> bool:
    return holder is payload and format_name == "handoff/1"
