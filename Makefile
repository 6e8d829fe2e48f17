# `make run` and `make test` are all that a newcomer needs; CI calls the same targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON_RUN := .venv/bin/python
export UV_PYTHON_DOWNLOADS := never

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: .venv-run  ## everything with demo data on http://127.0.0.1:8000 (PORT and DATA_DIR move it)
	@exec $(PYTHON_RUN) -m reviewqueue.up --with-parent

test: .venv-dev  ## the suite on throw-away servers, without the long tests
	@$(PYTHON_RUN) -m pytest -q -n 2 --dist loadgroup -m "not full"

test-pages: .venv-dev  ## every page in Chromium: axe, contrast, widths, targets, CSP, weight, journeys
	@$(PYTHON_RUN) -m pytest -q -n 2 --dist loadfile tests/test_browser.py tests/test_browser_*.py -m full

test-full: .venv-dev  ## all tests, long races too
	@$(PYTHON_RUN) -m pytest -q -n 2 --dist loadgroup

chaos: .venv-dev  ## a minute of kills, pauses and restarts, judged from outside (ARGS="--seconds 300 --seed 7")
	@$(PYTHON_RUN) -m tools.chaos $(ARGS)

bench: .venv-dev .venv-compared  ## figures as JSON lines
	@$(PYTHON_RUN) -m tools.bench

check: .venv-dev  ## lint, types, import contracts, migrations, templates, vendored files, repository rules
	@.venv/bin/ruff check --quiet .
	@.venv/bin/ruff format --quiet --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports --no-logo > .stamps/imports.log || { cat .stamps/imports.log; exit 1; }
	@$(PYTHON_RUN) -W ignore::RuntimeWarning manage.py makemigrations --skip-checks --check --dry-run --verbosity=1
	@$(PYTHON_RUN) -m tools.lint_templates
	@$(PYTHON_RUN) -m tools.vendor --check
	@$(PYTHON_RUN) -m tools.lint_repository
	@echo "make check: all good"

format: .venv-dev  ## let ruff sort, fix and format
	@.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .

lock: .venv-dev  ## resolve the requirements anew (UPGRADE=--upgrade takes the newest)
	@tools/lock.sh $(UPGRADE)

vendor: .venv-dev  ## fetch the files of static/vendor again, as vendor.toml lists them
	@$(PYTHON_RUN) -m tools.vendor

reset: .venv-run  ## delete DATA_DIR and its database; asks first
	@exec $(PYTHON_RUN) -m reviewqueue.up.reset

# These return at once when their requirements are installed.
.venv-run:
	@tools/environment.sh run

.venv-dev:
	@tools/environment.sh dev

.venv-compared:
	@tools/environment.sh compared

.PHONY: help run test test-pages test-full chaos bench check format lock vendor reset .venv-run .venv-dev .venv-compared
