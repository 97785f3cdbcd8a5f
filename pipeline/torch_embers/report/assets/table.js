// The table of items: filter, sort and search over all rows, of which only those in sight are in the document.
// Texts of items are only ever set as text, never as HTML.
"use strict";

const FILTERS = ["q", "state", "closable", "status", "verdict", "class", "component", "operator"];
const CHOICES = { state: "state", closable: "closable", status: "status", verdict: "verdict", class: "classes", component: "components" };
const PLAIN_REPO = /^[\w.-]+\/[\w.-]+$/;
const DAY = 86400000;
const FIRST_DAY = Date.UTC(2000, 0, 1);
const BEYOND = 12; // rows drawn above and below those in sight

const rows = [];
let shown = [];
let order = { column: "", down: true };
let tops = new Float64Array(1); // of the rows that are shown, in pixels from the first one; the last is the height of all
let drawnFrom = -1;
let drawnTo = -1;

const element = (id) => document.getElementById(id);
const form = element("filters");
const viewport = element("viewport");
const body = element("rows");
const summary = element("summary");

// ---- data ----------------------------------------------------------------------------------------------------------

window.embersItems = (text) => {
  const part = JSON.parse(text);
  const word = (place) => part.words[place];
  const words = (places) => places.map(word);
  for (let i = 0; i < part.number.length; i++) {
    const row = {
      at: rows.length, repo: word(part.repo[i]), number: part.number[i], title: part.title[i],
      titlePlace: part.title_place[i], state: word(part.state[i]),
      created: part.created[i], page: part.page[i], labels: words(part.labels[i]), classes: words(part.classes[i]),
      operators: words(part.operators[i]), components: words(part.components[i]), backends: words(part.backends[i]),
      status: words(part.status[i]), verdict: word(part.verdict[i]), release: word(part.release[i]),
      closable: word(part.closable[i]), text: "",
    };
    rows.push(row);
  }
  if (part.part === 0) begin();
  summary.dataset.total = part.total;
  if (part.part + 1 < part.parts) load(part.part + 1);
  else whole();
};

function load(part) {
  const script = document.createElement("script");
  script.src = `data/table-${part}.js`;
  script.addEventListener("error", () => { summary.textContent = "A part of the data could not be read."; });
  document.head.append(script);
}

function begin() {
  form.hidden = false;
  viewport.hidden = false;
  readAddress();
  offerChoices();
  update();
  performance.mark("embers-ready");
}

function whole() {
  offerChoices();
  update();
  document.documentElement.dataset.loaded = "whole";
  performance.mark("embers-whole");
  prepare(["number", "title", ...Object.keys(TEXTS), "created"]);
}

// ---- filters and the address -----------------------------------------------------------------------------------------

const wanted = Object.fromEntries(FILTERS.map((name) => [name, ""]));

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of FILTERS) {
    wanted[name] = given.get(name) || "";
    field(name).value = wanted[name];
  }
  order = { column: given.get("sort") || "", down: given.get("dir") !== "asc" };
}

function writeAddress() {
  const made = new URLSearchParams();
  for (const name of FILTERS) if (wanted[name]) made.set(name, wanted[name]);
  if (order.column) {
    made.set("sort", order.column);
    if (!order.down) made.set("dir", "asc");
  }
  const text = made.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

const field = (name) => form.elements.namedItem(name);

function offerChoices() {
  for (const [name, column] of Object.entries(CHOICES)) {
    const counts = new Map();
    for (const row of rows) {
      for (const value of [].concat(row[column])) if (value) counts.set(value, (counts.get(value) || 0) + 1);
    }
    const select = field(name);
    const first = select.options[0];
    select.replaceChildren(first);
    const values = name === "state" ? ["open", "closed", ...[...counts.keys()].sort()] : [...counts.keys()].sort();
    if (wanted[name] && !values.includes(wanted[name])) values.push(wanted[name]);
    for (const value of values) {
      const count = counts.get(value);
      select.append(new Option(value.replaceAll("_", " ") + (count ? ` (${count.toLocaleString("en")})` : ""), value));
    }
    select.value = wanted[name];
  }
  const names = new Set(rows.flatMap((row) => row.operators));
  element("operators").replaceChildren(...[...names].sort().slice(0, 2000).map((name) => new Option(name, name)));
}

function textOf(row) {
  if (!row.text) {
    row.text = [`#${row.number}`, row.title, row.repo, ...row.labels, ...row.operators, ...row.components]
      .join("\n").toLowerCase();
  }
  return row.text;
}

function filter() {
  const terms = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  const states = wanted.state.split(" ").filter(Boolean);
  const operator = wanted.operator.replace(/^torch\./, "");
  return rows.filter((row) => {
    if (states.length && !states.every((word) => row.state.split(" ").includes(word))) return false;
    if (wanted.closable && row.closable !== wanted.closable) return false;
    if (wanted.status && !row.status.includes(wanted.status)) return false;
    if (wanted.verdict && row.verdict !== wanted.verdict) return false;
    if (wanted.class && !row.classes.includes(wanted.class)) return false;
    if (wanted.component && !row.components.includes(wanted.component)) return false;
    if (operator && !row.operators.some((name) => name === operator || name.endsWith(`.${operator}`))) return false;
    return !terms.length || terms.every((term) => textOf(row).includes(term));
  });
}

// Every column is sorted by whole numbers: the place of a row's value among all values, 0 for an empty one. Counting puts 100,000 of
// them into order in milliseconds; comparing the texts takes most of a second. An order of all rows is kept until more are loaded.
const NUMBERS = { number: (row) => row.number, created: (row) => row.created, title: (row) => row.titlePlace };
const TEXTS = {
  state: (row) => row.state, status: (row) => row.status.join(" "), verdict: (row) => row.verdict,
  class: (row) => row.classes.join(" "),
};
const DIGIT = 16; // bits that one pass of counting looks at
let orders = { size: 0 };

function placesOf(column) {
  if (Object.hasOwn(NUMBERS, column)) return new Uint32Array(rows.map(NUMBERS[column]));
  const texts = rows.map(TEXTS[column]);
  const place = new Map([...new Set(texts)].filter(Boolean).sort().map((text, i) => [text, i + 1]));
  return new Uint32Array(texts.map((text) => place.get(text) || 0));
}

// Indexes of rows in the order of their places; what is empty comes last in both directions, equal rows stay in the order of `start`.
function counted(start, place, down) {
  const most = place.reduce((one, other) => Math.max(one, other), 0);
  const keys = place.map((value) => (value === 0 ? most : down ? most - value : value - 1));
  let from = start;
  for (let shift = 0; shift < 32 && most >>> shift; shift += DIGIT) {
    const next = new Uint32Array((1 << DIGIT) + 1);
    for (const key of keys) next[((key >>> shift) & 0xffff) + 1]++;
    for (let i = 0; i < 1 << DIGIT; i++) next[i + 1] += next[i];
    const to = new Uint32Array(from.length);
    for (const at of from) to[next[(keys[at] >>> shift) & 0xffff]++] = at;
    from = to;
  }
  return from;
}

function orderOf(column, down) {
  if (orders.size !== rows.length) orders = { size: rows.length };
  const name = `${column} ${down}`;
  const loaded = Uint32Array.from(rows.keys());
  orders[name] ??= counted(column === "number" ? loaded : orderOf("number", true), placesOf(column), down);
  return orders[name];
}

// Makes the orders that a first click on a heading asks for, one each time that the browser has nothing else to do.
function prepare(headings) {
  if (!headings.length) return;
  const idle = window.requestIdleCallback || ((done) => setTimeout(done, 50));
  idle(() => {
    orderOf(headings[0], isDownFirst(headings[0]));
    prepare(headings.slice(1));
  });
}

const isDownFirst = (column) => column === "number" || column === "created";

function sorted(found) {
  if (!Object.hasOwn(NUMBERS, order.column) && !Object.hasOwn(TEXTS, order.column)) return found;
  const isFound = new Uint8Array(rows.length);
  for (const row of found) isFound[row.at] = 1;
  const made = [];
  for (const at of orderOf(order.column, order.down)) if (isFound[at]) made.push(rows[at]);
  return made;
}

function update() {
  shown = sorted(filter());
  const total = Number(summary.dataset.total || rows.length);
  const waiting = rows.length < total ? `, ${rows.length.toLocaleString("en")} loaded` : "";
  summary.textContent = `${shown.length.toLocaleString("en")} of ${total.toLocaleString("en")} items${waiting}`;
  element("table").setAttribute("aria-rowcount", String(shown.length + 1));
  for (const head of document.querySelectorAll("th[data-sort]")) {
    if (head.dataset.sort === order.column) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  stack();
  drawnFrom = -1;
  draw();
}

// ---- heights of rows -------------------------------------------------------------------------------------------------

// No text is cut: it wraps, and so rows differ in height. How many lines a row takes is computed from the widths of its characters,
// which is fast enough for all rows; a row that the browser wraps once more than computed only grows.
const isAtHome = (row) => row.repo === body.dataset.home;
const nameOf = (row) => `${isAtHome(row) ? "" : row.repo}#${row.number}`;
const statusOf = (row) => row.status.join(", ").replaceAll("_", " ");
const WRAPPED = [nameOf, (row) => row.title, (row) => row.state, statusOf, (row) => row.verdict, classesOf];
const KEYS = [(row) => (isAtHome(row) ? "" : nameOf(row)), null, (row) => row.state, (row) => row.status.join(), (row) => row.verdict, (row) => row.classes.join()]; // few texts, in many rows
const SLACK = 2; // pixels by which shaping may make a line longer than its characters are
const SPACE = 32;
let measured = { widths: "", columns: [], line: 0, around: 0, lines: new Uint8Array(0), known: [] };
let characters = { font: "", widths: new Float64Array(65536) };
const canvas = document.createElement("canvas").getContext("2d");

function classesOf(row) {
  const names = row.classes.filter((name) => !name.startsWith("backend=")).map((name) => name.split("=")[1]);
  return [...new Set(names)].join(", ").replaceAll("_", " ");
}

function widthOf(code) {
  characters.widths[code] ||= canvas.measureText(String.fromCharCode(code)).width;
  return characters.widths[code];
}

// Words go into a line while there is room; one that is longer than a line is broken anywhere.
function linesOf(text, width) {
  const space = widthOf(SPACE);
  let [lines, filled, word] = [1, 0, 0];
  for (let i = 0; i <= text.length; i++) {
    const code = i < text.length ? text.charCodeAt(i) : SPACE;
    if (code !== SPACE) {
      word += characters.widths[code] || widthOf(code);
      continue;
    }
    if (filled > 0 && filled + space + word > width) {
      lines++;
      filled = 0;
    }
    if (word > width) {
      lines += Math.ceil(word / Math.max(1, width - 4 * space)) - 1;
      filled = width;
    } else {
      filled += word + (filled > 0 ? space : 0);
    }
    word = 0;
  }
  return Math.min(lines, 255);
}

// Reads the widths of the columns and what a row of one line takes; lines that were computed for other widths are forgotten.
function measure() {
  const heads = [...document.querySelectorAll("th[data-sort]")];
  const sample = line({ repo: "", number: 0, title: "x", state: "", status: [], classes: [], verdict: "", created: 0 }, tops.length);
  body.append(sample);
  const height = sample.getBoundingClientRect().height;
  const { fontWeight, fontSize, fontFamily, lineHeight, paddingLeft, paddingRight } = getComputedStyle(sample.children[1]);
  const sides = parseFloat(paddingLeft) + parseFloat(paddingRight) + SLACK;
  const inner = heads.slice(0, WRAPPED.length).map((head) => (head.offsetWidth ? head.offsetWidth - sides : 0));
  sample.remove();
  const font = `${fontWeight} ${fontSize} ${fontFamily}`;
  const widths = `${inner} ${font}`;
  if (widths === measured.widths) {
    if (measured.lines.length === rows.length) return;
    const longer = new Uint8Array(rows.length); // more rows were loaded
    longer.set(measured.lines);
    measured.lines = longer;
    return;
  }
  if (font !== characters.font) characters = { font, widths: new Float64Array(65536) };
  canvas.font = font;
  const one = parseFloat(lineHeight);
  measured = { widths, columns: inner, line: one, around: height - one, lines: new Uint8Array(rows.length), known: inner.map(() => new Map()) };
}

function heightOf(row) {
  let lines = measured.lines[row.at];
  if (!lines) {
    lines = 1;
    for (let i = 0; i < measured.columns.length; i++) lines = Math.max(lines, linesIn(row, i));
    measured.lines[row.at] = lines;
  }
  return measured.around + lines * measured.line;
}

function linesIn(row, column) {
  const width = measured.columns[column];
  if (width <= 0) return 1; // a column that a narrow window leaves out
  if (!KEYS[column]) return linesOf(WRAPPED[column](row), width);
  const [known, key] = [measured.known[column], KEYS[column](row)];
  let lines = known.get(key);
  if (!lines) {
    lines = linesOf(WRAPPED[column](row), width);
    known.set(key, lines);
  }
  return lines;
}

function stack() {
  measure();
  tops = new Float64Array(shown.length + 1);
  shown.forEach((row, i) => { tops[i + 1] = tops[i] + heightOf(row); });
}

// The row that is drawn at this height, by halving.
function placeAt(height) {
  let [low, high] = [0, Math.max(0, shown.length - 1)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}

// ---- rows in sight ---------------------------------------------------------------------------------------------------

function cell(text, name) {
  const made = document.createElement("td");
  if (name) made.className = name;
  made.textContent = text;
  return made;
}

function address(row) {
  if (!PLAIN_REPO.test(row.repo)) return "";
  if (row.page) return `items/${row.repo.replace("/", "--")}-${row.number}.html`;
  return `https://github.com/${row.repo}/issues/${row.number}`;
}

function line(row, place) {
  const made = document.createElement("tr");
  made.setAttribute("aria-rowindex", String(place + 2));
  if (place + 1 < tops.length) made.style.height = `${tops[place + 1] - tops[place]}px`;
  const first = cell("", "num");
  const where = address(row);
  const link = document.createElement(where ? "a" : "span");
  link.textContent = nameOf(row);
  if (where) {
    link.href = where;
    link.rel = "noreferrer";
  }
  link.dataset.place = String(place);
  first.append(link);
  const title = cell("");
  const isolated = document.createElement("bdi");
  isolated.textContent = row.title;
  title.append(isolated);
  const verdict = cell("");
  if (row.verdict) {
    const mark = document.createElement("span");
    mark.className = `verdict v-${/^\w+( \([\w ]+\))?$/.test(row.verdict) ? row.verdict.split(" ")[0] : "untestable"}`;
    mark.textContent = row.verdict.replaceAll("_", " ");
    verdict.append(mark);
  }
  const opened = row.created ? new Date(FIRST_DAY + row.created * DAY).toISOString().slice(0, 10) : "";
  made.append(
    first, title, cell(row.state), cell(statusOf(row)), verdict,
    cell(classesOf(row)), cell(opened, "num"),
  );
  return made;
}

function spacer(height) {
  const made = document.createElement("tr");
  made.className = "spacer";
  made.setAttribute("aria-hidden", "true");
  const only = document.createElement("td");
  only.colSpan = [...document.querySelectorAll("th[data-sort]")].filter((head) => head.offsetWidth).length || 1;
  only.style.height = `${height}px`;
  made.append(only);
  return made;
}

function draw(top = viewport.scrollTop) {
  const from = Math.max(0, placeAt(top) - BEYOND);
  const to = Math.min(shown.length, placeAt(top + viewport.clientHeight) + 1 + BEYOND);
  if (from === drawnFrom && to === drawnTo) return;
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.place : undefined;
  [drawnFrom, drawnTo] = [from, to];
  const made = shown.slice(from, to).map((row, i) => line(row, from + i));
  body.replaceChildren(spacer(tops[from]), ...made, spacer(tops[shown.length] - tops[to]));
  if (focused !== undefined) linkAt(Number(focused))?.focus({ preventScroll: true });
}

const linkAt = (place) => body.querySelector(`a[data-place="${place}"]`);

function goTo(place) {
  if (place < 0 || place >= shown.length) return;
  const head = element("table").tHead.getBoundingClientRect().height;
  const top = tops[place];
  if (top < viewport.scrollTop) viewport.scrollTop = top;
  const bottom = tops[place + 1] + head;
  if (bottom > viewport.scrollTop + viewport.clientHeight) viewport.scrollTop = bottom - viewport.clientHeight;
  draw();
  linkAt(place)?.focus({ preventScroll: true });
}

// ---- what people do --------------------------------------------------------------------------------------------------

let waiting = 0;

function changed() {
  for (const name of FILTERS) wanted[name] = field(name).value.trim();
  viewport.scrollTop = 0;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => { update(); writeAddress(); });
}

form.addEventListener("input", changed);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => { order = { column: "", down: true }; changed(); }));
viewport.addEventListener("scroll", () => requestAnimationFrame(() => draw()), { passive: true });
window.addEventListener("resize", () => {
  const first = placeAt(viewport.scrollTop);
  const within = viewport.scrollTop - tops[first];
  stack();
  drawnFrom = -1;
  draw(tops[first] + within);
  viewport.scrollTop = tops[first] + within; // not before the rows are as high as they will be
});
window.addEventListener("hashchange", () => { readAddress(); offerChoices(); viewport.scrollTop = 0; update(); });
for (const head of document.querySelectorAll("th[data-sort]")) {
  head.querySelector("button").addEventListener("click", () => {
    const column = head.dataset.sort;
    order = { column, down: order.column === column ? !order.down : isDownFirst(column) };
    viewport.scrollTop = 0;
    update();
    writeAddress();
  });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName || "");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    field("q").focus();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && viewport.contains(document.activeElement)) {
    const place = document.activeElement.dataset.place;
    const step = event.key === "ArrowDown" ? 1 : -1;
    event.preventDefault();
    goTo(place === undefined ? placeAt(viewport.scrollTop) : Number(place) + step);
  } else if (event.key === "ArrowDown" && document.activeElement === field("q")) {
    event.preventDefault();
    goTo(0);
  }
});
load(0);
