"""What a GraphQL query costs by GitHub's documented rule, and which queries it refuses for their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import graphql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST = 100
"""Records of one connection that a query may ask for."""
NODE_LIMIT = 500_000


def error(kind: str, message: str) -> graphql.GraphQLError:
    """An error of a type that GitHub has names for."""
    return graphql.GraphQLError(message, extensions={"type": kind})


class Price:
    """What a query costs: one request per connection and parent, as many as it asks for and not as there are."""

    def __init__(
        self, made: graphql.GraphQLSchema, document: graphql.DocumentNode, variables: Mapping[str, Any]
    ) -> None:
        self.schema, self.variables = made, variables
        self.requests = self.nodes = 0
        self.errors: list[graphql.GraphQLError] = []
        self.fragments = {
            d.name.value: d for d in document.definitions if isinstance(d, graphql.FragmentDefinitionNode)
        }
        operation = next(d for d in document.definitions if isinstance(d, graphql.OperationDefinitionNode))
        self._walk(operation.selection_set, made.query_type, 1)
        if self.nodes > NODE_LIMIT:
            message = (
                f"This query requests up to {self.nodes:,} possible nodes which exceeds the maximum limit of 500,000."
            )
            self.errors.append(error("MAX_NODE_LIMIT_EXCEEDED", message))

    @property
    def points(self) -> int:
        """A hundredth of the requests, rounded, and at least 1."""
        return max(1, round(self.requests / 100))

    def _fields(self, selections: Any, parent: Any) -> Iterator[tuple[Any, Any]]:
        for node in selections.selections:
            if isinstance(node, graphql.FieldNode):
                yield node, parent
            elif isinstance(node, graphql.FragmentSpreadNode):
                fragment = self.fragments[node.name.value]
                yield from self._fields(
                    fragment.selection_set, self.schema.get_type(fragment.type_condition.name.value)
                )
            else:
                kind = self.schema.get_type(node.type_condition.name.value) if node.type_condition else parent
                yield from self._fields(node.selection_set, kind)

    def _walk(self, selections: Any, parent: Any, parents: int) -> None:
        for node, kind in self._fields(selections, parent):
            field = getattr(kind, "fields", {}).get(node.name.value)
            if field is None or node.selection_set is None:
                continue
            inner = graphql.get_named_type(field.type)
            given = graphql.get_argument_values(field, node, self.variables)
            count = parents * len(given.get("ids", "1"))
            if inner.name.endswith("Connection"):
                count = self._connection(node, inner, given.get("first"), parents)
            self._walk(node.selection_set, inner, count)

    def _connection(self, node: Any, kind: Any, size: int | None, parents: int) -> int:
        name = node.name.value
        if size is None:
            if any(child.name.value == "nodes" for child, _ in self._fields(node.selection_set, kind)):
                message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                self.errors.append(error("MISSING_PAGINATION_BOUNDARIES", message))
            return parents
        if size > MOST:
            message = (
                f"Requesting {size} records on the `{name}` connection exceeds the `first` limit of {MOST} records."
            )
            self.errors.append(error("EXCESSIVE_PAGINATION", message))
        self.requests += parents
        self.nodes += parents * size
        return parents * size
