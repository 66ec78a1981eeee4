# make demo   from a fresh clone to a trained model and its report
# make test   everything that CI runs
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: setup demo test test-fast lint transcript clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; say make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@echo "== virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[embedded,dev]'
	@touch $@

demo: setup
	@$(BIN)/rltpf demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest --durations=15

test-fast: setup
	$(BIN)/pytest -m 'not lean and not slow'

# Records the demo's transcript anew from demo/teacher/*.yaml, with real Lean; needed after every change of a prompt.
transcript: setup
	$(BIN)/python -m demo.record

clean:
	rm -rf $(VENV) runs
