// node graphql.mjs PORT DATASET.ndjson : GitHub's published GraphQL schema over a dataset, with quota and faults.
// The first line of the dataset has all but the items; each further line is [index of the repository, item].
//   POST /graphql                         GraphQL, token needed
//   GET  /repos/{o}/{r}[/issues/{n}]      the few REST answers that a GraphQL miner asks for (also /repositories/{id})
//   GET  /rate_limit
//   POST /__admin {"op": ...}             change data, quota and faults; GET /__admin reads the counters
import { closeSync, openSync, readSync } from "node:fs";
import http from "node:http";
import { execute, getOperationAST, getVariableValues, parse, validate } from "graphql";
import { price } from "./cost.mjs";
import { rootValue, World } from "./resolvers.mjs";
import { githubSchema } from "./schema.mjs";

const [port, file] = process.argv.slice(2);
let schema = githubSchema();
const HOUR = 3600;
const now = () => Math.floor(Date.now() / 1000);
const buckets = new Map();
let world;
let tokens;
let limits;
let faults;
let counters;

function resetCounters() {
  counters = { graphql: 0, rest: 0, cost: 0, nodes: 0, refused: 0, faults: 0, partial: 0, met: {}, queries: [] };
}

// The lines of a file, read in parts: a large dataset is longer than a string can be in Node (512 MiB).
function* lines(path) {
  const handle = openSync(path, "r");
  const part = Buffer.alloc(1 << 20);
  let rest = [];
  for (let length = readSync(handle, part); length > 0; length = readSync(handle, part)) {
    let start = 0;
    for (let end = part.indexOf(10); end !== -1 && end < length; end = part.indexOf(10, start)) {
      yield Buffer.concat([...rest, part.subarray(start, end)]).toString("utf8");
      rest = [];
      start = end + 1;
    }
    if (start < length) rest.push(Buffer.from(part.subarray(start, length)));
  }
  closeSync(handle);
  if (rest.length > 0) throw new Error(`${path} ends in the middle of a line`);
}

function restore() {
  schema = githubSchema();
  const read = lines(file);
  const settings = JSON.parse(read.next().value);
  world = new World(settings);
  for (const line of read) world.add(...JSON.parse(line));
  tokens = new Set(settings.tokens);
  limits = { graphql: { limit: 5000, reset: HOUR }, core: { limit: 5000, reset: HOUR } };
  buckets.clear();
  faults = [];
  resetCounters();
}
restore();

function bucket(token, resource) {
  const key = `${resource} ${token}`;
  let found = buckets.get(key);
  if (found === undefined || found.reset <= now()) {
    found = { limit: limits[resource].limit, used: 0, reset: now() + limits[resource].reset, resource };
    buckets.set(key, found);
  }
  return found;
}

const remaining = (quota) => Math.max(0, quota.limit - quota.used);

function rateHeaders(quota) {
  return {
    "x-ratelimit-limit": quota.limit,
    "x-ratelimit-remaining": remaining(quota),
    "x-ratelimit-used": quota.used,
    "x-ratelimit-reset": quota.reset,
    "x-ratelimit-resource": quota.resource,
  };
}

const answer = (status, body, headers = {}) => ({ status, body: JSON.stringify(body), headers });
const unknown = () => answer(404, { message: "Not Found", documentation_url: "https://docs.github.com/rest", status: "404" });
const unauthorized = () => answer(401, { message: "Bad credentials", documentation_url: "https://docs.github.com/rest", status: "401" });

function tokenOf(request) {
  return /^(?:bearer|token)\s+(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
}

// ---- GraphQL

const NO_FIELD = /^Cannot query field "(\w+)" on type "(\w+)"\..*$/s; // GitHub has other words for it

function formatted(error) {
  const type = error.extensions?.githubType;
  const message = error.message.replace(NO_FIELD, "Field '$1' doesn't exist on type '$2'");
  const plain = { path: error.path, locations: error.locations, message };
  return type === undefined ? plain : { type, ...plain };
}

const refused = (errors) => {
  counters.refused += 1;
  return { errors };
};

function rateLimited(quota) {
  return answer(200, refused([{ type: "RATE_LIMITED", code: "graphql_rate_limit", message: "API rate limit already exceeded for user ID 1." }]), rateHeaders(quota));
}

function prepare(payload) {
  const document = parse(payload.query);
  const invalid = validate(schema, document);
  if (invalid.length > 0) return { errors: invalid.map(formatted) };
  const operation = getOperationAST(document, payload.operationName);
  if (operation?.operation !== "query") return { errors: [{ message: "Only one query can be answered here" }] };
  const variables = getVariableValues(schema, operation.variableDefinitions ?? [], payload.variables ?? {});
  if (variables.errors) return { errors: variables.errors.map(formatted) };
  return { document, operation, variables: variables.coerced };
}

async function graphql(text, quota) {
  let payload;
  let ready;
  try {
    payload = JSON.parse(text);
    ready = prepare(payload);
  } catch (error) {
    return refused([{ message: error.message, locations: error.locations }]);
  }
  if (ready.errors) return refused(ready.errors);
  const { cost, nodes, errors } = price(schema, ready.document, ready.operation, ready.variables);
  if (errors.length > 0) return refused(errors);
  quota.used += cost;
  counters.cost += cost;
  counters.nodes += nodes;
  counters.queries.push({ cost, nodes, name: ready.operation.name?.value ?? null, variables: payload.variables ?? {} });
  const rate = { cost, nodeCount: nodes, limit: quota.limit, remaining: remaining(quota), used: quota.used, resetAt: new Date(quota.reset * 1000).toISOString() };
  const result = await execute({
    schema,
    document: ready.document,
    operationName: payload.operationName,
    variableValues: payload.variables,
    rootValue: rootValue(world, rate),
  });
  return result.errors ? { data: result.data, errors: result.errors.map(formatted) } : { data: result.data };
}

async function graphqlRoute(text, token) {
  counters.graphql += 1;
  const quota = bucket(token, "graphql");
  const fault = nextFault(text);
  if (fault !== undefined) counters.faults += 1;
  if (fault !== undefined && fault.kind !== "partial") meet("any");
  if (fault?.kind === "rate_limited") {
    quota.used = quota.limit;
    quota.reset = now() + (fault.reset_in ?? 3);
  }
  if (fault?.kind === "response") return { status: fault.status, body: fault.body, headers: fault.headers ?? {} };
  if (fault?.kind === "drop") return { drop: true };
  if (remaining(quota) <= 0) return rateLimited(quota);
  const result = await graphql(text, quota);
  return damaged(result, fault, rateHeaders(quota));
}

// ---- faults

function meet(what) {
  counters.met[what] = (counters.met[what] ?? 0) + 1;
}

function nextFault(text) {
  for (const fault of faults) {
    if (fault.contains && !text.includes(fault.contains)) continue;
    fault.seen = (fault.seen ?? 0) + 1;
    const first = fault.at ?? 1;
    if (fault.seen >= first && fault.seen < first + (fault.times ?? 1)) return fault;
  }
  return undefined;
}

function damaged(result, fault, headers) {
  if (fault?.kind === "null_node") nullNode(result, fault.index ?? 0);
  if (fault?.kind === "partial") partial(result, fault);
  const whole = answer(200, result, headers);
  if (fault?.kind === "delay") return { ...whole, delay: fault.ms };
  if (fault?.kind === "truncated") return { ...whole, body: whole.body.slice(0, Math.floor(whole.body.length / 2)) };
  if (fault?.kind === "short_body") return { ...whole, announced: Buffer.byteLength(whole.body) + 1000 };
  return whole;
}

// One entry of the outermost page becomes null with an error beside it, as when a backend of GitHub fails for it.
function nullNode(result, index) {
  const path = outermost(result.data, []);
  if (path === undefined) return;
  const nodes = path.reduce((value, key) => value[key], result.data);
  const place = Math.min(index, nodes.length - 1);
  nodes[place] = null;
  const message = "Something went wrong while executing your query. Please include `0000:0000` when reporting this issue.";
  result.errors = [...(result.errors ?? []), { path: [...path, place], message }];
}

// What stands at a path becomes null (or `value`), or goes altogether (`drop`), with an error beside it unless `silent`,
// as when a part of GitHub fails or a query is too heavy. `bubble` says how many levels above it become null with it.
function partial(result, fault) {
  const path = fault.path;
  const holder = path.slice(0, -1 - (fault.bubble ?? 0)).reduce((value, key) => value?.[key], result.data);
  const last = path[path.length - 1 - (fault.bubble ?? 0)];
  if (holder === null || typeof holder !== "object" || !(last in holder)) return;
  if (fault.drop) delete holder[last];
  else holder[last] = fault.value ?? null;
  counters.partial += 1;
  meet(fault.contains ?? "any");
  if (fault.silent) return;
  const message = fault.message ?? "Something went wrong while executing your query. Please include `0000:0000` when reporting this issue.";
  const error = fault.type ? { type: fault.type, path, message } : { path, message };
  result.errors = [...(result.errors ?? []), error];
}

function outermost(value, path) {
  if (value === null || typeof value !== "object") return undefined;
  if (Array.isArray(value.nodes) && value.nodes.length > 0) return [...path, "nodes"];
  for (const [key, inner] of Object.entries(value)) {
    const found = Array.isArray(inner) ? undefined : outermost(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

// ---- REST

function restRepo(repo, base) {
  const [owner, name] = repo.nameWithOwner.split("/");
  return {
    id: repo.databaseId,
    name,
    full_name: repo.nameWithOwner,
    owner: { login: owner, id: 1, url: `${base}/users/${owner}` },
    private: false,
    url: `${base}/repos/${repo.nameWithOwner}`,
    html_url: `https://github.com/${repo.nameWithOwner}`,
    has_issues: true,
    open_issues_count: [...repo.items.values()].filter((item) => item.state === "OPEN").length,
  };
}

function restIssue(repo, number, base) {
  const item = repo.items.get(number);
  if (item !== undefined) {
    const state = item.state === "OPEN" ? "open" : "closed";
    const plain = { id: item.databaseId, number, title: item.title, body: item.body, state, comments: item.comments.length };
    const pull = item.kind === "pull" ? { pull_request: { url: `${base}/repos/${repo.nameWithOwner}/pulls/${number}` } } : {};
    const times = { created_at: item.createdAt, updated_at: item.updatedAt, closed_at: item.closedAt };
    return answer(200, { url: `${base}/repos/${repo.nameWithOwner}/issues/${number}`, ...plain, ...times, ...pull });
  }
  const gone = repo.gone.get(number);
  if (gone?.to) {
    const target = world.find(gone.to);
    const location = `${base}/repositories/${target.databaseId}/issues/${gone.number}`;
    return answer(301, { message: "Moved Permanently", url: location }, { location });
  }
  if (gone) return answer(410, { message: "This issue was deleted", documentation_url: "https://docs.github.com/rest", status: "410" });
  return unknown();
}

function rest(request, token) {
  const base = `http://${request.headers.host}`;
  const path = new URL(request.url, base).pathname;
  if (path === "/rate_limit") {
    const of = (name) => {
      const quota = bucket(token, name);
      return { limit: quota.limit, used: quota.used, remaining: remaining(quota), reset: quota.reset };
    };
    return answer(200, { resources: { core: of("core"), graphql: of("graphql"), search: of("core") }, rate: of("core") });
  }
  counters.rest += 1;
  const quota = bucket(token, "core");
  const headers = rateHeaders(quota);
  if (remaining(quota) <= 0) return answer(403, { message: "API rate limit exceeded for user ID 1." }, headers);
  quota.used += 1;
  const match = /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(?:\/issues\/(\d+))?$/.exec(path);
  const repo = match && (match[1] ? world.find(match[1]) : [...world.repos.values()].find((one) => one.databaseId === Number(match[2])));
  if (!repo) return unknown();
  if (match[1] && match[1] !== repo.nameWithOwner) {
    const location = `${base}/repositories/${repo.databaseId}${match[3] ? `/issues/${match[3]}` : ""}`;
    return answer(301, { message: "Moved Permanently", url: location }, { ...headers, location });
  }
  const found = match[3] ? restIssue(repo, Number(match[3]), base) : answer(200, restRepo(repo, base));
  return { ...found, headers: { ...rateHeaders(quota), ...found.headers } };
}

// ---- orders of the tests

const theRepo = (order) => {
  const repo = world.find(order.repo);
  if (!repo) throw new Error(`no repository ${order.repo}`);
  return repo;
};
const theItem = (order) => {
  const item = theRepo(order).items.get(order.number);
  if (!item) throw new Error(`no item ${order.repo}#${order.number}`);
  return item;
};

const orders = {
  update: (order) => void Object.assign(theItem(order), order.fields),
  add: (order) => void theRepo(order).items.set(order.item.number, order.item),
  delete: (order) => {
    theItem(order);
    theRepo(order).items.delete(order.number);
    theRepo(order).gone.set(order.number, {});
  },
  transfer: (order) => {
    const target = theRepo({ repo: order.to });
    const event = { type: "TransferredEvent", createdAt: order.at, actor: "octocat", fromRepository: theRepo(order).nameWithOwner };
    const item = theItem(order);
    target.items.set(order.new_number, { ...item, number: order.new_number, updatedAt: order.at, events: [...item.events, event] });
    theRepo(order).items.delete(order.number);
    theRepo(order).gone.set(order.number, { to: order.to, number: order.new_number });
  },
  rename_repo: (order) => {
    const repo = theRepo(order);
    world.repos.delete(repo.nameWithOwner);
    world.renamed.set(repo.nameWithOwner, order.to);
    world.repos.set(order.to, Object.assign(repo, { nameWithOwner: order.to }));
  },
  // Empties the counting of every token and lets new ones start with this.
  limit: (order) => {
    limits[order.resource] = { limit: order.limit, reset: order.reset_in };
    buckets.clear();
  },
  tokens: (order) => {
    tokens.clear();
    order.tokens.forEach((token) => tokens.add(token));
  },
  // The schema of an older GitHub Enterprise Server.
  older: () => {
    schema = githubSchema({ older: true });
  },
  faults: (order) => {
    faults = order.faults;
  },
  reset_counters: resetCounters,
  restore,
};

function admin(text) {
  try {
    const order = text ? JSON.parse(text) : undefined;
    if (order) {
      if (!Object.hasOwn(orders, order.op)) throw new Error(`unknown order ${order.op}`);
      orders[order.op](order);
      world.changed();
    }
    return answer(200, counters);
  } catch (error) {
    return answer(400, { message: error.message });
  }
}

// ---- HTTP

async function route(request, text) {
  const path = request.url.split("?")[0];
  if (path === "/__admin") return admin(text);
  const token = tokenOf(request);
  if (request.headers.authorization !== undefined && !tokens.has(token)) return unauthorized();
  if (request.method === "POST" && path === "/graphql") return token === undefined ? unauthorized() : graphqlRoute(text, token);
  return request.method === "GET" ? rest(request, token) : unknown();
}

function send(response, result) {
  if (response.destroyed) return; // the client went away meanwhile
  if (result.drop) return void response.destroy();
  const length = result.announced ?? Buffer.byteLength(result.body);
  response.writeHead(result.status, { "content-type": "application/json; charset=utf-8", ...result.headers, "content-length": length });
  if (result.announced === undefined) return void response.end(result.body);
  return void response.write(result.body, () => response.destroy());
}

// The text of a request, undefined where its client ended in the middle of it: an error that nobody handles ends Node.
async function received(request) {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString("utf8");
}

http
  .createServer(async (request, response) => {
    const text = await received(request);
    if (text === undefined) return;
    let result;
    try {
      result = await route(request, text);
    } catch (error) {
      console.error(error);
      result = answer(500, { message: `stand-in: ${error.message}` });
    }
    setTimeout(() => send(response, result), result.delay ?? 0);
  })
  .listen(Number(port), "127.0.0.1");
