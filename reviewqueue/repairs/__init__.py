"""Suggested repairs: for a finding, documents in which it might be gone. Never applied by themselves.

A proposal is only a guess; whoever shows it has the checks judge the repaired document first and leaves out what
does not take the finding away.
"""

from reviewqueue.repairs import fields
from reviewqueue.repairs.proposing import REPAIRABLE, Repair, Sources, proposals

__all__ = ["REPAIRABLE", "Repair", "Sources", "fields", "proposals"]
