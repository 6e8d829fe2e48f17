"""What the database itself refuses, whoever asks: rewriting facts, clearing without a run, forged audit times.

Grants: each table names exactly what the application's and the sealer's role may do. A table without an entry
here (or in the human half's own migration) is closed to both, and a test says so.
"""

from __future__ import annotations

from django.db import migrations

ROLES = """
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reviewqueue_app') THEN
        CREATE ROLE reviewqueue_app NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reviewqueue_sealer') THEN
        CREATE ROLE reviewqueue_sealer NOLOGIN;
    END IF;
END $$;
GRANT USAGE ON SCHEMA public TO reviewqueue_app, reviewqueue_sealer;
"""

APPEND_ONLY = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows are written once: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""

GUARD = """
CREATE TRIGGER {table}_written_once BEFORE UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_written_once;
CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_never_emptied;
"""
UNGUARD = """
DROP TRIGGER {table}_written_once ON {table};
DROP TRIGGER {table}_never_emptied ON {table};
"""
WRITTEN_ONCE = (
    "audit_entry", "audit_text", "checkpoint", "checkpoint_body", "check_run", "decision", "policy_version", "refusal",
)  # fmt: skip

# `at` is the writer's and must lie inside its transaction; the transaction id is ours alone.
AUDIT = """
ALTER TABLE audit_entry ALTER COLUMN xid SET DEFAULT 0;
CREATE FUNCTION force_audit_columns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.at < transaction_timestamp() OR NEW.at > clock_timestamp() THEN
        RAISE EXCEPTION 'audit time % lies outside of its transaction', NEW.at USING ERRCODE = 'check_violation';
    END IF;
    NEW.xid := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_entry_forced BEFORE INSERT ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION force_audit_columns();
ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER audit_entry_forced;
"""
UNAUDIT = """
DROP TRIGGER audit_entry_forced ON audit_entry;
DROP FUNCTION force_audit_columns();
"""

# Nothing clears, is approved or goes out that no complete check run or no person let through.
GATE = """
CREATE FUNCTION guard_handoff() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    run_cleared boolean;
    ticket_stands boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'received' THEN
            RAISE EXCEPTION 'a handoff starts as received, not as %', NEW.state USING ERRCODE = 'check_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.orchestrator_id, NEW.session_id, NEW.checkpoint_id, NEW.handoff_sequence, NEW.format,
        NEW.body_digest, NEW.received_at)
        IS DISTINCT FROM (OLD.id, OLD.orchestrator_id, OLD.session_id, OLD.checkpoint_id, OLD.handoff_sequence,
        OLD.format, OLD.body_digest, OLD.received_at) THEN
        RAISE EXCEPTION 'the names of a handoff never change' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state IS NOT DISTINCT FROM OLD.state THEN
        RETURN NEW;
    END IF;
    IF NEW.state IN ('cleared', 'dispatched') THEN
        SELECT EXISTS (
            SELECT FROM check_run r
            WHERE r.handoff_id = NEW.id AND r.revision = NEW.revision AND r.complete AND r.outcome = 'cleared'
        ) INTO run_cleared;
    END IF;
    IF NEW.state = 'cleared' AND NOT run_cleared THEN
        RAISE EXCEPTION 'handoff % cannot be cleared without a complete check run', NEW.checkpoint_id
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state IN ('approved', 'dispatched') THEN
        SELECT EXISTS (
            SELECT FROM ticket t
            WHERE t.handoff_id = NEW.id AND t.reference = NEW.approval_ticket_reference
                AND t.revision = NEW.revision AND t.content_digest = NEW.content_digest AND t.revoked_at IS NULL
        ) INTO ticket_stands;
    END IF;
    IF NEW.state = 'approved' AND NOT ticket_stands THEN
        RAISE EXCEPTION 'handoff % cannot be approved without its ticket', NEW.checkpoint_id
            USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.state = 'dispatched' AND NOT ticket_stands
        AND NOT (run_cleared AND NEW.approval_ticket_reference IS NULL AND NEW.round = 0) THEN
        RAISE EXCEPTION 'handoff % cannot go out: neither cleared nor approved', NEW.checkpoint_id
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER handoff_gate BEFORE INSERT OR UPDATE ON handoff FOR EACH ROW EXECUTE FUNCTION guard_handoff();
ALTER TABLE handoff ENABLE ALWAYS TRIGGER handoff_gate;
CREATE SEQUENCE ticket_reference;
ALTER TABLE checkpoint_body ALTER COLUMN content SET STORAGE EXTERNAL;
"""
UNGATE = """
DROP SEQUENCE ticket_reference;
DROP TRIGGER handoff_gate ON handoff;
DROP FUNCTION guard_handoff();
"""

AUDIT_COLUMNS = (
    "id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index, request_id, trace_id, "
    "policy_version, previous_digest, text_commitment, digest"
)
GRANTS = f"""
GRANT SELECT, INSERT ON checkpoint, checkpoint_body, check_run, decision, policy_version, refusal, audit_text
    TO reviewqueue_app;
GRANT SELECT, INSERT ({AUDIT_COLUMNS}) ON audit_entry TO reviewqueue_app;
GRANT SELECT, INSERT, UPDATE ON orchestrator, api_token, session, handoff, attempt, ticket, worker_heartbeat
    TO reviewqueue_app;
GRANT SELECT, INSERT, DELETE ON refusal_body TO reviewqueue_app;
GRANT USAGE ON SEQUENCE ticket_reference, session_id_seq, attempt_id_seq TO reviewqueue_app;
GRANT SELECT ON audit_entry TO reviewqueue_sealer;
"""
UNGRANT = """
REVOKE ALL ON checkpoint, checkpoint_body, check_run, decision, policy_version, refusal, refusal_body, audit_entry,
    audit_text, orchestrator, api_token, session, handoff, attempt, ticket, worker_heartbeat FROM reviewqueue_app, reviewqueue_sealer;
"""


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0001_rows")]

    operations = [
        migrations.RunSQL(ROLES, migrations.RunSQL.noop),
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION refuse_change();"),
        *[
            migrations.RunSQL(GUARD.format(table=table), UNGUARD.format(table=table))
            for table in WRITTEN_ONCE
        ],
        migrations.RunSQL(AUDIT, UNAUDIT),
        migrations.RunSQL(GATE, UNGATE),
        migrations.RunSQL(GRANTS, UNGRANT),
    ]
