// What a query costs, by GitHub's documented rule: one request per connection and per parent it is asked on
// (counted with the `first`/`last` that the query asks for, not with what there is), divided by 100, rounded,
// at least 1. Nodes are counted the same way and limited to 500,000. A connection asked only for its
// `totalCount` has no `first` and is taken as free.
import { getArgumentValues, getDirectiveValues, getNamedType, GraphQLIncludeDirective, GraphQLSkipDirective, Kind } from "graphql";

export const NODE_LIMIT = 500000;
const MOST = 100;

function left(node, variables) {
  if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true) return true;
  return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if === false;
}

export function* fieldsOf(context, selectionSet, type) {
  for (const node of selectionSet?.selections ?? []) {
    if (left(node, context.variables)) continue;
    if (node.kind === Kind.FIELD) yield [node, type];
    else if (node.kind === Kind.INLINE_FRAGMENT) {
      const inner = node.typeCondition ? context.schema.getType(node.typeCondition.name.value) : type;
      yield* fieldsOf(context, node.selectionSet, inner);
    } else {
      const fragment = context.fragments[node.name.value];
      yield* fieldsOf(context, fragment.selectionSet, context.schema.getType(fragment.typeCondition.name.value));
    }
  }
}

function paginationError(node, type, message) {
  return { type, path: undefined, locations: [node.loc.startToken].map(({ line, column }) => ({ line, column })), message };
}

function sizeOf(context, node, args, path) {
  const name = node.name.value;
  for (const key of ["first", "last"]) {
    const size = args[key];
    if (size === undefined || size === null) continue;
    if (size > MOST) {
      const message = `Requesting ${size} records on the \`${name}\` connection exceeds the \`${key}\` limit of ${MOST} records.`;
      context.errors.push({ ...paginationError(node, "EXCESSIVE_PAGINATION", message), path });
    } else if (size < 0) {
      const message = `\`${key}\` on the \`${name}\` connection cannot be less than zero.`;
      context.errors.push({ ...paginationError(node, "INVALID_PAGINATION", message), path });
    }
    return size;
  }
  return undefined;
}

function walk(context, selectionSet, type, parents, path) {
  for (const [node, parent] of fieldsOf(context, selectionSet, type)) {
    const field = parent.getFields?.()[node.name.value];
    if (field === undefined || node.selectionSet === undefined) continue;
    const inner = getNamedType(field.type);
    const args = getArgumentValues(field, node, context.variables);
    const here = [...path, node.alias?.value ?? node.name.value];
    let count = parents;
    if (inner.name.endsWith("Connection")) count = connection(context, node, inner, args, parents, here);
    else if (Array.isArray(args.ids)) count = parents * args.ids.length;
    walk(context, node.selectionSet, inner, count, here);
  }
}

function connection(context, node, type, args, parents, path) {
  const size = sizeOf(context, node, args, path);
  if (size !== undefined) {
    context.requests += parents;
    context.nodes += parents * size;
    return parents * size;
  }
  for (const [child] of fieldsOf(context, node.selectionSet, type)) {
    if (["nodes", "edges"].includes(child.name.value)) {
      const message = `You must provide a \`first\` or \`last\` value to properly paginate the \`${node.name.value}\` connection.`;
      context.errors.push({ ...paginationError(node, "MISSING_PAGINATION_BOUNDARIES", message), path });
      break;
    }
  }
  return parents;
}

// Returns { cost, nodes, errors }; errors are GitHub-shaped and mean that the query is refused.
export function price(schema, document, operation, variables) {
  const fragments = Object.fromEntries(
    document.definitions.filter((d) => d.kind === Kind.FRAGMENT_DEFINITION).map((d) => [d.name.value, d]),
  );
  const context = { schema, fragments, variables, requests: 0, nodes: 0, errors: [] };
  walk(context, operation.selectionSet, schema.getRootType(operation.operation), 1, []);
  if (context.nodes > NODE_LIMIT) {
    const asked = context.nodes.toLocaleString("en-US");
    const message = `This query requests up to ${asked} possible nodes which exceeds the maximum limit of 500,000.`;
    context.errors.push({ type: "MAX_NODE_LIMIT_EXCEEDED", message });
  }
  return { cost: Math.max(1, Math.round(context.requests / 100)), nodes: context.nodes, errors: context.errors };
}
