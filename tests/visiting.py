"""Visiting pages as a person: a signed-in client, the page's own form fields, and what a browser would send."""

from __future__ import annotations

import html
import re
from typing import Any

from django.test import Client

from checkpoints.models import Handoff
from reviewqueue.models import User

PASSWORD = "correct horse battery"


def signed_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def detail_url(handoff: Handoff) -> str:
    return f"/handoffs/{handoff.pk}/"


def page_text(response: Any) -> str:
    """The page without its tags, as a reader sees the words."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def hidden_fields(response: Any) -> dict[str, str]:
    """`content_digest` and `version` as the decision form of a page carries them."""
    body = response.content.decode()
    found = re.findall(r'name="(content_digest|version)" value="([^"]*)"', body)
    return dict(found)


def decide(client: Client, handoff: Handoff, action: str, **fields: Any) -> Any:
    """Open the page and send its decision form."""
    seen = hidden_fields(client.get(detail_url(handoff)))
    return client.post(f"{detail_url(handoff)}decide/", {**seen, "action": action, **fields})
