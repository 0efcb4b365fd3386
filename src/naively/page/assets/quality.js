// The tab Quality: threshold, costs and base rate act on all figures at once, however many rows were measured.
// Rows are counted by bins of the probability; at the cuts between bins every figure is exact.
"use strict";
(() => {
  const { make, say, numbers, section, state } = Naively;
  const [WIDTH, HEIGHT, LEFT, WIDE, HIGH, MOST_ROWS] = [320, 232, 44, 264, 186, 40];
  const percent = numbers.probability;
  const number = numbers.number;
  const shape = (name, attributes, ...children) => make(`svg:${name}`, attributes, ...children);
  // A negative number stands for so many empty bins.
  const unpack = (list) => list.flatMap((n) => (n < 0 ? Array(-n).fill(0) : n));
  // How many lie in each bin or in a later one.
  const above = (counts) => {
    const out = [...counts, 0];
    for (let at = counts.length - 1; at >= 0; at--) out[at] += out[at + 1];
    return out;
  };

  // One class against the rest. Of two classes, one is the mirror image of the other.
  const viewOf = (quality, k) => {
    const from = quality.histograms[k] ? k : 1 - k;
    let [own, other] = quality.histograms[from].map(unpack);
    let intervals = quality.intervals[from];
    if (from !== k) {
      [own, other] = [other.reverse(), own.reverse()];
      intervals = intervals.map(([begin, end, low, high]) => [own.length - end, own.length - begin, 1 - high, 1 - low]).reverse();
    }
    const [found, flagged] = [above(own), above(other)];
    return { own, other, intervals, found, flagged, rate: found[0] / (found[0] + flagged[0]) };
  };

  // Another base rate weighs the rows of the class and all others, and multiplies all odds by the same number.
  const shifted = (p, ratio) => (p * ratio) / (p * ratio + 1 - p);
  const decisions = ({ found, flagged, rate }, at, { base, miss, alarm }) => {
    const [one, zero] = [base / rate, (1 - base) / (1 - rate)];
    const now = { hit: found[at] * one, missed: (found[0] - found[at]) * one };
    now.false_alarm = flagged[at] * zero;
    now.left_alone = (flagged[0] - flagged[at]) * zero;
    const rows = found[0] + flagged[0];
    return Object.assign(now, {
      recall: found[at] / found[0],
      precision: now.hit / (now.hit + now.false_alarm),
      alarms: flagged[at] / flagged[0],
      accuracy: (now.hit + now.left_alone) / rows,
      cost: (now.missed * miss + now.false_alarm * alarm) / rows,
    });
  };

  // -- pictures: each gets what is shown now, and returns its title, its shapes and a note ---------------------------
  const text = (x, y, words, anchor = "middle", turn = null) =>
    shape("text", { class: "nv-t", x, y, "text-anchor": anchor, transform: turn }, words);
  const plane = (across, up, top = 1) => {
    const x = (value) => LEFT + WIDE * value;
    const y = (value) => 10 + HIGH * (1 - value / top);
    const body = [];
    const path = (css, d) => body.push(shape("path", { class: css, d }));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      path("nv-grid", `M${x(share)} 10v${HIGH}M${LEFT} ${y(share * top)}h${WIDE}`);
      body.push(text(x(share), HIGH + 24, number(share)), text(LEFT - 5, y(share * top) + 4, number(share * top, 2), "end"));
    }
    body.push(text(LEFT + WIDE / 2, HEIGHT - 5, across), text(11, 103, up, "middle", "rotate(-90 11 103)"));
    const line = (points, css = "nv-s0") => {
      const places = points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`);
      path(css, `M${places.filter((place, at) => place !== places[at - 1]).join("L")}`);
    };
    const mark = (a, b, css = "q-mark", r = 5) => body.push(shape("circle", { class: css, cx: x(a), cy: y(b), r }));
    return { body, line, mark };
  };
  const diagonal = [[0, 0], [1, 1]];

  const histogram = ({ view, at, label, middle, shown }) => {
    const [bars, step] = [50, 296 / 50];
    const body = [view.own, view.other].flatMap((counts, side) => {
      // Below the threshold, and above it.
      const sums = [Array(bars).fill(0), Array(bars).fill(0)];
      counts.forEach((n, bin) => { sums[Number(bin >= at)][Math.min(Math.floor(middle(bin) * bars), bars - 1)] += n; });
      const top = Math.max(...sums[0].map((n, bar) => n + sums[1][bar]));
      return sums.map((line, flagged) => {
        const d = line.map((n, bar) => {
          const [from, to] = [flagged * sums[0][bar], n + flagged * sums[0][bar]].map((m) => 92 * Math.sqrt(m / top));
          const y = side ? 106 + from : 106 - to;
          return n ? `M${(12 + step * bar).toFixed(1)} ${y.toFixed(1)}h5.3v${(to - from).toFixed(1)}h-5.3z` : "";
        });
        return shape("path", { class: `nv-c${side ? 6 : 0}${flagged === side ? " q-pale" : ""}`, d: d.join("") });
      });
    });
    const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => text(12 + 296 * share, 216, number(share)));
    body.push(shape("path", { class: "q-line", d: `M${12 + 296 * shown(at)} 6v200` }), ...marks);
    body.push(text(WIDTH / 2, HEIGHT - 2, say("quality.axis.given", { label })));
    return [say("quality.histogram.title", { label }), body, say("quality.histogram.note")];
  };

  const calibration = ({ view, at, label, ratio, middle, weights }) => {
    const points = view.intervals.map(([begin, end, low, high]) => {
      let [hits, rows, sum, n] = [0, 0, 0, 0];
      for (let bin = begin; bin < end; bin++) {
        const [one, zero] = [view.own[bin] * weights[0], view.other[bin] * weights[1]];
        hits += one;
        rows += one + zero;
        sum += (one + zero) * middle(bin);
        n += view.own[bin] + view.other[bin];
      }
      const here = at >= begin && (at < end || end === view.own.length);
      return { given: sum / rows, found: hits / rows, low: shifted(low, ratio), high: shifted(high, ratio), here, n };
    });
    const chart = plane(say("quality.axis.given", { label }), say("quality.axis.found", { label }));
    chart.line(diagonal, "nv-dashed");
    chart.line(points.map(({ given, found }) => [given, found]));
    for (const { given, found, low, high, here } of points) {
      chart.line([[given, low], [given, high]]);
      chart.mark(given, found, here ? "q-mark" : "nv-c0", here ? 5 : 3);
    }
    const { n, given, found } = points.find((one) => one.here);
    const said = { n: numbers.count(n), given: percent(given, 0), found: percent(found, 0), label };
    return [say("quality.calibration.title", said), chart.body, say("quality.calibration.note")];
  };

  const roc = ({ all, now, said }) => {
    const chart = plane(say("quality.axis.alarms"), say("quality.axis.recall"));
    chart.line(diagonal, "nv-dashed");
    chart.line(all.map((one) => [one.alarms, one.recall]));
    chart.mark(now.alarms, now.recall);
    const area = all.slice(1).reduce((sum, one, at) => sum + ((all[at].alarms - one.alarms) * (all[at].recall + one.recall)) / 2, 0);
    return [say("quality.roc.point", { ...said, alarms: percent(now.alarms), auc: area < 0.9995 || area > 1 - 1e-9 ? area.toFixed(3) : "> 0.999" }), chart.body];
  };

  const precision = ({ all, now, set, said }) => {
    const chart = plane(say("quality.axis.recall"), say("quality.axis.precision"));
    chart.line([[0, set.base], [1, set.base]], "nv-dashed");
    chart.line(all.filter((one) => one.precision >= 0).map((one) => [one.recall, one.precision]));
    if (now.precision >= 0) chart.mark(now.recall, now.precision);
    return [say("quality.pr.point", said), chart.body];
  };

  const costs = ({ all, now, at, shown, set, said }) => {
    const constant = [all[0].cost, all[all.length - 1].cost];
    const least = all.reduce((best, one, place) => (one.cost < all[best].cost ? place : best), at);
    const high = Math.max(Math.min(...constant) * 1.3, now.cost) || 1;
    const unit = 10 ** Math.floor(Math.log10(high));
    // The axis has four steps of round numbers.
    const top = unit * [1, 2, 4, 6, 8, 10].find((times) => times * unit >= high);
    const chart = plane(say("quality.axis.threshold"), say("quality.axis.cost"), top);
    for (const cost of constant) if (cost <= top) chart.line([[0, cost], [1, cost]], "nv-dashed");
    chart.line(all.flatMap((one, place) => (one.cost <= top ? [[shown(place), one.cost]] : [])));
    chart.mark(shown(at), now.cost);
    const best = number(set.alarm / (set.alarm + set.miss), 3);
    const lowest = { least: number(all[least].cost, 3), t: number(shown(least), 3) };
    return [say("quality.cost.title", { ...said, ...lowest }), chart.body, say("quality.cost.note", { best })];
  };

  // -- the tab: the static part is brought to life where it stands ----------------------------------------------------
  const pictures = { histogram, calibration, roc, precision, costs };
  // The rows of the page with known classes, with the probabilities that were measured.
  const answered = ({ truth, numbers: at, posterior }) => truth.flatMap((own, place) =>
    (own < 0 ? [] : { place, own, p: posterior[place], answer: posterior[place].indexOf(Math.max(...posterior[place])), name: String(at[place]) }));
  const input = (name, key, attributes) =>
    make("input", { type: "number", name, min: 0, step: "any", "aria-label": say(key), autocomplete: "off", ...attributes });
  const controlsOf = (classes, cuts) => {
    const groups = {
      "quality.class": [make("select", { name: "k", "aria-label": say("quality.class"), autocomplete: "off" }, classes)],
      "quality.threshold": [input("at", "quality.threshold.slider", { type: "range", max: cuts.length - 1, step: 1 }), input("t", "quality.threshold", { max: 1, step: 0.001 })],
      "quality.costs": [input("miss", "quality.miss"), " : ", input("alarm", "quality.alarm")],
      "quality.base": [input("bases", "quality.base.slider", { type: "range", min: 0.1, max: 99.9, step: 0.1 }), input("base", "quality.base", { max: 100 })],
    };
    const fieldsets = Object.entries(groups).map(([key, parts]) => make("fieldset", {}, make("legend", {}, say(key)), parts));
    return make("div", { class: "q-controls" }, fieldsets, make("button", { type: "button", name: "reset" }, say("quality.reset")));
  };

  const start = (root, data) => {
    const { quality } = data;
    if (!quality || quality.first === null) return;
    const labels = data.flat.classes.map(String);
    const whole = Array.from({ length: 999 }, (_, at) => (at + 1) / 1000);
    const cuts = [0, ...quality.tail, ...whole, ...quality.tail.map((cut) => 1 - cut).reverse(), 1];
    // Without a base rate it is that of the rows.
    const usual = { k: quality.first, t: 0.5, miss: 1, alarm: 1, base: null };
    const set = { ...usual, ...state.get("quality") };
    const controls = controlsOf(quality.classes.map((k) => make("option", { value: k }, labels[k])), cuts);
    const find = (name) => controls.querySelector(`[name=${name}]`);
    const list = make("div", { class: "q-rows", tabindex: -1 });
    const words = root.querySelector(".q-words");
    words.before(controls);
    root.append(list);
    const still = root.querySelector("[data-picture]");
    const figures = Object.keys(pictures).map((name) => [name, name === "calibration" ? still : make("figure", { "data-picture": name })]);
    still.replaceWith(...figures.map(([, figure]) => figure));
    const rows = data.rows?.posterior ? answered(data.rows) : [];
    let [view, ratio, at] = [];

    const toCost = (name) => (value) => {
      set[name] = Math.max(value, 0);
      if (set.miss + set.alarm > 0) set.t = set.alarm / (set.alarm + set.miss);
    };
    const toBase = (value) => { set.base = Math.min(Math.max(value / 100, 1e-6), 1 - 1e-6); };
    const changes = {
      k: (value) => { set.k = value; },
      at: (value) => { set.t = shifted(cuts[value], ratio); },
      t: (value) => { set.t = value; },
      miss: toCost("miss"), alarm: toCost("alarm"), bases: toBase, base: toBase,
    };
    controls.addEventListener("input", ({ target }) => {
      if (target.value === "") return;
      changes[target.name](Number(target.value));
      draw(target);
    });
    find("reset").addEventListener("click", () => { Object.assign(set, usual, { k: set.k }); draw(null); });

    // A cell lists its rows: the most surprising first.
    const listRows = (belongs) => {
      const inside = rows.filter(belongs).sort((a, b) => a.p[a.own] - b.p[b.own]);
      const lines = inside.slice(0, MOST_ROWS).map(({ place, own, p, answer, name }) => {
        const open = make("button", { type: "button", "aria-label": say("quality.open", { n: name }), click: () => Naively.openRow(place) }, name);
        return make("tr", {}, [open, labels[own], labels[answer], percent(p[own])].map((one) => make("td", {}, one)));
      });
      const heads = ["quality.row", "quality.truth", "quality.answer", "quality.p_truth"].map((key) => make("th", { scope: "col" }, say(key)));
      list.replaceChildren(make("p", { class: "muted" }, say("quality.listed", { n: inside.length, rows: rows.length })),
        make("table", {}, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, lines)));
      if (inside.length > MOST_ROWS) list.append(say("quality.more_rows", { n: inside.length - MOST_ROWS }));
      list.focus();
    };
    const flagged = (row) => at === 0 || row.p[set.k] > cuts[at];
    const belonging = {
      hit: (row) => row.own === set.k && flagged(row),
      missed: (row) => row.own === set.k && !flagged(row),
      false_alarm: (row) => row.own !== set.k && flagged(row),
      left_alone: (row) => row.own !== set.k && !flagged(row),
    };
    for (const cell of rows.length ? root.querySelectorAll("[data-cell]") : []) {
      if (!(cell.dataset.cell in belonging) && cell.textContent === "0") continue;
      const [own, answer] = cell.dataset.cell.split(",").map(Number);
      const belongs = belonging[cell.dataset.cell] ?? ((row) => row.own === own && row.answer === answer);
      const button = make("button", { type: "button", class: "q-cell", click: () => listRows(belongs) });
      button.append(cell.firstChild);
      cell.prepend(button);
    }

    // The control that was just set stays as it was typed.
    const draw = (from) => {
      view = viewOf(quality, set.k);
      const { rate } = view;
      const base = set.base ?? rate;
      ratio = base / (1 - base) / (rate / (1 - rate));
      const shown = (place) => shifted(cuts[place], ratio);
      const middle = (bin) => shifted((cuts[bin] + cuts[bin + 1]) / 2, ratio);
      at = cuts.reduce((best, _, place) => (Math.abs(shown(place) - set.t) < Math.abs(shown(best) - set.t) ? place : best), 0);
      const all = cuts.map((_, place) => decisions(view, place, { ...set, base }));
      const now = all[at];
      const values = { ...set, at, t: +shown(at).toPrecision(4), bases: 100 * base, base: +(100 * base).toPrecision(4) };
      for (const name in changes) if (find(name) !== from) find(name).value = values[name];
      const label = labels[set.k];
      const said = { label, t: number(shown(at)), cost: number(now.cost, 3), base: percent(base), own: percent(rate) };
      for (const name of ["recall", "precision", "accuracy"]) said[name] = percent(now[name]);
      find("at").setAttribute("aria-valuetext", said.t);
      words.textContent = say("quality.rates", said) + (set.base === null ? "" : ` ${say("quality.weighed", said)}`);
      for (const key in belonging) {
        const cell = root.querySelector(`[data-cell=${key}]`);
        cell.dataset.value = now[key];
        (rows.length ? cell.firstChild : cell).firstChild.data = numbers.count(Math.round(10 * now[key]) / 10);
      }
      root.querySelector(".q-is").textContent = say("quality.is", said);
      root.querySelector(".q-cells figcaption").textContent = say("quality.cells.title", { right: number(100 * now.accuracy, 3) });
      const weights = [base / rate, (1 - base) / (1 - rate)];
      for (const [name, figure] of figures) {
        const [title, body, note] = pictures[name]({ view, at, label, set: { ...set, base }, all, now, shown, said, ratio, middle, weights });
        figure.replaceChildren(make("figcaption", { dir: "auto" }, title),
          shape("svg", { class: "nv-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, body), make("p", { class: "muted" }, note));
      }
      if (from !== undefined) list.replaceChildren();
      state.set("quality", Object.keys(usual).some((key) => set[key] !== usual[key]) ? set : null);
    };
    draw();
    restore = () => { Object.assign(set, usual, state.get("quality")); draw(null); };
  };

  let restore = () => {};
  section("quality", { start, restore: () => restore() });
})();
