// node emulate.mjs PORT SEED.json ADVERTISED_URL
// Starts the GitHub service of `emulate` through its API (its command needs a newer Node than 20).
// A request that carries `x-clock: <ISO time>` is handled at that time, so that a test can seed years of history;
// every other request sees the real clock, rate limits included.
import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import http from "node:http";

const clock = new AsyncLocalStorage();
const RealDate = Date;

class RequestDate extends RealDate {
  constructor(...parts) {
    super(...(parts.length === 0 ? [RequestDate.now()] : parts));
  }
  static now() {
    return clock.getStore() ?? RealDate.now();
  }
}
globalThis.Date = RequestDate;

// Its list of issues has no pull requests, unlike GitHub's; so its search must not count any there either.
function noPullRequests(request, response) {
  if (!/^\/search\/issues\?.*is(:|%3A)pr\b/.test(request.url)) return false;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.end(JSON.stringify({ total_count: 0, incomplete_results: false, items: [] }));
  return true;
}

const emit = http.Server.prototype.emit;
http.Server.prototype.emit = function (event, ...details) {
  if (event === "request" && noPullRequests(...details)) return true;
  const wanted = event === "request" ? details[0].headers["x-clock"] : undefined;
  if (wanted === undefined) return emit.call(this, event, ...details);
  return clock.run(RealDate.parse(wanted), () => emit.call(this, event, ...details));
};

const [port, seedFile, advertised] = process.argv.slice(2);
const { createEmulator } = await import("emulate");
await createEmulator({
  service: "github",
  port: Number(port),
  hostname: "127.0.0.1",
  baseUrl: advertised,
  seed: JSON.parse(readFileSync(seedFile, "utf8")),
});
