# Trainwatch: everything a fresh machine needs is built here, into .venv.
PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
# Each stamp is written last, so an interrupted set-up is done again.
RUN_STAMP := .venv/.run-installed
DEV_STAMP := .venv/.dev-installed

.PHONY: help demo test check bench clean .venv
help:
	@echo "make demo [PORT=8501]  the dashboard on an embedded account with sample jobs"
	@echo "make test              every check and test"
	@echo "make bench             the benchmarks, as tables"
	@echo "make .venv             the environment alone"

.venv: $(RUN_STAMP)

$(RUN_STAMP): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Trainwatch needs Python 3.11 or newer, this is %s. Name another one: make PYTHON=python3.12" % sys.version.split()[0])'
	@$(PYTHON) -c 'import venv, ensurepip' || { echo "This Python cannot make environments. Install its venv package (Debian: apt-get install python3-venv), then try again."; exit 1; }
	@echo "Building the environment in .venv (about a minute, only once)..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(DEV_STAMP): $(RUN_STAMP) requirements-dev.txt
	@echo "Adding the test tools to .venv (only once)..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
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

bench: $(DEV_STAMP)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
