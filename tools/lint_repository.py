"""What must not be tracked: addresses of package registries, paths of one machine, nameless modules, ignored files.

python -m tools.lint_repository     one line per fault; ends with 1 if there is any
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent

# Written in pieces, so that this file does not find itself.
_REGISTRIES = (
    "pypi" + r"\.org",
    "pythonhosted" + r"\.org",
    "registry" + r"\.npmjs",
    "registry" + r"\.yarnpkg",
)
_HOMES = ("/" + "root/", "/" + "home/[a-z]", "/" + "Users/[a-zA-Z]", "/" + "work/", "/" + "tmp/tools")
RULES: dict[str, re.Pattern[str]] = {
    "address of a package registry": re.compile("|".join(_REGISTRIES)),
    "path of one machine": re.compile(r"(?<![\w.}])(?:" + "|".join(_HOMES) + ")"),
}
NAMELESS = {"utils.py", "helpers.py", "common.py", "misc.py"}
MOST_LINES = {".py": 500, ".html": 250}


def faults(name: str, text: str) -> Iterator[str]:
    """One sentence per fault of one tracked file."""
    path = PurePosixPath(name)
    if path.name in NAMELESS:
        yield f"{name}: a module is named after what it holds"
    lines = text.splitlines()
    most = MOST_LINES.get(path.suffix)
    if most is not None and len(lines) > most and "migrations" not in path.parts:
        yield f"{name}: {len(lines)} lines, at most {most} are allowed: split it"
    for number, line in enumerate(lines, start=1):
        for message, pattern in RULES.items():
            if pattern.search(line):
                yield f"{name}:{number}: {message}"


def tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name]


def wrongly_tracked() -> Iterator[str]:
    """One sentence per tracked file that git is told to ignore, and per link that leads out of the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--ignored", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        yield f"{name}: is tracked although .gitignore names it: git rm --cached {name}"
    for name in tracked():
        path = ROOT / name
        if path.is_symlink() and not path.resolve().is_relative_to(ROOT):
            yield f"{name}: leads out of the repository, to {path.readlink()}"


def main() -> int:
    found = 0
    for fault in wrongly_tracked():
        print(fault, file=sys.stderr)
        found += 1
    for name in tracked():
        if name.startswith("static/vendor/") or not (ROOT / name).is_file():
            continue
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        for fault in faults(name, text):
            print(fault, file=sys.stderr)
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
