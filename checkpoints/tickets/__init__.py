"""Approval tickets as pure rules: claims, and offline verification (contract §6)."""

from checkpoints.tickets.claims import TICKET_TYPE, renewed
from checkpoints.tickets.verification import Verification, verify

__all__ = ["TICKET_TYPE", "Verification", "renewed", "verify"]
