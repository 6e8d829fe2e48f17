"""`python -m checkpoints.verify ticket|audit`: judge tickets and audit bundles offline, without Django or a network.

Exit codes: 0 valid, 1 not valid (the problems are printed), 2 a file is unusable.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from checkpoints import transparency
from checkpoints.canonical import digest
from checkpoints.formats import reread
from checkpoints.tickets import verify
from checkpoints.types import JSONObject

VALID: Final = 0
NOT_VALID: Final = 1
UNUSABLE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    options = _parser().parse_args(arguments)
    return _audit(options) if options.command == "audit" else _ticket(options)


def _ticket(options: argparse.Namespace) -> int:
    try:
        token = _text(options.ticket).strip()
        jwks = _object(_text(options.jwks), options.jwks)
        content_digest = _digest(options.content) if options.content else options.content_digest
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    found = verify(
        token,
        jwks=jwks,
        now=options.now if options.now is not None else int(time.time()),
        audience=options.audience,
        content_digest=content_digest,
    )
    answer = {"valid": found.valid, "problems": list(found.problems), "claims": found.claims}
    if options.json:
        sys.stdout.write(json.dumps(answer) + "\n")
    elif found.valid:
        claims = found.claims or {}
        sys.stdout.write(
            f"valid: {claims.get('ref')} lets {claims.get('aud')} receive {claims.get('sub')}, attempt "
            f"{claims.get('attempt')}, content {claims.get('content_digest')}\n"
        )
    else:
        sys.stdout.write("not valid: " + ", ".join(found.problems) + "\n")
    return VALID if found.valid else NOT_VALID


def _audit(options: argparse.Namespace) -> int:
    try:
        verifier = transparency.read_verifier(options.key)
        kept = list(transparency.read_heads(_text(options.heads))) if options.heads else []
        found = transparency.judge(_text(options.bundle).splitlines(), verifier=verifier, kept=kept)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    valid = not found.problems
    if options.json:
        sys.stdout.write(json.dumps({"valid": valid, **asdict(found)}) + "\n")
    elif valid:
        open_ones = found.entries - found.sealed
        more = f"; {open_ones} are newer than the head and verify by digest only" if open_ones else ""
        sys.stdout.write(
            f"valid: {found.entries} entries, {found.sealed} of them under the head of {found.size} leaves{more}\n"
        )
    else:
        sys.stdout.write("not valid:\n" + "".join(f"  {problem}\n" for problem in found.problems))
    return VALID if valid else NOT_VALID


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m checkpoints.verify",
        description="Judge what the product signed, offline.",
        epilog="Exit codes: 0 valid, 1 not valid, 2 a file is unusable.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    ticket = commands.add_parser("ticket", help="judge an approval ticket against saved public keys")
    ticket.add_argument("ticket", metavar="FILE", help="the compact JWS; - for standard input")
    ticket.add_argument("--jwks", required=True, metavar="FILE", help="what /.well-known/jwks.json answered")
    ticket.add_argument("--audience", help="the role that received it")
    ticket.add_argument("--content-digest", metavar="sha256:…", help="the digest of what was received")
    ticket.add_argument(
        "--content", metavar="FILE", help="the payload that was received: its digest is computed"
    )
    ticket.add_argument("--now", type=int, metavar="SECONDS", help="judge at this Unix time instead of now")
    ticket.add_argument("--json", action="store_true", help="print one JSON object")
    audit = commands.add_parser("audit", help="judge what `manage.py export_audit` wrote")
    audit.add_argument("bundle", metavar="FILE", help="the bundle; - for standard input")
    audit.add_argument("--key", required=True, help="the sealer's verifier key, origin+hash+base64")
    audit.add_argument("--heads", metavar="FILE", help="signed heads that you kept")
    audit.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _text(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")


def _object(text: str, name: str) -> JSONObject:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"{name} holds no JSON object.")
    return value


def _digest(name: str) -> str:
    """The content digest of a payload or of a whole flat document, as tickets bind it."""
    body = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    value = _object(body.decode("utf-8"), name)
    return reread(body).content_digest if "payload" in value else digest(value)


if __name__ == "__main__":
    sys.exit(main())
