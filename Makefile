# `make` explains itself; `make demo` and `make test` work from an empty clone.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOME_FOLDER ?= data
SHARED ?= ../shared
export MEMORY_PIPELINE_HOME := $(HOME_FOLDER)

.PHONY: help demo test ui docs bench quality lint install clean

help: ## Say what each target does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(BIN)/memory-pipeline: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "error: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V 2>/dev/null || echo not there); name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@command -v g++ c++ clang++ >/dev/null || { echo "error: hnswlib is built from source and no C++ compiler was found; install one (Debian: apt-get install g++; macOS: xcode-select --install)" >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || { echo "error: hnswlib is built from source and $(PYTHON) has no headers; install them (Debian: apt-get install python3-dev)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "error: no virtual environment could be made; install it (Debian: apt-get install python3-venv)" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

install: $(BIN)/memory-pipeline ## Make .venv and install everything into it

demo: install ## Sample data, one nightly run through Dagster, a report, and an empty second plan
	@.ci/demo $(BIN)

test: install ## Everything CI runs: format, lint, types, definitions, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/dagster definitions validate
	$(BIN)/dagster definitions validate -w workspace.yaml
	$(BIN)/pytest -n 2

lint: install ## Format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

ui: install ## Dagster UI with daemon on http://localhost:3000
	$(BIN)/memory-pipeline init
	DAGSTER_HOME=$(abspath $(HOME_FOLDER))/dagster $(BIN)/dagster dev

docs: install ## Write the pages of docs/ that are made from the code
	$(BIN)/python -m memory_pipeline.service.documentation docs
	$(BIN)/typer memory_pipeline.service.commands utils docs --name memory-pipeline --title Commands --output docs/cli.md

bench: install ## Benchmarks: ratios against a peer or a limit in the same run, and growth
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

quality: install ## Write docs/quality.md: recall before and after forgetting, on the data in SHARED
	POLARS_MAX_THREADS=1 $(BIN)/python -m memory_pipeline.evaluation.quality $(SHARED) --out docs/quality.md

clean: ## Remove the environment and what tools left; keeps data
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
