// Scores rows by a flat model (docs/guide/flat-model.md describes its format): adds up, by class, what tables say.
(function (Naively) {
  "use strict";

  const ARRAYS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

  // Arrays in base64, wherever they are, as typed arrays with a shape.
  function decoded(value) {
    if (Array.isArray(value)) return value.map(decoded);
    if (value === null || typeof value !== "object") return value;
    if (value.data !== undefined) {
      const bytes = Uint8Array.from(atob(value.data), (sign) => sign.charCodeAt(0));
      return Object.assign(new ARRAYS[value.type](bytes.buffer), { shape: value.shape });
    }
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, decoded(part)]));
  }

  // -- cells ----------------------------------------------------------------------------------------------------------

  function missing(value) {
    return value === null || value === undefined || value === "" || Number.isNaN(value);
  }

  function label(column, value) {
    const text = column.type === "boolean" && typeof value === "string" ? value.toLowerCase() : String(value);
    return column.type === "whole" || column.type === "number" ? String(Number(value)) : text;
  }

  function readLabel(column, value) {
    if (missing(value) || column.noValue.has(value)) return { code: column.missing, status: "missing" };
    const code = column.codes.get(label(column, value));
    if (code !== undefined) return { code, status: "" };
    return { code: column.unseen, status: column.refuses ? "refused" : "unknown" };
  }

  function numberOf(column, value) {
    if (missing(value)) return NaN;
    if (typeof value !== "string" || column.type !== "time") return Number(value);
    const zone = /[T ].*(Z|[+-]\d\d:?\d\d)$/.test(value);
    return Date.parse(value.replace(" ", "T") + (zone ? "" : value.length > 10 ? "Z" : "T00:00Z")) / 1000;
  }

  // Halves go to the even neighbor, as in IEEE 754.
  function rounded(x) {
    const near = Math.round(x);
    return Math.abs(x % 1) === 0.5 && near % 2 ? near - 1 : near;
  }

  function readNumber(column, value) {
    const x = numberOf(column, value);
    if (Number.isNaN(x)) return { code: column.missing, x, level: 0, status: missing(value) ? "missing" : "refused" };
    if (column.refuses && x < 0) return { code: -1, x: NaN, level: 0, status: "refused" };
    let begin = 0, end = column.cuts.length;
    while (begin < end) {
      const middle = (begin + end) >> 1;
      if (column.cuts[middle] < x) begin = middle + 1;
      else end = middle;
    }
    const inside = Math.min(Math.max(x, column.low), column.high);
    const level = column.steps === undefined ? 0 : rounded((inside - column.center) * column.steps) / 4096;
    return { code: begin, x: Math.min(Math.max(x, -1e150), 1e150), level: level || 0, status: "" };
  }

  const READERS = { label: readLabel, number: readNumber };

  function readCell(column, value) {
    const cell = READERS[column.kind](column, value);
    cell.pair = column.pair_codes && cell.code >= 0 ? column.pair_codes[cell.code] ?? -1 : cell.code;
    return cell;
  }

  // -- terms ----------------------------------------------------------------------------------------------------------

  // Adds a line of a table: scores of all classes, or of all but the first, whose score is 0.
  function addLine(out, table, width, line, by) {
    const skip = out.length - width;
    for (let k = 0, at = line * width; k < width; k++, at++) out[skip + k] += by * table[at];
  }

  function widthOf(table) {
    return table.shape[table.shape.length - 1];
  }

  // What Stirling's formula for log Γ(z) lacks.
  function stirlingRest(z) {
    if (z < 16) return stirlingRest(z + 1) + (z + 0.5) * Math.log1p(1 / z) - 1;
    const square = 1 / (z * z);
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z;
  }

  // log P(x), up to what all classes share, for so many events in so many rows: no large logarithms cancel.
  function negativeBinomial(x, events, rows) {
    const both = events + x;
    const near = events * Math.log1p((x * rows - events) / (events * (rows + 1)));
    const far = x ? x * (Math.log(both / (rows + 1)) - 1) : 0;
    return near + far - Math.log(both / events) / 2 + stirlingRest(both) - stirlingRest(events);
  }

  const TERMS = {
    table(term, out, cell) {
      if (cell.code >= 0) addLine(out, term.table, widthOf(term.table), cell.code, 1);
    },
    slope(term, out, { level }) {
      if (term.slope) addLine(out, term.slope, term.slope.length, 0, level);
      if (term.square) addLine(out, term.square, term.square.length, 0, level * level);
    },
    pair(term, out, a, b) {
      if (a.pair >= 0 && b.pair >= 0)
        addLine(out, term.table, widthOf(term.table), a.pair * term.table.shape[1] + b.pair, 1);
    },
    product(term, out, a, b) {
      const plain = term.table.shape.length === 1;
      if (plain || b.pair >= 0)
        addLine(out, term.table, widthOf(term.table), plain ? 0 : b.pair, a.level * (plain ? b.level : 1));
    },
    normal(term, out, { x }) {
      for (let k = 0; k < out.length; k++) out[k] += term.base[k] - Math.min((x - term.centre[k]) ** 2, 1e300) * term.precision[k];
    },
    student(term, out, { x }) {
      for (let k = 0; k < out.length; k++)
        out[k] += term.base[k] - term.power[k] * Math.log1p(Math.min((x - term.centre[k]) ** 2 * term.precision[k], 1e300));
    },
    poisson(term, out, { x }) {
      for (let k = 0; k < out.length; k++) out[k] += term.weight * ((x ? x * Math.log(term.rate[k]) : 0) - term.rate[k]);
    },
    "negative binomial"(term, out, { x }) {
      for (let k = 0; k < out.length; k++) out[k] += term.weight * negativeBinomial(x, term.events[k], term.rows[k]);
    },
  };
  const DENSITIES = new Set(["normal", "student", "poisson", "negative binomial"]);

  function addTerm(term, out, cells) {
    const own = cells[term.columns ? term.columns[0] : term.column];
    if (DENSITIES.has(term.kind) && Number.isNaN(own.x)) return;
    TERMS[term.kind](term, out, own, term.columns && cells[term.columns[1]]);
  }

  // -- models ---------------------------------------------------------------------------------------------------------

  function withCodes(column) {
    if (column.kind !== "label") return column;
    const rare = column.rare || { code: -1, values: [] };
    const known = column.values.map((value, code) => [value, code]).concat(rare.values.map((value) => [value, rare.code]));
    const shown = known.filter(([value]) => value !== null);
    column.codes = new Map(shown.map(([value, code]) => [label(column, value), code]));
    column.noValue = new Set(column.no_value);
    column.values = shown.map(([value]) => value);
    return column;
  }

  class Model {
    constructor(flat) {
      Object.assign(this, decoded(flat));
      this.columns = this.columns.map(withCodes);
      this.places = new Map(this.columns.map((column, at) => [column.name, at]));
      this.own = this.columns.map((_, at) => this.terms.filter((term) => term.column === at));
      const together = new Map();
      for (const term of this.terms.filter((one) => one.columns)) {
        const key = term.columns.join();
        together.set(key, (together.get(key) || []).concat(term));
      }
      this.pairs = [...together.values()];
      this.above = 1 - (this.floor || []).reduce((sum, p) => sum + p, 0);
    }

    score(row) {
      const cells = this.columns.map((column) => readCell(column, row[column.name]));
      const columns = this.columns.map((_, at) => this.columnScores(at, cells));
      return this.summed(cells, columns, this.pairs.map((terms) => this.pairScores(terms, cells)));
    }

    // The same state with one cell changed; what does not depend on it is shared with the state before.
    move(state, name, value) {
      const at = this.places.get(name), cells = state.cells.slice(), columns = state.columns.slice();
      cells[at] = readCell(this.columns[at], value);
      columns[at] = this.columnScores(at, cells);
      const pairs = state.pairs.map((pair, i) =>
        this.pairs[i][0].columns.includes(at) ? this.pairScores(this.pairs[i], cells) : pair);
      return this.summed(cells, columns, pairs);
    }

    columnScores(at, cells) {
      const scores = new Float64Array(this.classes.length);
      for (const term of this.own[at]) addTerm(term, scores, cells);
      return { name: this.columns[at].name, scores, status: cells[at].status };
    }

    pairScores(terms, cells) {
      const scores = new Float64Array(this.classes.length);
      for (const term of terms) addTerm(term, scores, cells);
      return { columns: terms[0].columns.map((at) => this.columns[at].name), scores };
    }

    summed(cells, columns, pairs) {
      const joint = new Float64Array(this.classes.length);
      for (const part of columns) addLine(joint, part.scores, joint.length, 0, 1);
      for (const part of pairs) addLine(joint, part.scores, joint.length, 0, 1);
      for (let k = 0; k < joint.length; k++)
        joint[k] = this.prior[k] + (this.least === null ? joint[k] : Math.max(joint[k], this.least));
      const words = cells.flatMap((cell) => cell.words || []);
      return { prior: this.prior, columns, pairs, words, joint, probabilities: this.probabilities(joint), cells };
    }

    probabilities(joint) {
      const top = Math.max(...joint);
      if (top === -Infinity) return this.fallback.map(Math.exp);
      const odds = joint.map((score) => Math.exp(score - top));
      const whole = odds.reduce((sum, p) => sum + p, 0);
      return odds.map((p, k) => (p / whole) * this.above + (this.floor ? this.floor[k] : 0));
    }
  }

  Naively.model = (flat) => new Model(flat);
})((globalThis.Naively = globalThis.Naively || {}));
