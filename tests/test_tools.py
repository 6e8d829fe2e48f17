"""The lints find what they are for, and leave the right thing alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import lint_repository, lint_templates, vendor


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("<script>go()</script>", "inline script"),
        ("<style>p{}</style>", "inline style"),
        ('<p style="color:red">', "inline style"),
        ('<button onclick="go()">', "inline handler"),
        ('<div hx-on:click="go()">', "hx-on"),
        ('<div hx-vals="js:{a: 1}">', "js: values"),
        ('<div hx-vals:inherited="javascript:1">', "js: values"),
        ("<div hx-trigger='click[ctrlKey]'>", "filters in hx-trigger"),
        ('<a href="javascript:go()">', "javascript: address"),
        ("{{ note|safe }}", "unescaped"),
        ("{% autoescape off %}", "unescaped"),
        ('<script src="https://cdn.example/x.js"></script>', "file of another site"),
        ('<form method="post" action="/x/"></form>', "without csrf_token"),
    ],
)
def test_a_fault_in_a_template_is_found_with_its_line(template: str, fault: str) -> None:
    found = list(lint_templates.template_faults(f"<p>\n\n{template}\n"))
    assert {line for line, _ in found} == {3}
    assert any(fault in message for _, message in found)


@pytest.mark.parametrize(
    "template",
    [
        '<script type="module" src="{% static \'js/app.mjs\' %}"></script>',
        '<script type="application/json">{}</script>',
        '<form method="post">{% csrf_token %}</form><form method="get"></form>',
        '<div hx-trigger="every 2s" hx-vals=\'{"a": 1}\'>',
        "<p>The onset = now; a style = habit</p>",
        "{{ safe_text }}",
        '<a href="https://example.org/">elsewhere</a>',
    ],
)
def test_a_right_template_is_left_alone(template: str) -> None:
    assert list(lint_templates.template_faults(template)) == []


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("mark_safe(text)", "mark_safe"),
        ("safestring.mark_safe(text)", "mark_safe"),
        ("@csrf_exempt\ndef view(request): ...", "csrf_exempt"),
        ("format_html(text)", "not a literal"),
        ("format_html(f'<b>{text}</b>')", "not a literal"),
    ],
)
def test_a_fault_in_code_is_found(code: str, fault: str) -> None:
    assert [message for _, _, message in lint_templates.code_faults(code) if fault in message]


def test_escaping_code_is_left_alone() -> None:
    assert list(lint_templates.code_faults("format_html('<b>{}</b>', text)")) == []


def test_a_tracked_file_with_an_address_of_one_machine_is_found() -> None:
    home, registry = "/" + "root/x", "https://" + "pypi" + ".org/simple"
    found = list(lint_repository.faults("docs/a.md", f"fine\n{home}\n{registry}\n"))
    assert found == ["docs/a.md:2: path of one machine", "docs/a.md:3: address of a package registry"]


def test_a_module_without_a_name_of_its_own_and_a_long_one_are_found() -> None:
    found = list(lint_repository.faults("checkpoints/utils.py", "x = 1\n" * 501))
    assert [fault.split(": ")[1].split(",")[0] for fault in found] == [
        "a module is named after what it holds",
        "501 lines",
    ]


def test_vendored_files_that_are_changed_missing_or_extra_are_found(tmp_path: Path) -> None:
    (tmp_path / "right.js").write_text("a")
    (tmp_path / "changed.js").write_text("b")
    (tmp_path / "extra.js").write_text("c")
    entries = [
        {"target": "right.js", "sha384": vendor.sha384(b"a")},
        {"target": "changed.js", "sha384": vendor.sha384(b"a")},
        {"target": "missing.js", "sha384": vendor.sha384(b"a")},
    ]
    found = vendor.differences(entries, tmp_path)
    assert [sentence.split()[0] for sentence in found] == ["changed.js", "missing.js", "extra.js"]


def test_new_hashes_replace_only_themselves() -> None:
    text = '# note\n\n[[file]]\ntarget = "a"\nsha384 = "old"\n\n[[file]]\ntarget = "b"\nsha384 = ""\n'
    written = vendor.rewrite(text, vendor.listed(text), {"a": b"1", "b": b"2"})
    expected = text.replace('"old"', f'"{vendor.sha384(b"1")}"').replace('""', f'"{vendor.sha384(b"2")}"')
    assert written == expected
