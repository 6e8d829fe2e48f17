"""Store one document again and again by LangGraph's PostgresSaver, from several threads.

Run by compared.py in another environment: DSN=… saver.py THREADS SECONDS < document.json; prints [count, seconds].
"""

import json
import os
import sys
import threading
import time
import uuid

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool


def main() -> None:
    threads, seconds = int(sys.argv[1]), float(sys.argv[2])
    document = json.load(sys.stdin)
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(os.environ["DSN"], min_size=threads, max_size=threads, kwargs=options) as pool:
        pool.wait(30)
        saver = PostgresSaver(pool)
        saver.setup()
        put(saver, document, ends=time.perf_counter() + 0.3)  # warm
        counts: list[int] = []
        began = time.perf_counter()
        workers = [
            threading.Thread(target=lambda: counts.append(put(saver, document, ends=began + seconds)))
            for _ in range(threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        print(json.dumps([sum(counts), time.perf_counter() - began]))


def put(saver: PostgresSaver, document: dict[str, object], *, ends: float) -> int:
    """Checkpoints of one thread of the framework, stored until `ends`."""
    place = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
    count = 0
    while time.perf_counter() < ends:
        count += 1
        checkpoint, version = empty_checkpoint(), f"{count:032}.0"
        checkpoint["channel_values"] = {"state": document}
        checkpoint["channel_versions"] = {"state": version}
        saver.put(place, checkpoint, {"source": "loop", "step": count}, {"state": version})
    return count


if __name__ == "__main__":
    main()
