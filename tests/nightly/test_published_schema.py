"""Our part of GitHub's GraphQL schema is a part of the published one: the same names, types and arguments."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

import graphql
import pytest

from servers.graph import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "@octokit/graphql-schema"
YOUNG = ("IssueType", "issueType")
"""GitHub has these; the newest package does not. They are compared from the day on which it has them."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> graphql.GraphQLSchema:
    """The newest published schema, from npm."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("schema")
    command = ["npm", "pack", "--silent", PACKAGE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"npm's registry does not answer: {done.stderr[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        text = archive.extractfile("package/schema.graphql")
        assert text is not None
        return graphql.build_schema(text.read().decode(), assume_valid=True)


def differences(ours: graphql.GraphQLSchema, theirs: graphql.GraphQLSchema) -> Iterator[str]:
    """What our schema has, and the other one has not or otherwise."""
    for name, kind in ours.type_map.items():
        other = theirs.type_map.get(name)
        if type(other) is not type(kind):
            yield f"{name}: {type(other).__name__}"
        elif isinstance(kind, graphql.GraphQLEnumType):
            yield from (f"{name}.{value}" for value in kind.values.keys() - other.values.keys())
        elif isinstance(kind, graphql.GraphQLUnionType):
            members = {one.name for one in kind.types} - {one.name for one in other.types}
            yield from (f"{name} = {member}" for member in members)
        elif not isinstance(kind, graphql.GraphQLScalarType):
            interfaces = {one.name for one in getattr(kind, "interfaces", ())}
            yield from (f"{name}: {one}" for one in interfaces - {i.name for i in getattr(other, "interfaces", ())})
            for field, made in kind.fields.items():
                yield from field_differences(f"{name}.{field}", made, other.fields.get(field))


def field_differences(name: str, ours: graphql.GraphQLField, theirs: graphql.GraphQLField | None) -> Iterator[str]:
    """The same for a field of a type, or of an input."""
    if theirs is None or str(ours.type) != str(theirs.type):
        yield f"{name}: {theirs and theirs.type}"
        return
    if theirs.deprecation_reason:
        yield f"{name} goes: {theirs.deprecation_reason}"
    known, given = getattr(theirs, "args", {}), getattr(ours, "args", {})
    for argument, made in given.items():
        if argument not in known or str(made.type) != str(known[argument].type):
            yield f"{name}({argument}: {known.get(argument) and known[argument].type})"
    required = {one for one, made in known.items() if graphql.is_required_argument(made)}
    yield from (f"{name} needs {one}" for one in required - given.keys())


def test_our_schema_is_a_part_of_the_published_one(published: graphql.GraphQLSchema) -> None:
    found = differences(graphql.build_schema(SCHEMA.read_text("utf-8")), published)
    assert [line for line in found if not any(name in line for name in YOUNG)] == []


@pytest.mark.parametrize(
    ("there", "wrong", "found"),
    [
        ("  number: Int!\n", "  number: Int!\n  nope: Int\n", "Issue.nope: None"),
        ("  number: Int!\n", "  number: Int\n", "Issue.number: Int!"),
        ("comments(after: String, first: Int)", "comments(after: Int, first: Int)", "Issue.comments(after: String)"),
        (
            "issueOrPullRequest(number: Int!)",
            "issueOrPullRequest(id: Int!)",
            "Repository.issueOrPullRequest needs number",
        ),
        ("enum IssueState { CLOSED OPEN }", "enum IssueState { CLOSED OPEN AJAR }", "IssueState.AJAR"),
        ("union Closer = Commit | PullRequest", "union Closer = Commit | Issue", "Closer = Issue"),
        ("scalar BigInt\n", "type BigInt { a: Int }\n", "BigInt: GraphQLScalarType"),
    ],
)
def test_what_the_published_schema_does_not_have_is_found(
    published: graphql.GraphQLSchema, there: str, wrong: str, found: str
) -> None:
    text = SCHEMA.read_text("utf-8")
    assert there in text
    assert found in differences(graphql.build_schema(text.replace(there, wrong, 1)), published)
