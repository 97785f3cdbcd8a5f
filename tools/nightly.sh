#!/usr/bin/env bash
# Everything that is tested, in parts. A part that passed on this commit is not made again, so a run that was stopped goes on.
#
#   tools/nightly.sh [PART...]   named parts are made again even if they passed; FLOOR: percent of statements to be reached (88)
set -uo pipefail
cd "$(dirname "$0")/.."
state=.nightly/$(git rev-parse --short HEAD)
mkdir -p "$state"
git diff --quiet HEAD || rm -f "$state"/*.passed # what passed with other files says nothing of this commit
state=$PWD/$state python=$PWD/.venv/bin/python
[ "$(uname)" != Linux ] || export EMBERS_REQUIRE_SANDBOX=1

# tests NAME PYTEST_ARGUMENTS...: with every example of the properties, and what they reached
tests() {
  local name=$1
  shift
  COVERAGE_FILE=$state/coverage.$name $python -m pytest -q --hypothesis-profile=full --cov --cov-report= --durations=10 "$@"
}

properties() { tests properties -n 2 --dist worksteal tests/unit; }
promises() { tests promises -n 2 --dist worksteal tests/promises; }
sandbox() { tests sandbox -n 2 --dist worksteal tests/sandbox; }
thorough() { tests thorough -n 2 --dist worksteal tests/nightly -m "not serial"; }
# these time one run against another, or need the machine to themselves
alone() { tests alone tests/sandbox tests/nightly -m serial; }
coverage() {
  (cd "$state" && "$python" -m coverage combine --quiet --keep --data-file=reached coverage.{properties,promises,sandbox,thorough,alone})
  $python -m coverage report --data-file="$state/reached" --format=total --fail-under="${FLOOR:-88}"
}
processors() { tools/processor_settings.sh -n 2 --dist worksteal tests/unit; }
study() {
  make -s study EMBERS_DATABASE="$work/study.duckdb" STUDY="--out $work/study"
  $python tools/notebook.py --check
}
cases() {
  export EMBERS_BUILDS_DIR=$work/builds EMBERS_DATABASE=$work/runs.duckdb
  .venv/bin/embers mine --source catalog
  if /usr/bin/python3 -c "import torch"; then
    .venv/bin/embers builds add --python /usr/bin/python3 --name system
    .venv/bin/embers builds check
  fi
  .venv/bin/embers run --build all
  export OUT=$work/recheck STATE=$work/state MINE="--source catalog" GITHUB_STEP_SUMMARY=$work/summary.md
  GITHUB_OUTPUT=$work/first tools/recheck-service.sh run
  grep -qx news=true "$work/first" # a first re-check has something to announce
  # the next runner has another database, and what is known from the state
  EMBERS_DATABASE=$work/second.duckdb GITHUB_OUTPUT=$work/second tools/recheck-service.sh run
  grep -qx news=false "$work/second"
}
consumers() {
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install -q -r tests/consumers.txt
  CONSUMERS_PYTHON=$work/venv/bin/python $python -m pytest -q tests/nightly/test_consumers.py
}
# the wheel by uvx and by pipx run, in an empty directory: the core needs no torch, so none may come with it
wheels() {
  local constraints=$PWD/constraints.txt
  $python -m build --outdir "$work" .
  python3 -m venv "$work/runners"
  "$work/runners/bin/pip" install -q -c "$constraints" uv pipx
  mkdir "$work/empty"
  cd "$work/empty"
  export UV_CACHE_DIR=$work/uv UV_CONSTRAINT=$constraints UV_PYTHON_DOWNLOADS=never PIPX_HOME=$work/pipx
  if curl -fsS --max-time 30 -o /dev/null https://pypi.org/simple/duckdb/; then # uv asks PyPI, whatever pip is told
    tried "$work/runners/bin/uvx" --python python3 --from "$work"/torch_embers-*.whl embers
  else
    echo "PyPI is not reachable: uvx is not tried"
  fi
  tried "$work/runners/bin/pipx" run --spec "$work"/torch_embers-*.whl --pip-args "-c $constraints" embers
  [ -z "$(find "$work/uv" "$work/pipx" -name 'torch-*.dist-info')" ]
}
tried() {
  "$@" mine --source catalog --database "$work/tried.duckdb"
  "$@" show 84577 --database "$work/tried.duckdb"
}
workflows() { make -s workflows; }

if [ "${1-}" = --one ]; then # one part, in a process of its own: `set -e` is off inside of a condition
  set -e
  "$2"
  exit
fi
parts=(properties promises sandbox thorough alone coverage processors study cases consumers wheels workflows)
trap 'rm -rf "${work-}"; exit 130' INT TERM
failed=0
[ "$#" = 0 ] || chosen=("$@")
for part in "${chosen[@]:-${parts[@]}}"; do
  if [[ " ${parts[*]} " != *" $part "* ]]; then
    echo "no part $part: ${parts[*]}" >&2
    exit 2
  fi
  if [ "$#" = 0 ] && [ -e "$state/$part.passed" ]; then
    printf '%-11s passed before (%s s)\n' "$part" "$(cat "$state/$part.passed")"
    continue
  fi
  printf -- '--- %s (%s)\n' "$part" "$(date -u +%H:%M:%S)"
  began=$SECONDS
  work=$(mktemp -d)
  if work=$work tools/nightly.sh --one "$part" >"$state/$part.log" 2>&1; then
    printf '%-11s passed in %s s\n' "$part" $((SECONDS - began))
    echo $((SECONDS - began)) >"$state/$part.passed"
  else
    printf '%-11s FAILED after %s s: %s\n' "$part" $((SECONDS - began)) "$state/$part.log"
    tail -n 15 "$state/$part.log"
    rm -f "$state/$part.passed"
    failed=1
  fi
  rm -rf "$work"
done
exit "$failed"
