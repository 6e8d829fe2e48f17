"""The verbs: keyword-only, one transaction each, with the audit entry inside."""
