// Scores rows by a flat model (docs/guide/flat-model.md): adds up, by class, what its tables hold.
(function (Naively) {
"use strict";
const { exp, log, log1p, max, min } = Math;

// -- cells: code, code in pairs, number x, level, words. The status says why a cell has no usual value.

function isMissing({ none, codeOf }, value) {
  return value == null || Number.isNaN(value) || none.has(value) || (value === "" && !codeOf.has(value));
}

function labelKey({ type }, value) {
  if (type === "boolean") return String(value).toLowerCase();
  return String(type === "whole" || type === "number" ? Number(value) : value);
}

// A time may be a text such as 2026-02-28 12:30:00, which is UTC unless it says otherwise.
function numberOf({ type }, value) {
  if (type !== "time" || !Number.isNaN(Number(value))) return Number(value);
  const zone = value.length < 11 || /(Z|[+-]\d\d:?\d\d)$/.test(value) ? "" : "Z";
  return Date.parse(value.replace(" ", "T") + zone) / 1000;
}

function roundHalfToEven(x) {
  const near = Math.round(x);
  return near - x === 0.5 && near % 2 ? near - 1 : near;
}

const READERS = {
  label(column, value) {
    const code = column.codeOf.get(labelKey(column, value));
    return code === undefined ? { code: column.unseen, status: column.refuses ? "refused" : "unknown" } : { code };
  },
  number(column, value) {
    const x = numberOf(column, value), inside = min(max(x, column.low), column.high);
    if (Number.isNaN(x) || (column.refuses && x < 0)) return { code: -1, status: "refused" };
    let code = 0;
    for (let end = column.cuts.length; code < end; ) {
      const middle = (code + end) >> 1;
      if (column.cuts[middle] < x) code = middle + 1;
      else end = middle;
    }
    return { code, x, level: roundHalfToEven((inside - column.center) * column.steps) / 4096 };
  },
  text(column, value) {
    const known = tokens(column, String(value)).filter(({ word }) => column.codeOf.has(word));
    const scored = (word) =>
      ({ column: column.name, ...word, code: column.codeOf.get(word.word), scores: new Float64Array(column.width) });
    return { code: -1, words: known.map(scored) };
  },
};

function readCell(column, value) {
  const missing = isMissing(column, value);
  const found = missing ? { code: column.missing ?? -1, status: "missing" } : READERS[column.kind](column, value);
  const cell = { x: NaN, level: 0, words: [], status: "", ...found };
  cell.pair = column.pair_codes && cell.code >= 0 ? column.pair_codes[cell.code] ?? -1 : cell.code;
  return cell;
}

// -- texts: words are {word, begin, end}, with places in the text as it was

// All n-grams of parts. Of the letters of a word, a word that is shorter counts once.
function ngrams(parts, [least, most], between, short) {
  const found = [];
  for (let n = least; n <= most; n++) {
    const number = short && n === max(least, parts.length) ? 1 : parts.length - n + 1;
    for (let at = 0; at < number; at++) {
      const some = parts.slice(at, at + n), word = some.map((part) => part.word).join(between);
      found.push({ word, begin: some[0].begin, end: some[some.length - 1].end });
    }
  }
  return found;
}

function partsOf(text, expression, changed = (word) => word) {
  return Array.from(text.word.matchAll(expression), ({ 0: word, 1: run, index }) => {
    const begin = text.begin + index;
    return { word: changed(word), run, begin, end: begin + word.length };
  });
}

const UNITS = {
  words(column, text) {
    const clean = (word) => word.replace(column.remove, ""), found = [];
    let words = [];
    for (const part of partsOf(text, column.pattern, clean)) {
      if (part.run) { // of a script without spaces: its letters, and pairs of them
        const letters = partsOf({ word: part.run, begin: part.begin }, column.cluster, clean);
        found.push(...ngrams(words, column.ngrams, " "), ...ngrams(letters, [1, 2], ""));
        words = [];
      } else if (!column.stop_words.includes(part.word)) words.push(part);
    }
    return found.concat(ngrams(words, column.ngrams, " "));
  },
  characters: (column, text) =>
    ngrams(partsOf(text, /\s{2,}|[^]/gu, (sign) => sign.replace(/\s{2,}/, " ")), column.ngrams, ""),
  inside: (column, text) =>
    partsOf(text, /\S+/gu).flatMap((word) => {
      const blank = (at) => ({ word: " ", begin: at, end: at });
      return ngrams([blank(word.begin), ...partsOf(word, /[^]/gu), blank(word.end)], column.ngrams, "", true);
    }),
};

function tokens(column, text) {
  const lower = column.lowercase ? text.toLowerCase() : text;
  const found = UNITS[column.unit](column, { word: lower, begin: 0 });
  if (lower.length === text.length) return found;
  const place = (at) => { // the letter İ became two
    let before = 0;
    for (; at > 0; before++) at -= text[before] === "İ" ? 2 : 1;
    return before;
  };
  return found.map(({ word, begin, end }) => ({ word, begin: place(begin), end: place(end) }));
}

// -- terms: each adds its scores

// Adds a line of a table: scores of all classes, or of all but the first, whose score is 0.
function addLine(out, table, line, by) {
  const width = table.shape ? table.shape[table.shape.length - 1] : table.length, skip = out.length - width;
  for (let k = 0, at = line * width; k < width; k++, at++) out[skip + k] += by * table[at];
}

// What Stirling's formula for log Γ(z) lacks.
function stirlingRest(z) {
  if (z < 16) return stirlingRest(z + 1) + (z + 0.5) * log1p(1 / z) - 1;
  const square = 1 / (z * z);
  return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z;
}

// Logarithms of densities of x, given the parameters of a class, up to what all classes share.
const DENSITIES = {
  density(x, [center, precision, power, base]) {
    const far = min((x - center) ** 2 * precision, 1e300);
    return base - (power ? power * log1p(far) : far);
  },
  poisson: (x, [weight, rate, logRate]) => weight * ((x && x * logRate) - rate),
  "negative binomial"(x, [weight, events, rows]) { // written so that no large logarithms cancel
    const both = events + x, near = events * log1p((x * rows - events) / (events * (rows + 1)));
    const far = (x && x * (log(both / (rows + 1)) - 1)) - log(both / events) / 2;
    return weight * (near + far + stirlingRest(both) - stirlingRest(events));
  },
};

const TIMES = { all: (n) => n, once: () => 1, log: log1p };

// Adds the words of a text; each occurrence gets its share.
function addWords(term, out, words) {
  const places = new Map();
  for (const word of words) places.has(word.code) ? places.get(word.code).push(word) : places.set(word.code, [word]);
  const values = Array.from(places, ([code, found]) => [code, found, TIMES[term.times](found.length)]);
  const length = term.scaling === "none" ? 1 : Math.sqrt(values.reduce((sum, [, , v]) => sum + v * v, 0));
  if (term.constant) addLine(out, term.constant, 0, 1);
  for (const [code, found, v] of values) {
    addLine(out, term.table, code, v / length);
    for (const word of found) addLine(word.scores, term.table, code, v / length / found.length);
  }
}

const TERMS = {
  table: ({ table }, out, { code }) => code >= 0 && addLine(out, table, code, 1),
  slope: ({ table }, out, { level }) => addLine(out, table, 0, level),
  pair({ table }, out, a, b) {
    if (a.pair >= 0 && b.pair >= 0) addLine(out, table, a.pair * table.shape[1] + b.pair, 1);
  },
  triple({ table, merged }, out, ...cells) {
    const codes = cells.map(({ pair }, i) => (pair >= 0 ? merged[i][pair] ?? -1 : -1));
    const line = codes.reduce((before, code, i) => before * table.shape[i] + code, 0);
    if (Math.min(...codes) >= 0) addLine(out, table, line, 1);
  },
  words: (term, out, { words }) => addWords(term, out, words),
  "ruled out"(term, out, { words }) {
    const zeros = new Float64Array(out.length);
    addWords(term, zeros, words.map((word) => ({ ...word, scores: [] })));
    zeros.forEach((number, k) => { if (number > 0.5) out[k] = -Infinity; });
  },
};
for (const [kind, density] of Object.entries(DENSITIES))
  TERMS[kind] = ({ table }, out, { x }) => {
    for (let k = 0, width = table.shape[1]; k < out.length && !Number.isNaN(x); k++)
      out[k] += density(x, table.subarray(k * width, (k + 1) * width));
  };

// -- models

const ARRAYS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

// Arrays in base64 become typed arrays with a shape.
function decoded(_, value) {
  if (!value || !value.data) return value;
  const bytes = Uint8Array.from(atob(value.data), (sign) => sign.charCodeAt(0));
  return Object.assign(new ARRAYS[value.type](bytes.buffer), { shape: value.shape });
}

function prepared(column, width) {
  const names = column.values || column.words || [];
  const codeOf = new Map(names.map((name, at) => [labelKey(column, name), column.codes ? column.codes[at] : at]));
  for (const rule of ["pattern", "cluster", "remove"]) if (column[rule]) column[rule] = new RegExp(column[rule], "gu");
  return { ...column, codeOf, width, none: new Set(column.no_value) };
}

class Model {
  constructor(flat) {
    Object.assign(this, JSON.parse(JSON.stringify(flat), decoded));
    this.columns = this.columns.map((column) => prepared(column, this.classes.length));
    this.quadratic = this.terms.find(({ kind }) => kind === "quadratic");
    const single = this.terms.filter((term) => term !== this.quadratic && term.columns.length < 2);
    this.own = this.columns.map((_, at) => single.filter(({ columns }) => columns[0] === at));
    const pairs = new Map(); // terms of the same columns
    for (const term of this.terms.filter((term) => term !== this.quadratic && term.columns.length > 1))
      pairs.set(String(term.columns), [...(pairs.get(String(term.columns)) || []), term]);
    this.pairs = [...pairs.values()];
    this.aboveFloor = 1 - this.floor.reduce((sum, p) => sum + p, 0);
    this.average = new Float64Array(this.classes.length); // of all contributions, which are relative to it
    for (const { average } of [...this.columns, ...this.pairs.flat()]) if (average) addLine(this.average, average, 0, 1);
    this.base = this.prior.map((score, k) => score + this.average[k]);
  }

  score(row) {
    const cells = this.columns.map((column) => readCell(column, row[column.name]));
    const columns = cells.map((_, at) => this.columnPart(at, cells));
    return this.state(cells, columns, this.pairs.map((terms) => this.pairPart(terms, cells)));
  }

  // The state with one cell changed; what does not depend on it is shared with the state before.
  move(state, name, value) {
    const at = this.columns.findIndex((column) => column.name === name);
    const cells = state.cells.slice(), own = state.own.slice();
    cells[at] = readCell(this.columns[at], value);
    own[at] = this.columnPart(at, cells);
    const touched = (terms, i) => (terms[0].columns.includes(at) ? this.pairPart(terms, cells) : state.pairs[i]);
    return this.state(cells, own, this.pairs.map(touched));
  }

  scores(terms, cells) {
    const out = new Float64Array(this.classes.length);
    for (const term of terms) TERMS[term.kind](term, out, ...term.columns.map((at) => cells[at]));
    return out;
  }

  columnPart(at, cells) {
    const scores = this.scores(this.own[at], cells);
    if (this.columns[at].average) addLine(scores, this.columns[at].average, 0, -1);
    return { name: this.columns[at].name, scores, status: cells[at].status };
  }

  pairPart(terms, cells) {
    const scores = this.scores(terms, cells);
    for (const { average } of terms) if (average) addLine(scores, average, 0, -1);
    return { columns: terms[0].columns.map((at) => this.columns[at].name), scores };
  }

  // Columns with what each contributes to the quadratic form of components: what two contribute together is shared
  // between them equally.
  withQuadratic(columns, cells) {
    if (!this.quadratic) return columns;
    const { components, table } = this.quadratic, [classes, size] = table.shape, whole = new Float64Array(size);
    const parts = this.quadratic.columns.map((at, i) => {
      const part = new Float64Array(size), { level, pair } = cells[at], line = components[i];
      if (line.shape && line.shape.length > 1) { if (pair >= 0) addLine(part, line, pair, 1); }
      else addLine(part, line, 0, level);
      addLine(whole, part, 0, 1);
      return part;
    });
    const towards = Array.from({ length: classes }, (_, k) =>
      Float64Array.from({ length: size }, (_, i) => {
        let sum = 0;
        for (let j = 0, at = (k * size + i) * size; j < size; j++, at++) sum += table[at] * whole[j];
        return sum;
      }));
    const found = columns.slice();
    this.quadratic.columns.forEach((at, i) => {
      const scores = found[at].scores.slice(), skip = scores.length - classes;
      for (let k = 0; k < classes; k++) scores[skip + k] += towards[k].reduce((sum, by, j) => sum + by * parts[i][j], 0);
      found[at] = { ...found[at], scores };
    });
    return found;
  }

  state(cells, own, pairs) {
    const columns = this.withQuadratic(own, cells);
    const joint = new Float64Array(this.classes.length), words = cells.flatMap((cell) => cell.words);
    for (const part of [...columns, ...pairs]) addLine(joint, part.scores, 0, 1);
    for (let k = 0; k < joint.length; k++)
      joint[k] = this.prior[k] + max(joint[k] + this.average[k], this.least ?? -Infinity);
    return { base: this.base, own, columns, pairs, words, joint, probabilities: this.probabilities(joint), cells };
  }

  probabilities(joint) {
    const top = max(...joint);
    const odds = top === -Infinity ? this.fallback.map(exp) : joint.map((score) => exp(score - top));
    const whole = odds.reduce((sum, p) => sum + p, 0);
    return odds.map((p, k) => (p / whole) * this.aboveFloor + this.floor[k]);
  }
}

Naively.model = (flat) => new Model(flat);
Naively.numberOf = numberOf;
})((globalThis.Naively = globalThis.Naively || {}));
