"""The verbs of people: keyword-only, one transaction each, with the audit entry inside."""
