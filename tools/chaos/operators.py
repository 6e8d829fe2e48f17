"""Operators: sign in, open what waits, and decide with the forms of the pages."""

from __future__ import annotations

import contextlib
import json
import random
import re
from typing import Any

from tools.chaos.machine import PASSWORD
from tools.chaos.wire import Answer, Api, Browser, Lost, names_of, text_of, value_of

REASON = "Compared with the order"


class Operator:
    """One person at one browser. A form that got no answer is sent once more, as people do."""

    def __init__(self, api: Api, username: str, seed: str) -> None:
        self.stage, self.journal = api.stage, api.journal
        self.browser, self.username = Browser(api.caller, api.journal), username
        self.random = random.Random(seed)
        self.signed_in = False

    def run(self) -> None:
        while not self.stage.over.is_set():
            busy = False
            with contextlib.suppress(Lost):
                busy = self.step()
            self.stage.pause(self.random.uniform(0.0, 0.2 if busy else 0.8))

    def step(self) -> bool:
        """One look at a list and an act on some of it. False where the list is empty. Raises Lost."""
        if not self.signed_in:
            self.signed_in = self.browser.sign_in(self.username, PASSWORD)
            return True
        where = self.random.choices(("/queue/", "/queue/?view=rejected", "/handoffs/"), weights=(84, 8, 8))[0]
        page = self._open(where).body.decode(errors="replace")
        found = sorted(set(re.findall(r'href="(/handoffs/[0-9a-f-]{36}/)[?"]', page)))
        if where == "/queue/":  # the page costs more than an act: one look serves for a few
            for path in self.random.sample(found, min(4, len(found))):
                self._review(path)
        elif found:
            path = self.random.choice(found)
            self._stop(path) if where == "/handoffs/" else self._look_at_rejected(path)
        return bool(found)

    def _open(self, path: str) -> Answer:
        page = self.browser.get(path)
        if page.status == 302:
            self.signed_in = False
        return page

    def _review(self, path: str) -> None:
        acts: dict[str, int] = {
            "approve": 62,
            "edit": 10,
            "abort": 5,
            "send_back": 5,
            "escalate": 6,
            "claim": 12,
        }
        act = self.random.choices(list(acts), weights=list(acts.values()))[0]
        if act == "claim":
            self._claim(path)
        elif act == "edit":
            self._edit(path)
        else:
            self._decide(path, act)

    def _decide(self, path: str, action: str) -> None:
        page = self._open(path)
        seen = _seen(page)
        if seen is None:
            return
        fields = {**seen, "action": action, "reason": REASON}
        if action == "send_back":
            fields["question"] = "Which address is the right one?"
        elif action == "abort":
            fields["advice"] = self.random.choice(("none", "restart"))
        elif action == "approve":
            fields |= dict.fromkeys(names_of(page, "reconcile:"), "did_not_happen")
            if names_of(page, "target") and self.random.random() < 0.5:
                fields["target"] = "fallback"
        done = self._send(path, "decide/", fields, page)
        if done and action == "approve" and self.random.random() < 0.25:
            self._undo(path)

    def _stop(self, path: str) -> None:
        """Abort whatever it is, in flight or not: the race against dispatch."""
        page = self._open(path)
        seen = _seen(page)
        if seen is not None:
            self._send(path, "decide/", {**seen, "action": "abort", "reason": "Stopped by hand"}, page)

    def _undo(self, path: str) -> None:
        page = self._open(path)
        if b"undo/" in page.body:
            self._send(path, "undo/", {}, page)

    def _claim(self, path: str) -> None:
        page = self._open(path)
        if self._send(path, "claim/", {"reason": "My turn"}, page):
            self._send(path, "release/", {}, page)

    def _look_at_rejected(self, path: str) -> None:
        page = self._open(path)
        if b"reopen/" in page.body:
            self._send(path, "reopen/", {"reason": "Worth another look"}, page)

    def _edit(self, path: str) -> None:
        page = self._open(f"{path}edit/")
        seen, text = _seen(page), text_of(page, "document")
        if seen is None or not text:
            return
        fields = {
            **seen,
            "document": json.dumps(_improved(json.loads(text), self.username)),
            "reason": REASON,
        }
        self._send(path, "edit/", fields, page)

    def _send(self, path: str, verb: str, fields: dict[str, str], page: Answer) -> bool:
        """True where the answer is 303: done, and written down as such."""
        for _ in range(2):
            try:
                answer = self.browser.post(f"{path}{verb}", fields, page=page)
            except Lost:
                continue
            if answer.status == 303:
                self.journal.append(
                    "decided",
                    username=self.username,
                    handoff=path.split("/")[2],
                    action=fields.get("action", verb.strip("/")),
                    content_digest=fields.get("content_digest"),
                    target=fields.get("target", "same"),
                )
                return True
            if answer.status != 503:
                return False
        return False


def _seen(page: Answer) -> dict[str, str] | None:
    """Digest and version as the page's form carries them; None where it has no form."""
    digest, version = value_of(page, "content_digest"), value_of(page, "version")
    return {"content_digest": digest, "version": version} if digest and version else None


def _improved(document: dict[str, Any], username: str) -> dict[str, Any]:
    """What an edit makes of a document: contradictions out, a note in."""
    if document.get("task_status") == "completed":
        document["task_status"] = "in_progress"
    elif isinstance(document.get("context_snapshot"), dict):
        document["context_snapshot"]["key_facts"].append(f"{username} called the customer")
    else:
        document.setdefault("metadata", {})["note"] = f"{username} called the customer"
    return document
