// GitHub's published GraphQL schema as an executable graphql-js schema.
import { readFileSync } from "node:fs";
import { buildSchema, extendSchema, GraphQLError, Kind, parse } from "graphql";

const file = new URL("node_modules/@octokit/graphql-schema/schema.graphql", import.meta.url);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$/;

function moment(value) {
  if (typeof value !== "string" || !TIME.test(value)) {
    throw new GraphQLError(`${JSON.stringify(value)} is not an ISO 8601 DateTime`);
  }
  return value;
}

// What GitHub's schema has and the newest package does not. An older GitHub Enterprise Server lacks it, too.
const YOUNG = "type IssueType { name: String! } extend type Issue { issueType: IssueType }";

export function githubSchema({ older = false } = {}) {
  const published = buildSchema(readFileSync(file, "utf8"), { assumeValidSDL: true });
  const schema = older ? published : extendSchema(published, parse(YOUNG), { assumeValidSDL: true });
  // The published text names the scalar but cannot say what it accepts.
  const time = schema.getType("DateTime");
  time.serialize = moment;
  time.parseValue = moment;
  time.parseLiteral = (node) => moment(node.kind === Kind.STRING ? node.value : undefined);
  return schema;
}
