// Scores rows by a flat model, in the format of docs/guide/flat-model.md: adds up, by class, what its tables hold.
(function (Naively) {
"use strict";

const ARRAYS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

// Arrays in base64, wherever they are, as typed arrays with a shape.
function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== "object") return value;
  if (!value.data) return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, decoded(part)]));
  const bytes = Uint8Array.from(atob(value.data), (sign) => sign.charCodeAt(0));
  return Object.assign(new ARRAYS[value.type](bytes.buffer), { shape: value.shape });
}

// -- cells: their code, number x, level or words; the status says why a cell has no usual value

const isMissing = (column, value) => value == null || value === "" || Number.isNaN(value) || column.none.has(value);

function labelKey(column, value) {
  if (column.type === "boolean") return String(value).toLowerCase();
  return column.type === "whole" || column.type === "number" ? String(Number(value)) : String(value);
}

function readLabel(column, value) {
  if (isMissing(column, value)) return { code: column.missing, status: "missing" };
  const code = column.places.get(labelKey(column, value));
  if (code !== undefined) return { code, status: "" };
  return { code: column.unseen, status: column.refuses ? "refused" : "unknown" };
}

// A time may be a text such as 2026-02-28 12:30:00, which is UTC unless it says otherwise.
function numberOf(column, value) {
  if (isMissing(column, value)) return NaN;
  if (column.type !== "time" || !Number.isNaN(Number(value))) return Number(value);
  const zone = value.length > 10 && !/(Z|[+-]\d\d:?\d\d)$/.test(value) ? "Z" : "";
  return Date.parse(value.trim().replace(" ", "T") + zone) / 1000;
}

function roundHalfEven(x) {
  const near = Math.round(x);
  return Math.abs(x % 1) === 0.5 && near % 2 ? near - 1 : near;
}

function readNumber(column, value) {
  const x = numberOf(column, value), missing = isMissing(column, value);
  if (Number.isNaN(x) || (column.refuses && x < 0))
    return { code: missing ? column.missing : -1, x: NaN, level: 0, status: missing ? "missing" : "refused" };
  let code = 0, end = column.cuts.length;
  while (code < end) {
    const middle = (code + end) >> 1;
    if (column.cuts[middle] < x) code = middle + 1;
    else end = middle;
  }
  const inside = Math.min(Math.max(x, column.low), column.high);
  return { code, x, level: roundHalfEven((inside - column.center) * column.steps) / 4096, status: "" };
}

function readText(column, value) {
  const missing = isMissing(column, value), words = [], counts = new Map();
  for (const { token, begin, end } of missing ? [] : tokens(column, String(value))) {
    const number = column.places.get(token);
    if (number === undefined) continue;
    const word = { column: column.name, word: token, begin, end, scores: new Float64Array(column.width) };
    words.push(word);
    if (!counts.has(number)) counts.set(number, []);
    counts.get(number).push(word);
  }
  return { code: -1, words, counts, status: missing ? "missing" : "" };
}

const READERS = { label: readLabel, number: readNumber, text: readText };

function readCell(column, value) {
  const cell = READERS[column.kind](column, value);
  cell.pair = column.pair_codes && cell.code >= 0 ? column.pair_codes[cell.code] ?? -1 : cell.code;
  return cell;
}

// -- texts: tokens are {token, begin, end}, places in the text as it was

// All n-grams of parts. Of the letters of a word, a word that is shorter counts once.
function ngrams(parts, [least, most], between, short) {
  const found = [];
  for (let n = least; n <= most; n++) {
    const whole = short && n === Math.max(least, parts.length);
    for (let at = 0; at < (whole ? 1 : parts.length - n + 1); at++) {
      const some = parts.slice(at, at + n);
      const token = some.map((part) => part.token).join(between);
      found.push({ token, begin: some[0].begin, end: some[some.length - 1].end });
    }
  }
  return found;
}

function tokens(column, text) {
  const lower = column.lowercase ? text.toLowerCase() : text;
  const parts = ({ token, begin }, expression) => Array.from(token.matchAll(expression), (match) =>
    ({ token: match[0], run: match[1], begin: begin + match.index, end: begin + match.index + match[0].length }));
  const found = TOKENS[column.unit](column, { token: lower, begin: 0 }, parts);
  if (lower.length === text.length) return found;
  const place = (at) => { // where it was in the text: the letter İ became two
    let before = 0;
    for (; at > 0; before++) at -= text[before] === "İ" ? 2 : 1;
    return before;
  };
  return found.map(({ token, begin, end }) => ({ token, begin: place(begin), end: place(end) }));
}

const TOKENS = {
  words(column, text, parts) {
    const clean = (part) => ({ ...part, token: part.token.replace(column.remove, "") });
    const found = [];
    let words = [];
    for (const part of parts(text, column.pattern)) {
      const word = clean(part);
      if (part.run) { // of a script without spaces: its letters, and pairs of them
        found.push(...ngrams(words, column.ngrams, " "), ...ngrams(parts(part, column.cluster).map(clean), [1, 2], ""));
        words = [];
      } else if (!column.stop_words.includes(word.token)) words.push(word);
    }
    return found.concat(ngrams(words, column.ngrams, " "));
  },
  characters(column, text, parts) {
    const all = parts(text, /\s{2,}|[^]/gu).map((part) => ({ ...part, token: part.token.replace(/\s{2,}/, " ") }));
    return ngrams(all, column.ngrams, "");
  },
  inside(column, text, parts) {
    return parts(text, /\S+/gu).flatMap((word) => {
      const [before, after] = [word.begin, word.end].map((at) => ({ token: " ", begin: at, end: at }));
      return ngrams([before, ...parts(word, /[^]/gu), after], column.ngrams, "", true);
    });
  },
};

// -- terms: each adds its scores

// Adds a line of a table: scores of all classes, or of all but the first, whose score is 0.
function addLine(out, table, line, by) {
  const width = table.shape ? table.shape[table.shape.length - 1] : table.length, skip = out.length - width;
  for (let k = 0, at = line * width; k < width; k++, at++) out[skip + k] += by * table[at];
}

// What Stirling's formula for log Γ(z) lacks.
function stirlingRest(z) {
  if (z < 16) return stirlingRest(z + 1) + (z + 0.5) * Math.log1p(1 / z) - 1;
  const square = 1 / (z * z);
  return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z;
}

// log P(x), up to what all classes share, for so many events in so many rows: no large logarithms cancel.
function logNegativeBinomial(x, events, rows) {
  const both = events + x, near = events * Math.log1p((x * rows - events) / (events * (rows + 1)));
  const far = x && x * (Math.log(both / (rows + 1)) - 1);
  return near + far - Math.log(both / events) / 2 + stirlingRest(both) - stirlingRest(events);
}

const DENSITIES = {
  density(x, [center, precision, power, base]) {
    const far = Math.min((x - center) ** 2 * precision, 1e300);
    return base - (power ? power * Math.log1p(far) : far);
  },
  poisson: (x, [weight, rate, logRate]) => weight * ((x && x * logRate) - rate),
  "negative binomial": (x, [weight, events, rows]) => weight * logNegativeBinomial(x, events, rows),
};

const TIMES = { all: (n) => n, once: () => 1, log: Math.log1p };

function addWords(term, out, counts) {
  const values = [...counts].map(([number, words]) => {
    const v = TIMES[term.times](words.length) * (term.idf ? term.idf[number] : 1);
    return [number, words, term.scaling === "log length" ? Math.log1p(v) : v];
  });
  const length = term.scaling === "none" ? 1 : Math.hypot(...values.map(([, , v]) => v));
  if (term.constant) addLine(out, term.constant, 0, 1);
  for (const [number, words, v] of values) {
    addLine(out, term.table, number, v / length);
    for (const word of words) if (word.scores) addLine(word.scores, term.table, number, v / length / words.length);
  }
}

const TERMS = {
  table: (term, out, { code }) => code >= 0 && addLine(out, term.table, code, 1),
  slope(term, out, { level }) {
    for (let power = 1; power <= term.table.shape[0]; power++) addLine(out, term.table, power - 1, level ** power);
  },
  pair(term, out, a, b) {
    if (a.pair >= 0 && b.pair >= 0) addLine(out, term.table, a.pair * term.table.shape[1] + b.pair, 1);
  },
  product: (term, out, a, b) => addLine(out, term.table, 0, a.level * b.level),
  slopes: (term, out, a, b) => b.pair >= 0 && addLine(out, term.table, b.pair, a.level),
  words: (term, out, { counts }) => addWords(term, out, counts),
  "ruled out"(term, out, { counts }) {
    const zeros = new Float64Array(out.length);
    addWords(term, zeros, new Map([...counts].map(([number]) => [number, [{}]])));
    zeros.forEach((number, k) => { if (number > 0.5) out[k] = -Infinity; });
  },
};
for (const kind of Object.keys(DENSITIES))
  TERMS[kind] = (term, out, { x }) => {
    const width = term.table.shape[1];
    for (let k = 0; k < out.length && !Number.isNaN(x); k++)
      out[k] += DENSITIES[kind](x, term.table.subarray(k * width, (k + 1) * width));
  };

// -- models

function prepared(column, width) {
  const names = column.values || column.words || [];
  const places = new Map(names.map((name, at) => [labelKey(column, name), column.codes ? column.codes[at] : at]));
  const expressions = ["pattern", "cluster", "remove"].filter((name) => name in column);
  const compiled = Object.fromEntries(expressions.map((name) => [name, new RegExp(column[name], "gu")]));
  return { ...column, ...compiled, places, width, none: new Set(column.no_value) };
}

class Model {
  constructor(flat) {
    Object.assign(this, decoded(flat));
    this.columns = this.columns.map((column) => prepared(column, this.classes.length));
    const groups = new Map(); // the terms of each column, and of each pair
    for (const term of this.terms) groups.set(term.columns.join(), [...(groups.get(term.columns.join()) || []), term]);
    this.own = this.columns.map((_, at) => groups.get(String(at)) || []);
    this.pairs = [...groups.values()].filter(([term]) => term.columns.length > 1);
    this.aboveFloor = 1 - this.floor.reduce((sum, p) => sum + p, 0);
  }

  score(row) {
    const cells = this.columns.map((column) => readCell(column, row[column.name]));
    const columns = cells.map((_, at) => this.columnPart(at, cells));
    return this.state(cells, columns, this.pairs.map((terms) => this.pairPart(terms, cells)));
  }

  // The state with one cell changed; what does not depend on it is shared with the state before.
  move(state, name, value) {
    const at = this.columns.findIndex((column) => column.name === name);
    const cells = state.cells.slice(), columns = state.columns.slice();
    cells[at] = readCell(this.columns[at], value);
    columns[at] = this.columnPart(at, cells);
    const pairs = this.pairs.map((terms, i) =>
      terms[0].columns.includes(at) ? this.pairPart(terms, cells) : state.pairs[i]);
    return this.state(cells, columns, pairs);
  }

  scores(terms, cells) {
    const out = new Float64Array(this.classes.length);
    for (const term of terms) TERMS[term.kind](term, out, ...term.columns.map((at) => cells[at]));
    return out;
  }

  columnPart(at, cells) {
    return { name: this.columns[at].name, scores: this.scores(this.own[at], cells), status: cells[at].status };
  }

  pairPart(terms, cells) {
    return { columns: terms[0].columns.map((at) => this.columns[at].name), scores: this.scores(terms, cells) };
  }

  state(cells, columns, pairs) {
    const joint = new Float64Array(this.classes.length), least = this.least ?? -Infinity;
    for (const part of [...columns, ...pairs]) addLine(joint, part.scores, 0, 1);
    for (let k = 0; k < joint.length; k++) joint[k] = this.prior[k] + Math.max(joint[k], least);
    const words = cells.flatMap((cell) => cell.words || []);
    return { prior: this.prior, columns, pairs, words, joint, probabilities: this.probabilities(joint), cells };
  }

  probabilities(joint) {
    const top = Math.max(...joint), ruledOut = top === -Infinity;
    const odds = ruledOut ? this.fallback.map(Math.exp) : joint.map((score) => Math.exp(score - top));
    const whole = odds.reduce((sum, p) => sum + p, 0);
    return odds.map((p, k) => (p / whole) * this.aboveFloor + this.floor[k]);
  }
}

Naively.model = (flat) => new Model(flat);
})((globalThis.Naively = globalThis.Naively || {}));
