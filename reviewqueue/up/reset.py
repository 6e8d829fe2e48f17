"""`make reset`: delete DATA_DIR and the database that belongs to it, after a question.

Exit codes: 0 deleted or nothing there, 1 the answer was not yes, 2 a setting cannot be used, 3 it is running.
"""

from __future__ import annotations

import os
import shutil
import sys

from reviewqueue.up.embedded import postgres_folder
from reviewqueue.up.options import WrongOption, read_options
from reviewqueue.up.state import AlreadyRunning, State
from reviewqueue.up.supervisor import say


def main() -> int:
    try:
        options = read_options([], os.environ)
    except WrongOption as error:
        say(str(error))
        return 2
    if not options.data_dir.exists():
        say(f"{options.data_dir} is not there; nothing to delete.")
        return 0
    folders = [options.data_dir, postgres_folder(options.data_dir)]
    try:
        lock = State(options.data_dir).lock("reset")
    except AlreadyRunning as error:
        say(f"It is running in {options.data_dir} ({error}). Stop it first.")
        return 3
    with lock:
        try:
            answer = input(f"Delete {options.data_dir} and its database? Type yes: ")
        except EOFError:
            answer = ""
        if answer.strip().lower() != "yes":
            say("Nothing was deleted.")
            return 1
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    say("Deleted. The next `make run` starts afresh.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
