"""What every format module gives: its names, how its facts are read, what an edit may not touch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checkpoints.types import Facts, JSONObject


@dataclass(frozen=True, slots=True)
class Format:
    """One checkpoint format.

    `read(payload, envelope)` is total; `envelope` is {} in the flat form. `protected` are JSON pointers into the
    payload whose values an edit must leave as they are.
    """

    name: str
    title: str
    read: Callable[[JSONObject, JSONObject], Facts]
    members: tuple[
        str, ...
    ]  # top-level members the format knows; a flat document has the envelope's beside them
    approve_means: str  # what an approval makes the framework do, one sentence for the page
    protected: tuple[str, ...] = ()
    session_member: str | None = None  # the format's own member that serves as session_id
    names_itself: bool = (
        False  # session_id, checkpoint_id and handoff_sequence of the payload are the handoff's
    )
    unknown_member_code: str | None = None
    editable: bool = True
    interpreted: bool = True
