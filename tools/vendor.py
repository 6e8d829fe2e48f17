"""Files of other projects under static/vendor: fetch them, or prove that they are what vendor.toml lists.

python -m tools.vendor           pack each listed version with npm, copy the listed files, write their hashes
python -m tools.vendor --check   hash the committed files again; needs no network and no npm
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "vendor.toml"
FOLDER = ROOT / "static" / "vendor"


def listed(text: str) -> list[dict[str, str]]:
    """The entries of vendor.toml: target (in static/vendor), sha384, and either package, version and source (in the
    package) or `built_by`, the script that writes the target from pinned packages."""
    return list(tomllib.loads(text).get("file", []))


def sha384(content: bytes) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def differences(entries: list[dict[str, str]], folder: Path) -> list[str]:
    """One sentence per file that is missing, changed or not listed."""
    found = []
    for entry in entries:
        path = folder / entry["target"]
        if not path.is_file():
            found.append(f"{entry['target']} is listed but missing. Run `make vendor`.")
        elif (actual := sha384(path.read_bytes())) != entry["sha384"]:
            found.append(f"{entry['target']} is {actual}, listed as {entry['sha384']}. Run `make vendor`.")
    targets = {entry["target"] for entry in entries}
    present = (path for path in sorted(folder.rglob("*")) if path.is_file())
    found += [
        f"{name} is in static/vendor but not listed in vendor.toml."
        for name in (path.relative_to(folder).as_posix() for path in present)
        if name not in targets
    ]
    return found


def fetch(entries: list[dict[str, str]]) -> dict[str, bytes]:
    """Contents by target. npm verifies each package against the hash its registry publishes."""
    contents: dict[str, bytes] = {}
    for script in sorted({entry["built_by"] for entry in entries if "built_by" in entry}):
        subprocess.run([str(ROOT / script)], check=True)
        for entry in entries:
            if entry.get("built_by") == script:
                contents[entry["target"]] = (FOLDER / entry["target"]).read_bytes()
    entries = [entry for entry in entries if "built_by" not in entry]
    with tempfile.TemporaryDirectory() as scratch:
        for name in sorted({f"{entry['package']}@{entry['version']}" for entry in entries}):
            command = ["npm", "pack", "--silent", "--pack-destination", scratch, name]
            packed = subprocess.run(command, check=True, capture_output=True, text=True)
            with tarfile.open(Path(scratch, packed.stdout.split()[-1])) as archive:
                for entry in entries:
                    if f"{entry['package']}@{entry['version']}" != name:
                        continue
                    member = archive.extractfile(f"package/{entry['source']}")
                    if member is None:
                        raise SystemExit(f"{name} has no file {entry['source']}.")
                    contents[entry["target"]] = member.read()
    return contents


def rewrite(text: str, entries: list[dict[str, str]], contents: dict[str, bytes]) -> str:
    """vendor.toml with the hashes of `contents`; everything else stays as it is."""
    blocks = text.split("[[file]]\n")
    for number, entry in enumerate(entries, start=1):
        lines = [line for line in blocks[number].splitlines() if not line.startswith("sha384 = ")]
        while lines and not lines[-1]:
            lines.pop()
        blocks[number] = "\n".join([*lines, f'sha384 = "{sha384(contents[entry["target"]])}"', "", ""])
    return "[[file]]\n".join(blocks).rstrip("\n") + "\n"


def main(arguments: list[str]) -> int:
    text = LIST.read_text()
    entries = listed(text)
    if arguments == ["--check"]:
        problems = differences(entries, FOLDER)
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    contents = fetch(entries)
    for target, content in contents.items():
        path = FOLDER / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(f"{target}: {len(content)} bytes")
    LIST.write_text(rewrite(text, entries, contents))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
