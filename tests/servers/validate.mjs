// node validate.mjs SHARED_COUNT SHARED.graphql ... FILE.graphql ...
// Prints a JSON list of "file:line: message" for each error against GitHub's schema. The first SHARED_COUNT files
// hold fragments that every other file may use.
import { readFileSync } from "node:fs";
import { Kind, NoUnusedFragmentsRule, parse, Source, specifiedRules, validate } from "graphql";
import { githubSchema } from "./schema.mjs";

const schema = githubSchema();
const [count, ...files] = process.argv.slice(2);
const problems = [];

function report(file, error) {
  const name = error.nodes?.[0]?.loc?.source.name ?? file;
  problems.push(`${name}:${error.locations?.[0]?.line ?? 0}: ${error.message}`);
}

function read(file) {
  try {
    return parse(new Source(readFileSync(file, "utf8"), file));
  } catch (error) {
    report(file, error);
    return { kind: Kind.DOCUMENT, definitions: [] };
  }
}

const documents = files.map(read);
const shared = documents.slice(0, Number(count)).flatMap((document) => document.definitions);
const lenient = specifiedRules.filter((rule) => rule !== NoUnusedFragmentsRule);
documents.forEach((document, index) => {
  const own = index < Number(count) ? [] : document.definitions;
  const rules = shared.length > 0 ? lenient : specifiedRules;
  if (index < Number(count) && index > 0) return;
  const whole = { kind: Kind.DOCUMENT, definitions: [...own, ...shared] };
  if (whole.definitions.length > 0) validate(schema, whole, rules).forEach((error) => report(files[index], error));
});
console.log(JSON.stringify([...new Set(problems)]));
