"""What a strict content security policy and untrusted documents forbid in templates and in the code beside them.

python -m tools.lint_templates      one line per fault; ends with 1 if there is any
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: (file, name): why this one is right. Everything else that these names do is refused.
EXCEPTIONS: dict[tuple[str, str], str] = {}

_TAG = r"<[a-zA-Z][^<>]*?"
TEMPLATE_RULES: dict[str, re.Pattern[str]] = {
    "inline script: put it into a module under static/": re.compile(
        r"<script(?![^>]*\bsrc=)(?![^>]*type=[\"']application/json[\"'])", re.IGNORECASE
    ),
    "inline style: use a class": re.compile(rf"<style\b|{_TAG}\sstyle\s*=", re.IGNORECASE),
    "inline handler: listen from a module": re.compile(rf"{_TAG}\son[a-z]+\s*=", re.IGNORECASE),
    "hx-on needs eval": re.compile(r"\bhx-on\b", re.IGNORECASE),
    "js: values need eval": re.compile(
        r"\bhx-(?:vals|headers)[:\w]*\s*=\s*[\"'](?:js|javascript):", re.IGNORECASE
    ),
    "filters in hx-trigger need eval": re.compile(r"\bhx-trigger[:\w]*\s*=\s*[\"'][^\"']*\[", re.IGNORECASE),
    "javascript: address": re.compile(r"=\s*[\"']?\s*javascript:", re.IGNORECASE),
    "unescaped output": re.compile(r"\|\s*(?:safe|safeseq)\b|\{%\s*autoescape\s+off"),
    "file of another site: vendor it": re.compile(
        r"<(?:script|link|img|iframe|source|video|audio)\b[^>]*\b(?:src|href)\s*=\s*[\"']?(?:https?:)?//",
        re.IGNORECASE,
    ),
}
_POST_FORM = re.compile(r"<form\b[^>]*\bmethod\s*=\s*[\"']?post.*?</form>", re.IGNORECASE | re.DOTALL)


def template_faults(text: str) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) for one template."""
    for message, pattern in TEMPLATE_RULES.items():
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.end()) + 1, message
    for match in _POST_FORM.finditer(text):
        if "csrf_token" not in match.group():
            yield text.count("\n", 0, match.start()) + 1, "a POST form without csrf_token"


def code_faults(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, name, what is wrong) for one Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in {"mark_safe", "SafeString", "csrf_exempt"}:
                yield (
                    node.lineno,
                    name,
                    f"{name}: list it in tools/lint_templates.py with its reason, or escape",
                )
        elif isinstance(node, ast.Call) and (name := _called(node)) in {"format_html", "format_html_join"}:
            template = node.args[1 if name == "format_html_join" else 0]
            if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
                yield node.lineno, name, f"{name} with a template that is not a literal"


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def main() -> int:
    faults = []
    for folder in ("templates", "checkpoints", "reviewqueue"):
        for path in sorted((ROOT / folder).rglob("*.html")):
            name = path.relative_to(ROOT).as_posix()
            faults += [f"{name}:{line}: {message}" for line, message in template_faults(path.read_text())]
    for folder in ("checkpoints", "reviewqueue"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            faults += [
                f"{name}:{line}: {message}"
                for line, what, message in code_faults(path.read_text())
                if (name, what) not in EXCEPTIONS
            ]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
