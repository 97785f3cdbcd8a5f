-- Tables of schema version 52, of which rows are taken over (without NOT NULL: a row of a test names what it is about).
CREATE TABLE schema_version ("version" INTEGER, "applied_at" TIMESTAMP, "embers_version" VARCHAR);
CREATE TABLE items ("repo" VARCHAR, "number" INTEGER, "kind" VARCHAR, "title" VARCHAR, "body" VARCHAR, "author" VARCHAR,
    "author_association" VARCHAR, "state" VARCHAR, "state_reason" VARCHAR, "is_draft" BOOLEAN, "merged_at" TIMESTAMP,
    "merge_sha" VARCHAR, "base_ref" VARCHAR, "head_ref" VARCHAR, "milestone" VARCHAR, "created_at" TIMESTAMP,
    "updated_at" TIMESTAMP, "closed_at" TIMESTAMP, "comment_count" INTEGER, "reaction_count" INTEGER, "labels" VARCHAR[],
    "deleted_at" TIMESTAMP, "transferred_to" VARCHAR, "history" BOOLEAN, "content_hash" VARCHAR,
    "stamps" MAP(VARCHAR, TIMESTAMP), "source" VARCHAR, "fetched_at" TIMESTAMP, "page_id" VARCHAR, "milestone_number" INTEGER,
    "milestone_due_at" TIMESTAMP, "locked" BOOLEAN, "lock_reason" VARCHAR, "issue_type" VARCHAR, "closed_by" VARCHAR,
    "merged_by" VARCHAR, "head_sha" VARCHAR, "check_state" VARCHAR);
CREATE TABLE gold_labels ("repo" VARCHAR, "number" INTEGER, "scheme" VARCHAR, "value" VARCHAR, "annotator_kind" VARCHAR,
    "annotator" VARCHAR, "evidence" VARCHAR, "labelled_at" TIMESTAMP, "source" VARCHAR, "fetched_at" TIMESTAMP,
    "page_id" VARCHAR);
CREATE TABLE runs ("case_hash" VARCHAR, "build" VARCHAR, "environment" VARCHAR, "profile" VARCHAR, "batch" INTEGER,
    "attempt" INTEGER, "injected" BOOLEAN, "outcome" VARCHAR, "detail" VARCHAR, "signature" VARCHAR, "exit_code" INTEGER,
    "signal" INTEGER, "ended" VARCHAR, "stdout" VARCHAR, "stderr" VARCHAR, "duration" DOUBLE, "cpu" DOUBLE,
    "peak_memory" BIGINT, "zygote" VARCHAR, "seed" INTEGER, "guarantees" VARCHAR[], "ran_at" TIMESTAMP, "repeated" VARCHAR,
    "memory_counted_by" VARCHAR, "kernel" VARCHAR);
CREATE TABLE verdicts ("case_hash" VARCHAR, "build" VARCHAR, "environment" VARCHAR, "profile" VARCHAR, "batch" INTEGER,
    "verdict" VARCHAR, "flaky" BOOLEAN, "k" INTEGER, "n" INTEGER, "detectable_rate" DOUBLE, "control" VARCHAR,
    "control_build" VARCHAR, "control_k" INTEGER, "control_n" INTEGER, "detail" VARCHAR, "signature" VARCHAR,
    "decided_at" TIMESTAMP, "provenance" VARCHAR DEFAULT 'own', "written" BIGINT);
CREATE TABLE status_history ("repo" VARCHAR, "number" INTEGER, "backend" VARCHAR, "reference" VARCHAR, "status" VARCHAR,
    "previous" VARCHAR, "evidence" VARCHAR, "decided_at" TIMESTAMP, "provenance" VARCHAR DEFAULT 'own', "written" BIGINT);
CREATE TABLE announcements ("repo" VARCHAR, "number" INTEGER, "backend" VARCHAR, "reference" VARCHAR, "kind" VARCHAR,
    "text" VARCHAR, "announced_at" TIMESTAMP, "written" BIGINT, "is_told" BOOLEAN);
CREATE TABLE observations ("script" VARCHAR, "build" VARCHAR, "version" VARCHAR, "environment" VARCHAR, "seed" INTEGER,
    "batch" INTEGER, "attempt" INTEGER, "ending" VARCHAR, "what" VARCHAR, "message" VARCHAR, "frame" VARCHAR,
    "printed" VARCHAR, "threads" INTEGER, "zygote" VARCHAR, "duration" DOUBLE, "guarantees" VARCHAR[], "kernel" VARCHAR,
    "ran_at" TIMESTAMP);
CREATE TABLE timelines ("repo" VARCHAR, "number" INTEGER, "script" VARCHAR, "environment" VARCHAR, "device" VARCHAR,
    "place" INTEGER, "versions" VARCHAR[], "ending" VARCHAR, "what" VARCHAR, "shown" VARCHAR, "runs" INTEGER,
    "confirmed" BOOLEAN, "match" VARCHAR, "evidence" VARCHAR, "flip" VARCHAR, "at_fix" BOOLEAN, "provenance" VARCHAR,
    "decided_at" TIMESTAMP);
CREATE TABLE fix_tests ("repo" VARCHAR, "commit_sha" VARCHAR, "path" VARCHAR, "owner" VARCHAR, "test" VARCHAR,
    "change" VARCHAR, "issues" VARCHAR[], "pull_number" INTEGER, "committed_at" TIMESTAMP, "status" VARCHAR, "reason" VARCHAR,
    "detail" VARCHAR, "name" VARCHAR, "case_hash" VARCHAR, "first_release" VARCHAR, "first_release_by" VARCHAR,
    "later" VARCHAR, "rules" VARCHAR, "decided_at" TIMESTAMP, "subject" VARCHAR, "same" VARCHAR[],
    "provenance" VARCHAR DEFAULT 'own');
CREATE TABLE fix_test_classes ("name" VARCHAR, "class" VARCHAR, "reason" VARCHAR, "detail" VARCHAR, "failed" VARCHAR[],
    "passed" VARCHAR[], "unusable" VARCHAR[], "validated_before" VARCHAR, "validated_after" VARCHAR, "fails_on_newest" BOOLEAN,
    "signature" VARCHAR, "rules" VARCHAR, "decided_at" TIMESTAMP, "unusable_because" VARCHAR[], "variants" INTEGER,
    "variants_run" INTEGER, "provenance" VARCHAR DEFAULT 'own');
CREATE TABLE artifacts ("name" VARCHAR, "kind" VARCHAR, "code" VARCHAR, "made_at" TIMESTAMP);
CREATE TABLE edits ("name" VARCHAR, "kind" VARCHAR, "position" INTEGER, "action" VARCHAR, "line" INTEGER, "before" VARCHAR,
    "after" VARCHAR, "reason" VARCHAR);
CREATE TABLE oracle_runs ("run" VARCHAR, "name" VARCHAR, "case_hash" VARCHAR, "build" VARCHAR, "environment" VARCHAR,
    "profile" VARCHAR, "oracles" VARCHAR[], "result" VARCHAR, "detail" VARCHAR, "exit_code" INTEGER, "signal" INTEGER,
    "compared" INTEGER, "looked" VARCHAR, "duration" DOUBLE, "guarantees" VARCHAR[], "ran_at" TIMESTAMP, "kernel" VARCHAR);
CREATE TABLE oracle_findings ("run" VARCHAR, "place" INTEGER, "oracle" VARCHAR, "op" VARCHAR, "overload" VARCHAR,
    "severity" VARCHAR, "value" VARCHAR, "line" VARCHAR, "message" VARCHAR, "finding" VARCHAR);
CREATE TABLE bisections ("session" VARCHAR, "number" INTEGER, "subject" VARCHAR, "batch" INTEGER, "started_at" TIMESTAMP,
    "finished_at" TIMESTAMP, "kind" VARCHAR, "confidence" DOUBLE, "text" VARCHAR, "commits_before" VARCHAR,
    "commits_after" VARCHAR, "commits_basis" VARCHAR, "commits_total" BIGINT);
CREATE TABLE bisection_steps ("session" VARCHAR, "number" INTEGER, "version" VARCHAR, "batch" INTEGER, "answer" VARCHAR,
    "k" INTEGER, "n" INTEGER, "confidence" DOUBLE, "detail" VARCHAR, "asked_at" TIMESTAMP);
CREATE TABLE bisection_commits ("session" VARCHAR, "number" INTEGER, "place" INTEGER, "sha" VARCHAR, "committed_at" VARCHAR,
    "subject" VARCHAR, "pull" BIGINT, "fixes" BIGINT[], "words" VARCHAR[], "files" VARCHAR[], "names_the_issue" BOOLEAN);
CREATE TABLE reductions ("name" VARCHAR, "build" VARCHAR, "script" VARCHAR, "result" VARCHAR, "detail" VARCHAR,
    "characters" INTEGER, "kept" INTEGER, "tests" INTEGER, "seconds" DOUBLE, "stopped" BOOLEAN, "decided_at" TIMESTAMP);
CREATE TABLE builds ("build" VARCHAR, "name" VARCHAR, "version" VARCHAR, "git_commit" VARCHAR, "channel" VARCHAR,
    "platform" VARCHAR, "python" VARCHAR, "seen_at" TIMESTAMP);
CREATE TABLE environments ("environment" VARCHAR, "device" VARCHAR, "device_name" VARCHAR, "driver" VARCHAR, "system" VARCHAR,
    "processor" VARCHAR, "capability" VARCHAR, "threads" INTEGER, "seen_at" TIMESTAMP);
CREATE TABLE cases ("case_hash" VARCHAR, "name" VARCHAR, "origin" VARCHAR, "current" BOOLEAN, "code" VARCHAR,
    "summary" VARCHAR, "bug_type" VARCHAR, "memory_type" VARCHAR, "memory_subtype" VARCHAR, "consequence" VARCHAR,
    "requires" VARCHAR[], "known_bad" VARCHAR[], "fixed_in" VARCHAR, "signature" VARCHAR[], "oracle" VARCHAR, "timeout" DOUBLE,
    "saved_at" TIMESTAMP);
CREATE TABLE case_items ("case_hash" VARCHAR, "repo" VARCHAR, "number" INTEGER, "relation" VARCHAR);
CREATE TABLE raw_pages ("seq" BIGINT, "batch" BIGINT, "page_id" VARCHAR, "repo" VARCHAR, "source" VARCHAR, "kind" VARCHAR,
    "request" VARCHAR, "fetched_at" TIMESTAMP, "size" BIGINT, "body" BLOB);
