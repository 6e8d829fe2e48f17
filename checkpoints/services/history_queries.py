"""The queries of `services.history`. Each walks an index from the row, however long its session is.

`wanted` is (handoff id, until): a drain and an edit look at everything stored (`until` is null); a simulation sees
each handoff as it was first judged, so that what came after its verdict does not count.
"""

from __future__ import annotations

# A stopped predecessor is none (contract §4). As first judged, one that was stopped later still was one.
_STANDS = "o.state NOT IN ('rejected', 'aborted', 'cancelled')"
_STOPPED_LATER = """
    o.state IN ('aborted', 'cancelled') AND o.outcome IS DISTINCT FROM 'rejected' AND o.changed_at > wanted.until
"""
# What never went out repeats no effect: its key is free again, and it is no round of a loop.
_WENT_ON = """
    o.state <> 'rejected' AND NOT (o.state IN ('aborted', 'cancelled') AND o.last_attempt = 0
        AND (wanted.until IS NULL OR o.changed_at < wanted.until OR o.outcome = 'rejected'))
"""
_BODY = "c.revision = {row}.revision"
_BODY_THEN = """
    c.revision = (
        SELECT max(revision) FROM checkpoint WHERE handoff_id = {row}.id
            AND (revision = 1 OR created_at < wanted.until)
    )
"""

# The last of the same task and role, or of the same run of an engine: whose content is compared with that of `h`.
_BEFORE = """
        (
            SELECT o.id, o.revision, o.handoff_sequence AS sequence FROM handoff o
            WHERE h.format <> 'prompty.engine/1' AND o.session_id = h.session_id
                AND coalesce(o.task_id, '') = coalesce(h.task_id, '')
                AND coalesce(o.agent_role, '') = coalesce(h.agent_role, '')
                AND o.handoff_sequence < h.handoff_sequence AND o.format = h.format AND {stands}
            ORDER BY o.handoff_sequence DESC LIMIT 1
        )
        UNION ALL
        (
            SELECT o.id, o.revision, o.handoff_sequence FROM handoff o
            WHERE h.format = 'prompty.engine/1' AND o.session_id = h.session_id
                AND o.turn_id = h.turn_id AND o.run_id = h.run_id
                AND o.handoff_sequence < h.handoff_sequence AND o.format = h.format AND {stands}
            ORDER BY o.handoff_sequence DESC LIMIT 1
        )
"""
_BEFORE_NOW = _BEFORE.format(stands=_STANDS)
# Each half has an index of its own: those that stand, and the few that were stopped.
_BEFORE_THEN = f"""
        {_BEFORE_NOW}
        UNION ALL
        {_BEFORE.format(stands=_STOPPED_LATER)}
        ORDER BY sequence DESC LIMIT 1
"""

# Names that an engine gives itself (`run-1`, `checkpoint-1`) start again with every turn, so that both together mean
# nothing in another turn.
# Order within the session, the predecessor whose content is compared, and the registries, one row per handoff.
_NEIGHBOURS = """
    SELECT h.id, coalesce(judged.sequence, h.judged_after), below.sequence, before.sequence, previous.content,
        ticket.known, used.checkpoint_id, twin.content
    FROM unnest(%(ids)s::uuid[], %(untils)s::timestamptz[]) AS wanted (id, until)
    JOIN handoff h ON h.id = wanted.id
    LEFT JOIN LATERAL (
        SELECT handoff_sequence AS sequence FROM handoff o
        WHERE h.checked_at IS NULL AND o.session_id = h.session_id AND o.checked_at IS NOT NULL
        ORDER BY handoff_sequence DESC LIMIT 1
    ) judged ON true
    LEFT JOIN LATERAL (
        SELECT handoff_sequence AS sequence FROM handoff o
        WHERE o.session_id = h.session_id AND o.handoff_sequence < h.handoff_sequence
        ORDER BY handoff_sequence DESC LIMIT 1
    ) below ON true
    LEFT JOIN LATERAL (
        {before}
    ) before ON true
    LEFT JOIN LATERAL (
        SELECT b.content FROM checkpoint c JOIN checkpoint_body b ON b.checkpoint_id = c.id
        WHERE c.handoff_id = before.id AND {body_of_before}
    ) previous ON true
    LEFT JOIN LATERAL (
        SELECT true AS known FROM ticket t
        WHERE t.orchestrator_id = h.orchestrator_id AND t.reference = h.sender_ticket_reference
            AND (wanted.until IS NULL OR t.decided_at < wanted.until)
        LIMIT 1
    ) ticket ON true
    LEFT JOIN LATERAL (
        SELECT o.checkpoint_id FROM handoff o
        WHERE o.orchestrator_id = h.orchestrator_id AND o.idempotency_key = h.idempotency_key
            AND o.id <> h.id AND (o.received_at, o.id) < (h.received_at, h.id) AND {went_on}
        ORDER BY o.received_at DESC LIMIT 1
    ) used ON true
    LEFT JOIN LATERAL (
        (
            SELECT o.id, o.revision FROM handoff o
            WHERE h.format = 'prompty.engine/1' AND o.session_id = h.session_id AND o.run_id = h.run_id
                AND o.source_id = h.source_id AND o.turn_id = h.turn_id AND o.handoff_sequence < h.handoff_sequence
            ORDER BY o.handoff_sequence DESC LIMIT 1
        )
        UNION ALL
        (
            SELECT o.id, o.revision FROM handoff o
            WHERE h.format = 'prompty.engine/1' AND o.session_id = h.session_id AND o.run_id = h.run_id
                AND o.source_id = h.source_id AND o.turn_id <> h.turn_id AND o.handoff_sequence < h.handoff_sequence
                AND (h.run_id !~ '^run-[0-9]+$' OR h.source_id !~ '^checkpoint-[0-9]+$')
            ORDER BY o.handoff_sequence DESC LIMIT 1
        )
        LIMIT 1
    ) namesake ON true
    LEFT JOIN LATERAL (
        SELECT b.content FROM checkpoint c JOIN checkpoint_body b ON b.checkpoint_id = c.id
        WHERE c.handoff_id = namesake.id AND {body_of_namesake}
    ) twin ON true
"""
NEIGHBOURS = _NEIGHBOURS.format(
    before=_BEFORE_NOW,
    went_on=_WENT_ON,
    body_of_before=_BODY.format(row="before"),
    body_of_namesake=_BODY.format(row="namesake"),
)
NEIGHBOURS_THEN = _NEIGHBOURS.format(
    before=_BEFORE_THEN,
    went_on=_WENT_ON,
    body_of_before=_BODY_THEN.format(row="before"),
    body_of_namesake=_BODY_THEN.format(row="namesake"),
)

_PREDECESSOR = """
    SELECT before.id FROM handoff h CROSS JOIN LATERAL ({before}) before WHERE h.id = %(id)s
"""
PREDECESSOR = _PREDECESSOR.format(before=_BEFORE_NOW)

# The newest answer to each decision that the document, or its predecessor, asks. It counts while the approval that
# carries it does.
ANSWERS = """
    SELECT h.id, wanted.decision_id, a.question, a.options, a.answer, a.checkpoint_id
    FROM unnest(%(ids)s::uuid[], %(untils)s::timestamptz[], %(names)s::text[], %(keys)s::text[])
        AS wanted (id, until, decision_id, key)
    JOIN handoff h ON h.id = wanted.id
    CROSS JOIN LATERAL (
        SELECT g.question, g.options, g.answer, o.checkpoint_id
        FROM given_answer g JOIN handoff o ON o.id = g.handoff_id
        WHERE g.session_id = h.session_id AND g.decision_id = wanted.key
            AND g.handoff_sequence <= h.handoff_sequence AND (wanted.until IS NULL OR g.at < wanted.until)
            AND (
                (o.round = g.round AND o.state IN ('approved', 'dispatched', 'recoverable', 'acknowledged'))
                OR o.changed_at > wanted.until
            )
        ORDER BY g.at DESC LIMIT 1
    ) a
"""

# Each call of the document that has another result in another session. Equal results are stepped over.
CALLS = """
    SELECT h.id, wanted.call_id, s.session_id
    FROM unnest(%(ids)s::uuid[], %(untils)s::timestamptz[], %(names)s::text[], %(keys)s::text[], %(results)s::text[])
        AS wanted (id, until, call_id, key, result)
    JOIN handoff h ON h.id = wanted.id
    CROSS JOIN LATERAL (
        (
            SELECT t.session_id FROM tool_call t
            WHERE t.orchestrator_id = h.orchestrator_id AND t.call_id = wanted.key AND t.result < wanted.result
                AND t.session_id <> h.session_id AND (wanted.until IS NULL OR t.at < wanted.until)
            LIMIT 1
        )
        UNION ALL
        (
            SELECT t.session_id FROM tool_call t
            WHERE t.orchestrator_id = h.orchestrator_id AND t.call_id = wanted.key AND t.result > wanted.result
                AND t.session_id <> h.session_id AND (wanted.until IS NULL OR t.at < wanted.until)
            LIMIT 1
        )
        LIMIT 1
    ) other
    JOIN session s ON s.id = other.session_id
"""

# The run of the document and its parent: in this session, else anywhere. The names that an engine gives itself
# (`run-1`) start again with every process, so another session's tells nothing.
RUNS = """
    SELECT h.id, named.run_id, s.session_id, o.turn_id, o.parent_run_id, o.delegation_depth
    FROM unnest(%(ids)s::uuid[]) AS wanted (id)
    JOIN handoff h ON h.id = wanted.id
    CROSS JOIN LATERAL unnest(ARRAY[h.run_id, h.parent_run_id]) AS named (run_id)
    CROSS JOIN LATERAL (
        (
            SELECT p.session_id, p.turn_id, p.parent_run_id, p.delegation_depth, 0 AS preference FROM handoff p
            WHERE p.orchestrator_id = h.orchestrator_id AND p.run_id = named.run_id
                AND p.session_id = h.session_id AND p.handoff_sequence < h.handoff_sequence
            ORDER BY p.handoff_sequence DESC LIMIT 1
        )
        UNION ALL
        (
            SELECT p.session_id, p.turn_id, p.parent_run_id, p.delegation_depth, 1 FROM handoff p
            WHERE named.run_id !~ '^run-[0-9]+$' AND p.orchestrator_id = h.orchestrator_id
                AND p.run_id = named.run_id AND p.session_id < h.session_id AND p.received_at < h.received_at
            LIMIT 1
        )
        UNION ALL
        (
            SELECT p.session_id, p.turn_id, p.parent_run_id, p.delegation_depth, 2 FROM handoff p
            WHERE named.run_id !~ '^run-[0-9]+$' AND p.orchestrator_id = h.orchestrator_id
                AND p.run_id = named.run_id AND p.session_id > h.session_id AND p.received_at < h.received_at
            LIMIT 1
        )
        ORDER BY preference LIMIT 1
    ) o
    JOIN session s ON s.id = o.session_id
    WHERE h.run_id IS NOT NULL AND named.run_id IS NOT NULL
"""

# The last handoffs of the task between this pair of roles, newest first: content twins and changes of direction.
# Ordered by the negative number, because only the index `handoff_pair` gives that order: for a plain one the planner
# walks the whole session where it expects the rows of the pair soon and there are none.
_PAIR = """
    SELECT h.id, o.agent_role, o.likeness
    FROM unnest(%(ids)s::uuid[], %(untils)s::timestamptz[]) AS wanted (id, until)
    JOIN handoff h ON h.id = wanted.id
    CROSS JOIN LATERAL (
        (
            SELECT p.id, p.agent_role, p.likeness, p.handoff_sequence, p.state, p.last_attempt, p.changed_at,
                p.outcome
            FROM handoff p
            WHERE p.session_id = h.session_id AND p.task_id = h.task_id AND p.agent_role = h.agent_role
                AND p.target_role = h.target_role AND p.handoff_sequence * -1 > h.handoff_sequence * -1
            ORDER BY p.handoff_sequence * -1 LIMIT 20
        )
        UNION
        (
            SELECT p.id, p.agent_role, p.likeness, p.handoff_sequence, p.state, p.last_attempt, p.changed_at,
                p.outcome
            FROM handoff p
            WHERE p.session_id = h.session_id AND p.task_id = h.task_id AND p.agent_role = h.target_role
                AND p.target_role = h.agent_role AND p.handoff_sequence * -1 > h.handoff_sequence * -1
            ORDER BY p.handoff_sequence * -1 LIMIT 20
        )
        ORDER BY handoff_sequence DESC LIMIT 20
    ) o
    WHERE {went_on}
    ORDER BY h.id, o.handoff_sequence DESC
"""
PAIR = _PAIR.format(went_on=_WENT_ON)
