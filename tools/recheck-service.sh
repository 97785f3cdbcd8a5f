#!/usr/bin/env bash
# The steps of the scheduled re-check. .github/workflows/recheck.yml only calls them, and .ci/run runs them on its own machine.
#
#   tools/recheck-service.sh restore   fetch the state that the last run left (gh; permission actions: read)
#   tools/recheck-service.sh run       prove the sandbox, install builds, mine, re-check
#   tools/recheck-service.sh issue     open or update the one tracking issue (gh; permission issues: write)
#
# What they take from the environment:
#   EMBERS  the program                    BUILDS  releases to install, separated by blanks
#   ONLY    open, closed or all            MINE    options of `embers mine`, separated by blanks
#   OUT     folder for the report          STATE   folder for what the next run must know
#   TITLE   of the tracking issue          ARTIFACT  name of the artifact that `restore` fetches
set -euo pipefail
set -f # BUILDS and MINE are split at blanks, and never matched against files
embers=${EMBERS:-.venv/bin/embers} out=${OUT:-recheck} state=${STATE:-recheck-state}
export TITLE=${TITLE:-"embers: what re-checks announced"}
LONGEST=60000 # bytes, never fewer than characters; GitHub takes 65,536 of these for the body of an issue

# Run a command whose output holds text of other people: nothing in it is obeyed as a workflow command.
said() {
  local code=0 token=""
  if [ -n "${GITHUB_ACTIONS:-}" ]; then
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$token"
  fi
  "$@" 2>&1 || code=$?
  [ -z "$token" ] || printf '\n::%s::\n' "$token"
  return "$code"
}

restore() {
  local name=${ARTIFACT:-recheck-state} found
  # Only an empty list is a first run. An answer or a download that fails ends the step: without the state, or with an
  # older one, what is known would be announced again. A pull request of a fork can upload an artifact of any name.
  found=$(gh api --method GET --paginate 'repos/{owner}/{repo}/actions/artifacts' -f name="$name" -F per_page=100 --jq '
    .artifacts[]
    | select(.expired == false and .workflow_run.head_repository_id == .workflow_run.repository_id)
    | "\(.created_at) \(.workflow_run.id)"' | sort | tail -n 1)
  rm -rf "$state"
  if [ -z "$found" ]; then
    echo "no earlier state: every status is announced as new"
    return
  fi
  gh run download "${found#* }" --name "$name" --dir "$state"
  echo "state of run ${found#* }"
}

builds() {
  local version
  for version in ${BUILDS:-}; do
    if ! [[ $version =~ ^[A-Za-z0-9][A-Za-z0-9.+-]*$ ]]; then
      echo "::warning::a build has a name that no release has, and is left out"
    elif ! said "$embers" builds add "$version"; then
      echo "::warning::torch $version cannot be installed here"
    fi
  done
  said "$embers" builds list
}

recheck() { # what it prints on standard output are annotations, which embers has escaped
  "$embers" recheck --only "${ONLY:-all}" --build all --out "$out" --state "$state" --annotations >"$out/annotations.txt"
}

run() {
  local code=0 news=false
  mkdir -p "$out"
  if [ "$(uname)" = Linux ]; then said "$embers" doctor; fi
  builds
  # shellcheck disable=SC2086 # options are split at blanks
  said "$embers" mine ${MINE:-}
  said recheck || code=$?
  case $code in
    0 | 12) ;;       # 12: a build could not be used; the annotations name it, and what is known is kept
    10) news=true ;; # something changed, which is no failure
    *) return "$code" ;;
  esac
  cat "$out/annotations.txt"
  cat "$out/recheck.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
  echo "news=$news" >>"${GITHUB_OUTPUT:-/dev/stdout}"
}

# The report, cut at a line where GitHub would refuse it whole.
body() {
  LC_ALL=C awk -v longest="$LONGEST" '
    (total += length($0) + 1) > longest {
      if (fence) print fence # what follows would be code
      print "\nThe rest is in the artifact of the run."
      exit
    }
    match($0, /^ *```+/) {
      line = substr($0, 1, RLENGTH)
      if (!fence) fence = line
      else if ($0 ~ /^ *```+ *$/ && length(line) >= length(fence)) fence = ""
    }
    { print }' "$out/recheck.md"
  printf '\nWritten by the re-check: %s\n' "${RUN_URL:-a run without a page}"
}

issue() {
  local number text
  text=$(mktemp)
  body >"$text"
  # An issue of the same title that somebody else opened is not touched. By REST: `gh issue list --app` asks GraphQL for issues
  # created by "app/github-actions", a name that this does not know, and would find none.
  number=$(gh api --method GET --paginate 'repos/{owner}/{repo}/issues' -f state=open -f creator='github-actions[bot]' -F per_page=100 \
    --jq '.[] | select(.pull_request == null and .user.login == "github-actions[bot]" and .title == env.TITLE) | .number' | sort -n | head -n 1)
  if ! [[ $number =~ ^[0-9]*$ ]]; then
    echo "the list of issues answered with something that is no number of an issue: run the step again" >&2
    return 1
  fi
  if [ -n "$number" ]; then
    gh issue edit "$number" --body-file "$text"
    gh issue comment "$number" --body "Something changed: the report above is new. ${RUN_URL:-}"
  else
    gh issue create --title "$TITLE" --body-file "$text"
  fi
  rm -f "$text"
}

case ${1:-} in
  restore | run | issue) "$1" ;;
  *)
    echo "usage: $0 restore|run|issue" >&2
    exit 2
    ;;
esac
