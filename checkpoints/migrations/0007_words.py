"""Searching the queue by words of titles and by ids: indexes of three-letter pieces over the rows that wait.

pg_trgm is a trusted extension: the owner of the database may make it. It comes with PostgreSQL's own packages.
"""

from __future__ import annotations

from django.db import migrations

# Upper, because that is how a search without regard to case asks.
WORDS = """
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX handoff_title_words ON handoff USING gin (upper(title) gin_trgm_ops)
    WHERE state IN ('flagged', 'escalated');
CREATE INDEX handoff_id_words ON handoff USING gin (checkpoint_id gin_trgm_ops)
    WHERE state IN ('flagged', 'escalated');
"""
UNDO = "DROP INDEX handoff_title_words; DROP INDEX handoff_id_words;"


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0006_urgency")]

    operations = [migrations.RunSQL(WORDS, UNDO)]
