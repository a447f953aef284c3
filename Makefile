# Trainwatch: everything a fresh machine needs is built here, into .venv.
PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
# Each stamp is written last, so an interrupted set-up is done again.
RUN_STAMP := .venv/.run-installed
DEV_STAMP := .venv/.dev-installed

# With LOCKED=1 what is tested are the versions and hashes of constraints.txt, and nothing newer.
LOCKED ?=

.PHONY: help demo test test-fast check bench clean audit constraints lowest wheel image .venv
help:
	@echo "make demo [PORT=8501]  the dashboard on an embedded account with sample jobs"
	@echo "make test              every check and test"
	@echo "make test-fast         the tests of what is calculated and said: no browser, no account, no process of their own"
	@echo "make bench             the benchmarks, as tables"
	@echo "make audit             known vulnerabilities of the locked versions (asks the auditor's service)"
	@echo "make wheel             the package that brings the command trainwatch, in dist/"
	@echo "make image             the container of the Dockerfile, with what this machine has"
	@echo "make lowest            the tests, with the lowest versions that are allowed"
	@echo "make constraints       new locked versions, from requirements*.txt"
	@echo "make .venv             the environment alone"

.venv: $(RUN_STAMP)

$(RUN_STAMP): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Trainwatch needs Python 3.11 or newer, this is %s. Name another one: make PYTHON=python3.12" % sys.version.split()[0])'
	@$(PYTHON) -c 'import venv, ensurepip' || { echo "This Python cannot make environments. Install its venv package (Debian: apt-get install python3-venv), then try again."; exit 1; }
	@echo "Building the environment in .venv (about a minute, only once)..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(LOCKED),--require-hashes -r constraints.txt,-r requirements.txt)
	@touch $@

$(DEV_STAMP): $(RUN_STAMP) requirements-dev.txt constraints.txt
	@echo "Adding the test tools to .venv (only once)..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(LOCKED),--require-hashes -r constraints.txt,-r requirements-dev.txt)
	@touch $@

demo: $(RUN_STAMP)
	@exec $(BIN)/python -m monitor demo --port $(PORT)

check: $(DEV_STAMP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

# Three workers on two cores: tests in a browser mostly wait.
test: check
	@$(BIN)/python -m pytest -n 3 --dist loadgroup

# The rooms that touch no world, what is shown of them, and the rules of the house.
FAST := $(addprefix tests/,analyze charts diagnose export masking parse predict show \
	test_house.py test_pricing.py test_spelling.py test_supply.py test_words.py)
test-fast: $(DEV_STAMP)
	@$(BIN)/python -m pytest -n 2 --dist loadgroup $(FAST)

bench: $(DEV_STAMP)
	@$(BIN)/python -m benchmarks

wheel: $(DEV_STAMP)
	@$(BIN)/python -m hatchling build --target wheel

# In an environment of its own; TESTS=tests/cli runs less.
TESTS ?= tests
lowest:
	@$(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt -c constraints-lowest.txt
	@.venv-lowest/bin/python -m pytest -n 3 --dist loadgroup $(TESTS)

# With the first builder that is here and at work.
IMAGE ?= trainwatch
image:
	@for builder in docker podman buildah; do \
		if command -v $$builder >/dev/null 2>&1 && $$builder info >/dev/null 2>&1; then exec $$builder build --tag $(IMAGE) .; fi; \
	done; echo "No builder is at work on this machine: install and start docker, podman or buildah."; exit 3

# Both come from the registry when they are asked for, into a folder of their own.
audit:
	@$(PYTHON) -m venv .venv-tools && .venv-tools/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@.venv-tools/bin/pip-audit --strict --require-hashes --disable-pip -r constraints.txt

constraints:
	@$(PYTHON) -m venv .venv-tools && .venv-tools/bin/python -m pip install --quiet --disable-pip-version-check uv
	@{ grep '^#' constraints.txt; .venv-tools/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate requirements.txt requirements-dev.txt; } > constraints.new && mv constraints.new constraints.txt
	@grep -E '^[a-z]' constraints.txt | sed 's/ *\\$$//' > constraints.pins
	@{ grep '^#' constraints-run.txt; .venv-tools/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate -c constraints.pins requirements.txt; } > constraints.new && mv constraints.new constraints-run.txt
	@rm constraints.pins
	@{ grep '^#' constraints-lowest.txt; .venv-tools/bin/uv pip compile --quiet --universal --python-version 3.11 --resolution lowest-direct \
		--no-header --no-annotate requirements.txt requirements-dev.txt; } > constraints.new && mv constraints.new constraints-lowest.txt

clean:
	rm -rf .venv .venv-tools .venv-lowest dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
