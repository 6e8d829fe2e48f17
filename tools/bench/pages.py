"""What the pages cost with a long queue: the server's time for each of them with fifty thousand open handoffs.

Runs as a process of its own in the database of the environment: python -m tools.bench.pages
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import statistics
import subprocess
import sys
import time
from typing import Any

from reviewqueue.up.state import ROOT
from tools.bench.documents import with_steps
from tools.bench.figures import show
from tools.bench.load import NUMBER
from tools.bench.machine import Machine
from tools.bench.past import drained

OPEN = 50_000
TIMES = 30
MANAGERS = ("dashboard", "audit")


def measure(machine: Machine, _: float) -> None:
    """Median and 95th percentile in milliseconds by page, signed in as a senior operator or manager. Goal: 50."""
    machine.manage("collectstatic", "--no-input", "--verbosity=0")
    machine.manage("seed_queue", "--open", str(OPEN))
    with machine.connect() as connection:
        connection.execute("ANALYZE")
    command = [sys.executable, "-m", "tools.bench.pages"]
    done = subprocess.run(
        command, env=machine.environment(), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    sys.stdout.write(done.stdout)
    sys.stdout.flush()


def addresses() -> dict[str, str]:
    """Name to address. The handoff is the first of the queue."""
    from checkpoints.models import Handoff

    handoff = (
        Handoff.objects.awaiting_person()
        .select_related("session", "orchestrator")
        .order_by("-urgency")
        .first()
    )
    if handoff is None:
        raise RuntimeError("Nothing waits.")
    large = _large(handoff)
    tabs = ("waiting", "mine", "second", "risk", "escalated", "rejected")
    return {
        **{f"queue_{tab}": f"/queue/?view={tab}" for tab in tabs},
        "queue_rare_word": "/queue/?q=40123",
        "queue_common_word": "/queue/?q=photographs",
        "queue_terms": "/queue/?severity=medium&role=billing&is=unclaimed",
        "queue_untold": "/queue/?is=untold",
        "queue_views": "/queue/views/",
        "handoffs": "/handoffs/",
        "handoff": f"/handoffs/{handoff.pk}/",
        "handoff_of_100000_values": f"/handoffs/{large.pk}/",
        "edit": f"/handoffs/{handoff.pk}/edit/",
        "session": f"/sessions/{handoff.session.session_id}/",
        "audit": "/audit/",
        "dashboard": "/dashboard/",
        "policy": "/policy/",
    }


def _large(beside: Any) -> Any:
    """A handoff of the same orchestrator with nearly as many values as are admitted."""
    from checkpoints.formats import admit as read
    from checkpoints.models import Handoff
    from checkpoints.services.admission import admit
    from checkpoints.types import Actor

    rows = [[number, "x" * 20, 1] for number in range(24_700)]
    snapshot = {"user_intent": "Look", "key_facts": ["x"], "rows": rows}
    document = json.loads(json.dumps(with_steps(1)).replace(NUMBER, secrets.token_hex(8)))
    body = json.dumps(document | {"human_approval_required": True, "context_snapshot": snapshot}).encode()
    name = beside.orchestrator.name
    admitted = admit(
        orchestrator=beside.orchestrator,
        body=body,
        submission=read(body),
        actor=Actor("orchestrator", name, name),
    )
    drained()
    return Handoff.objects.get(pk=admitted.handoff_id)


def show_all(clients: dict[str, Any]) -> None:
    for name, address in addresses().items():
        client = clients["manager" if name in MANAGERS else "senior_operator"]
        times = []
        for _ in range(TIMES):
            began = time.perf_counter()
            answer = client.get(address)
            times.append((time.perf_counter() - began) * 1000)
            if answer.status_code != 200:
                raise RuntimeError(f"{address} was answered {answer.status_code}.")
        p95 = sorted(times)[int(0.95 * len(times))]
        show(f"page_{name}", statistics.median(times), "ms", p95=p95, bytes=len(answer.content))


def main() -> int:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    django.setup()
    logging.disable(logging.WARNING)
    from django.test import Client

    from reviewqueue.models import Role, User

    clients = {}
    for role in (Role.SENIOR_OPERATOR, Role.MANAGER):
        client = clients[role.value] = Client(headers={"Host": "127.0.0.1"})
        client.force_login(User.objects.create_user(username=f"bench-{role.value}", password=None, role=role))
    show_all(clients)
    return 0


if __name__ == "__main__":
    sys.exit(main())
