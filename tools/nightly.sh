#!/usr/bin/env bash
# Everything that is tested, in parts. A part that passed on this commit is not made again, so a run that was stopped goes on.
#
#   tools/nightly.sh [PART...]   named parts are made again even if they passed; FLOOR: percent of statements to be reached
set -uo pipefail
cd "$(dirname "$0")/.."
state=.nightly/$(git rev-parse --short HEAD)
floor=${FLOOR:-88}
python=.venv/bin/python
mkdir -p "$state"
state=$PWD/$state

# tests NAME FOLDER...: with every example of the properties, and what they reached
tests() {
  local name=$1
  shift
  COVERAGE_FILE=$state/coverage.$name $python -m pytest -q -n 2 --dist worksteal --hypothesis-profile=full \
    --cov --cov-report= --durations=10 "$@"
}

properties() { tests properties tests/unit; }
promises() { tests promises tests/promises; }
sandbox() { tests sandbox tests/sandbox; }
thorough() { tests thorough tests/nightly -m "not serial"; }
# these time one run against another, or need the machine to themselves
alone() { COVERAGE_FILE=$state/coverage.alone $python -m pytest -q tests -m serial --cov --cov-report=; }
processors() { tools/processor_settings.sh tests/unit; }
coverage() {
  (cd "$state" && "$OLDPWD/$python" -m coverage combine --quiet --keep --data-file=reached coverage.*) &&
    $python -m coverage report --data-file="$state/reached" --format=total --fail-under="$floor"
}
study() {
  make -s -j2 study EMBERS_DATABASE="$work/study.duckdb" STUDY="--out $work/study" &&
    $python tools/notebook.py --check
}
cases() {
  export EMBERS_BUILDS_DIR=$work/builds EMBERS_DATABASE=$work/runs.duckdb
  .venv/bin/embers mine --source catalog
  if /usr/bin/python3 -c "import torch" 2>/dev/null; then
    .venv/bin/embers builds add --python /usr/bin/python3 --name system && .venv/bin/embers builds check || return
  fi
  .venv/bin/embers link-repros && .venv/bin/embers run --build all || return
  export OUT=$work/recheck STATE=$work/state MINE="--source catalog" GITHUB_STEP_SUMMARY=$work/summary.md
  GITHUB_OUTPUT=$work/first tools/recheck-service.sh run | tail -3
  grep -qx news=true "$work/first" || return # a first re-check has something to announce
  # the next runner has another database, and what is known from the state
  EMBERS_DATABASE=$work/second.duckdb GITHUB_OUTPUT=$work/second tools/recheck-service.sh run | tail -3
  grep -q "^news=" "$work/second"
}
consumers() {
  python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q -r tests/consumers.txt &&
    CONSUMERS_PYTHON=$work/venv/bin/python $python -m pytest -q tests/nightly/test_consumers.py
}
# the wheel by uvx and by pipx run, in an empty directory: the core needs no torch, so none may come with it
wheels() {
  local constraints=$PWD/constraints.txt
  $python -m build --outdir "$work" . >/dev/null && python3 -m venv "$work/runners" &&
    "$work/runners/bin/pip" install -q -c "$constraints" uv pipx && mkdir "$work/empty" || return
  export UV_CACHE_DIR=$work/uv UV_CONSTRAINT=$constraints UV_PYTHON_DOWNLOADS=never PIPX_HOME=$work/pipx
  if curl -fsS --max-time 30 -o /dev/null https://pypi.org/simple/duckdb/; then # uv asks PyPI, whatever pip is told
    tried "$work/runners/bin/uvx" --python python3 --from "$work"/torch_embers-*.whl embers || return
  else
    echo "PyPI is not reachable: uvx is not tried"
  fi
  tried "$work/runners/bin/pipx" run --spec "$work"/torch_embers-*.whl --pip-args "-c $constraints" embers || return
  [ -z "$(find "$work/uv" "$work/pipx" -name 'torch-*.dist-info')" ]
}
tried() {
  (cd "$work/empty" && "$@" mine --source catalog --database "$work/tried.duckdb" &&
    "$@" show 84577 --database "$work/tried.duckdb" | sed -n 2p)
}
workflows() { make -s workflows; }

parts=(properties promises sandbox thorough alone coverage processors study cases consumers wheels workflows)
failed=0
for part in "${@:-${parts[@]}}"; do
  if [ "$#" = 0 ] && [ -e "$state/$part.passed" ]; then
    printf '%-11s passed before (%s s)\n' "$part" "$(cat "$state/$part.passed")"
    continue
  fi
  if ! declare -F "$part" >/dev/null || [[ " ${parts[*]} " != *" $part "* ]]; then
    echo "no part $part: ${parts[*]}" >&2
    exit 2
  fi
  printf -- '--- %s (%s)\n' "$part" "$(date -u +%H:%M:%S)"
  began=$SECONDS work=$(mktemp -d)
  if (set -e; "$part") >"$state/$part.log" 2>&1; then
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
