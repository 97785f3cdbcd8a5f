# embers: every target does its own set-up (a virtual environment in .venv, installed once and reused).
#   make mine     fill data/embers.duckdb (GitHub with GITHUB_TOKEN, a first hour without, the catalog offline)
#   make test     the quick tests (no token, no server, no GPU)
# Targets name what they need, so any order and `make -j` are fine.

PYTHON ?= python3
BIN := .venv/bin
EMBERS := $(BIN)/embers
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

.PHONY: help setup torch mine status funnel test test-slow test-all lint types docs docs-check bench wheel check clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/.installed: pyproject.toml constraints.txt tools/setup_venv.py
	$(PYTHON) tools/setup_venv.py base
	@touch $@

.venv/.torch: .venv/.installed
	$(PYTHON) tools/setup_venv.py torch
	@touch $@

setup: .venv/.installed ## make .venv with the package, tests and lint
torch: .venv/.torch ## add PyTorch (CPU build) to .venv

mine: setup ## mine the tracker into data/embers.duckdb
	$(EMBERS) mine $(MINE)

status: setup ## what the database holds
	$(EMBERS) status

funnel: mine ## the study's stages, counted here
	$(EMBERS) funnel

test: setup ## the quick tests
	$(BIN)/python -m pytest -q -m "not slow"

test-slow: setup ## kill tests, fault tests, whole mines against stand-in servers
	$(BIN)/python -m pytest -q -m slow

test-all: setup ## everything
	$(BIN)/python -m pytest -q

lint: setup ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## mypy, strict
	$(BIN)/mypy

docs: setup ## rewrite the generated parts of docs/
	$(BIN)/python tools/docs.py

docs-check: setup ## fail where docs/ is stale
	$(BIN)/python tools/docs.py --check

bench: setup ## measure, and rewrite bench/RESULTS.md
	$(BIN)/python bench/run.py

wheel: setup ## build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist .

check: lint types docs-check test ## what a change must pass

clean: ## remove what can be made again (not the database)
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
