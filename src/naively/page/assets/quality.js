// The tab Quality: threshold, costs and base rate act on all figures at once, however many rows were measured.
// Rows are counted by bins of the probability; at the cuts between bins every figure is exact.
"use strict";
(() => {
  const { make, say, numbers, section, state } = Naively;
  const [WIDTH, HEIGHT, LEFT, BOTTOM] = [320, 232, 44, 36];
  const percent = (p) => numbers.probability(p);
  const MOST_ROWS = 40;

  // A negative number stands for so many empty bins.
  const unpack = (list) => list.flatMap((n) => (n < 0 ? new Array(-n).fill(0) : [n]));
  // What lies in a bin or in a later one.
  const above = (counts) => {
    const out = new Float64Array(counts.length + 1);
    for (let at = counts.length - 1; at >= 0; at--) out[at] = out[at + 1] + counts[at];
    return out;
  };
  const thresholds = (tail) => {
    const whole = Array.from({ length: 999 }, (_, at) => (at + 1) / 1000);
    return [0, ...tail, ...whole, ...tail.map((cut) => 1 - cut).reverse(), 1];
  };

  // One class against the rest. Of two classes, one is the mirror image of the other.
  const viewOf = (quality, k) => {
    const mirrored = !quality.histograms[k];
    let [own, other] = quality.histograms[mirrored ? 1 - k : k].map(unpack);
    let intervals = quality.intervals[mirrored ? 1 - k : k];
    if (mirrored) {
      [own, other] = [other.reverse(), own.reverse()];
      intervals = intervals.map(([low, high]) => [1 - high, 1 - low]).reverse();
    }
    const [found, flagged] = [above(own), above(other)];
    return { own, other, found, flagged, intervals, size: found[0], rest: flagged[0], rate: found[0] / (found[0] + flagged[0]) };
  };

  // The odds of the class are multiplied by the same number in all rows.
  const ratioOf = (view, base) => base / (1 - base) / (view.rate / (1 - view.rate));
  const shifted = (p, ratio) => (p * ratio) / (p * ratio + 1 - p);

  // The decisions at a cut: rows of the class above it are found, other rows above it are false alarms.
  const decisions = (view, at, set) => {
    const [one, zero] = [set.base / view.rate, (1 - set.base) / (1 - view.rate)];
    const hit = view.found[at] * one;
    const missed = (view.size - view.found[at]) * one;
    const alarm = view.flagged[at] * zero;
    const left = (view.rest - view.flagged[at]) * zero;
    const rows = hit + missed + alarm + left;
    return {
      hit, missed, alarm, left,
      recall: hit / (hit + missed),
      precision: hit / (hit + alarm),
      alarms: alarm / (alarm + left),
      accuracy: (hit + left) / rows,
      cost: (missed * set.miss + alarm * set.alarm) / rows,
    };
  };

  // -- pictures -------------------------------------------------------------------------------------------------------
  const shape = (name, attributes, ...children) => make(`svg:${name}`, attributes, ...children);
  const text = (x, y, words, anchor = "middle", more = {}) =>
    shape("text", { class: "nv-t", x, y, "text-anchor": anchor, ...more }, words);

  // A plane with two axes from 0 to 1 (or the top), and functions that place a point on it.
  const plane = (across, up, top = 1) => {
    const [wide, high] = [WIDTH - LEFT - 12, HEIGHT - BOTTOM - 10];
    const x = (value) => LEFT + wide * value;
    const y = (value) => 10 + high * (1 - Math.min(value / top, 1));
    const body = [];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      body.push(shape("path", { class: "nv-grid", d: `M${x(share)} ${y(0)}V${y(top)}M${x(0)} ${y(share * top)}H${x(1)}` }));
      body.push(text(x(share), HEIGHT - BOTTOM + 14, numbers.number(share)));
      body.push(text(LEFT - 5, y(share * top) + 4, numbers.number(share * top, 2), "end"));
    }
    body.push(text(LEFT + wide / 2, HEIGHT - 5, across));
    const middle = 10 + high / 2;
    body.push(text(11, middle, up, "middle", { transform: `rotate(-90 11 ${middle})` }));
    const line = (points, css) => {
      let [path, last] = ["", ""];
      for (const [a, b] of points) {
        const place = `${x(a).toFixed(1)} ${y(b).toFixed(1)}`;
        if (place !== last) path += `${path ? "L" : "M"}${place}`;
        last = place;
      }
      body.push(shape("path", { class: css, d: path || "M0 0" }));
    };
    const mark = (a, b, css = "q-mark", r = 5) => body.push(shape("circle", { class: css, cx: x(a), cy: y(b), r }));
    return { x, y, body, line, mark };
  };
  const figure = (title, body, note) => {
    const svg = shape("svg", { class: "nv-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, body);
    return [make("figcaption", { dir: "auto" }, title), svg, note && make("p", { class: "muted" }, note)];
  };

  const histogram = ({ view, at, label, cuts, set }) => {
    const bars = 50;
    const ratio = ratioOf(view, set.base);
    const sides = [view.own, view.other].map((counts, side) => {
      const kept = [new Float64Array(bars), new Float64Array(bars)]; // below the threshold, above it
      counts.forEach((n, bin) => {
        if (!n) return;
        const p = shifted((cuts[bin] + cuts[bin + 1]) / 2, ratio);
        kept[bin >= at ? 1 : 0][Math.min(Math.floor(p * bars), bars - 1)] += n;
      });
      return { kept, top: Math.max(...kept[0].map((n, bar) => n + kept[1][bar])) || 1, side };
    });
    const [middle, half, wide] = [106, 92, WIDTH - 24];
    const body = [];
    for (const { kept, top, side } of sides) {
      for (const flagged of [0, 1]) {
        let path = "";
        kept[flagged].forEach((n, bar) => {
          if (!n) return;
          const start = flagged ? kept[0][bar] : 0;
          // A root: rare rows are seen beside frequent ones.
          const [from, to] = [start, start + n].map((m) => half * Math.sqrt(m / top));
          const [x, y] = [12 + (wide * bar) / bars, side ? middle + from : middle - to];
          path += `M${x.toFixed(1)} ${y.toFixed(1)}h${(wide / bars - 0.6).toFixed(1)}v${(to - from).toFixed(1)}h${(0.6 - wide / bars).toFixed(1)}z`;
        });
        const right = flagged === 1 - side;
        if (path) body.push(shape("path", { class: `${side ? "nv-c6" : "nv-c0"}${right ? "" : " q-pale"}`, d: path }));
      }
    }
    const x = 12 + wide * shifted(cuts[at], ratio);
    body.push(shape("path", { class: "nv-zero", d: `M12 ${middle}H${12 + wide}` }));
    body.push(shape("path", { class: "q-line", d: `M${x} 6V${2 * middle - 6}` }));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) body.push(text(12 + wide * share, 2 * middle + 4, numbers.number(share)));
    body.push(text(WIDTH / 2, HEIGHT - 3, say("quality.axis.given", { label })));
    return figure(say("quality.histogram.title", { label }), body, say("quality.histogram.note"));
  };

  const calibration = ({ quality, view, at, label, cuts, set }) => {
    const ratio = ratioOf(view, set.base);
    const ends = [0, ...quality.groups.map((cut) => cuts.findIndex((one) => one > cut - 1e-9)), view.own.length];
    const chart = plane(say("quality.axis.given", { label }), say("quality.axis.found", { label }));
    chart.line([[0, 0], [1, 1]], "nv-dashed");
    const points = [];
    view.intervals.forEach(([low, high], group) => {
      let [hits, rows, sum] = [0, 0, 0];
      for (let bin = ends[group]; bin < ends[group + 1]; bin++) {
        const [one, zero] = [(view.own[bin] * set.base) / view.rate, (view.other[bin] * (1 - set.base)) / (1 - view.rate)];
        hits += one;
        rows += one + zero;
        sum += (one + zero) * shifted((cuts[bin] + cuts[bin + 1]) / 2, ratio);
      }
      if (!rows) return;
      const here = at >= ends[group] && at < ends[group + 1];
      points.push({ given: sum / rows, found: hits / rows, low: shifted(low, ratio), high: shifted(high, ratio), here });
    });
    chart.line(points.map((one) => [one.given, one.found]), "nv-s0");
    for (const one of points) {
      chart.line([[one.given, one.low], [one.given, one.high]], "nv-s0");
      chart.mark(one.given, one.found, one.here ? "q-mark" : "nv-c0", one.here ? 5 : 3);
    }
    const near = points.find((one) => one.here) ?? points[points.length - 1];
    const said = { given: numbers.probability(near.given, 0), found: numbers.probability(near.found, 0), label };
    return figure(say("quality.calibration.title", said), chart.body, say("quality.calibration.note"));
  };

  const roc = ({ view, now, label }) => {
    const chart = plane(say("quality.axis.alarms"), say("quality.axis.recall"));
    chart.line([[0, 0], [1, 1]], "nv-dashed");
    const points = Array.from(view.found, (n, at) => [view.flagged[at] / view.rest, n / view.size]);
    chart.line(points, "nv-s0");
    chart.mark(now.alarms, now.recall);
    let area = 0;
    for (let at = 1; at < points.length; at++) area += ((points[at - 1][0] - points[at][0]) * (points[at - 1][1] + points[at][1])) / 2;
    const said = { recall: percent(now.recall), alarms: percent(now.alarms), auc: area.toFixed(3), label };
    return figure(say("quality.roc.point", said), chart.body);
  };

  const precision = ({ all, now, set, label }) => {
    const chart = plane(say("quality.axis.recall"), say("quality.axis.precision"));
    chart.line([[0, set.base], [1, set.base]], "nv-dashed");
    chart.line(all.filter((one) => one.hit + one.alarm > 0).map((one) => [one.recall, one.precision]), "nv-s0");
    if (now.hit + now.alarm > 0) chart.mark(now.recall, now.precision);
    return figure(say("quality.pr.point", { recall: percent(now.recall), precision: percent(now.precision), label }), chart.body);
  };

  const costs = ({ all, now, at, shown, set }) => {
    const constant = [all[0].cost, all[all.length - 1].cost];
    const top = Math.max(Math.min(...constant) * 1.6, now.cost * 1.05) || 1;
    const chart = plane(say("quality.axis.threshold"), say("quality.axis.cost"), top);
    for (const cost of constant) if (cost <= top) chart.line([[0, cost], [1, cost]], "nv-dashed");
    chart.line(all.map((one, place) => [shown(place), Math.min(one.cost, top)]), "nv-s0");
    const least = all.reduce((best, one, place) => (one.cost < all[best].cost ? place : best), at);
    chart.mark(shown(least), all[least].cost, "nv-c0", 3);
    chart.mark(shown(at), now.cost);
    const said = { cost: numbers.number(now.cost, 3), least: numbers.number(all[least].cost, 3), t: numbers.number(shown(least), 3) };
    const best = numbers.number(set.alarm / (set.alarm + set.miss), 3);
    return figure(say("quality.cost.title", said), chart.body, say("quality.cost.note", { best }));
  };

  // -- confusion and rows ---------------------------------------------------------------------------------------------
  // The rows of the page with known classes, as the model answers them.
  const answeredRows = (data, model) => {
    const rows = data.rows;
    if (!rows) return [];
    return rows.truth.flatMap((truth, at) => {
      if (truth < 0) return [];
      const row = Object.fromEntries(rows.columns.map((name, place) => [name, rows.cells[place][at]]));
      const p = Array.from(model.score(row).probabilities);
      return [{ at, truth, p, answer: p.indexOf(Math.max(...p)), number: rows.numbers?.[at] ?? at + 1 }];
    });
  };

  const start = (root, data, model) => {
    const quality = data.quality;
    if (!quality) return;
    const labels = data.flat.classes.map(String);
    const sizes = quality.confusion.map((line) => line.reduce((sum, n) => sum + n, 0));
    const total = sizes.reduce((sum, n) => sum + n, 0);
    const usable = labels.map((_, k) => k).filter((k) => (labels.length === 2 || quality.histograms[k]) && sizes[k] > 0 && sizes[k] < total);
    if (!usable.length) return;
    const cuts = thresholds(quality.tail);
    const rarest = usable.reduce((best, k) => (sizes[k] <= sizes[best] ? k : best));
    const set = { k: rarest, t: 0.5, miss: 1, alarm: 1, base: null, ...state.get("quality") };
    if (!usable.includes(set.k)) set.k = rarest;
    let [view, rows, picked] = [viewOf(quality, set.k), null, null];
    set.base ??= view.rate;

    const input = (type, name, more, change) =>
      make("input", { type, "aria-label": name, ...more, input: (event) => { if (event.target.value !== "") change(Number(event.target.value)); draw(event.target); } });
    const named = (name, ...parts) => make("fieldset", {}, make("legend", {}, name), ...parts);
    const choice = make("select", { "aria-label": say("quality.class"), change: () => choose(Number(choice.value)) },
      usable.map((k) => make("option", { value: k, selected: k === set.k }, labels[k])));
    const slider = input("range", say("quality.threshold.slider"), { min: 0, max: cuts.length - 1, step: 1 }, (at) => { set.t = shifted(cuts[at], ratioOf(view, set.base)); });
    const field = input("number", say("quality.threshold"), { min: 0, max: 1, step: 0.001 }, (t) => { set.t = Math.min(Math.max(t, 0), 1); });
    const cost = (kind) => input("number", say(`quality.${kind}`), { min: 0, step: "any" }, (value) => {
      set[kind] = Math.max(value, 0);
      if (set.miss + set.alarm > 0) set.t = set.alarm / (set.alarm + set.miss);
    });
    const [miss, alarm] = [cost("miss"), cost("alarm")];
    const rate = (value) => { set.base = Math.min(Math.max(value / 100, 1e-6), 1 - 1e-6); };
    const baseSlider = input("range", say("quality.base.slider"), { min: 0.1, max: 99.9, step: 0.1 }, rate);
    const base = input("number", "", { min: 0, max: 100, step: "any" }, rate);
    const baseName = make("legend");
    const reset = make("button", { type: "button", click: () => {
      Object.assign(set, { t: 0.5, miss: 1, alarm: 1, base: view.rate });
      draw();
    } }, say("quality.reset"));
    const controls = make("div", { class: "q-controls" },
      named(say("quality.class"), choice), named(say("quality.threshold"), slider, field),
      named(say("quality.costs"), make("span", {}, miss, " : ", alarm)), make("fieldset", {}, baseName, baseSlider, base), reset);
    const words = make("p", { class: "q-words", "aria-live": "polite" });
    const cells = make("figure", { class: "q-cells" });
    const figures = [histogram, calibration, roc, precision, costs].map((drawn) => [drawn, make("figure", {})]);
    const list = make("div", { class: "q-rows", tabindex: -1 });
    const live = make("div", {}, controls, words, make("div", { class: "q-grid" }, cells, figures.map(([, place]) => place)));
    root.querySelector(".q-still").replaceWith(live);

    const choose = (k) => {
      const same = set.base === view.rate;
      set.k = k;
      view = viewOf(quality, k);
      if (same) set.base = view.rate;
      draw();
    };

    // A cell that opens its rows, where the page holds some.
    const cell = (key, n, css, belongs) => {
      const shown = numbers.count(Math.abs(n - Math.round(n)) < 1e-6 ? Math.round(n) : Math.round(n * 10) / 10);
      const open = () => { picked = { key, belongs }; listRows(); list.focus(); };
      const inside = data.rows ? make("button", { type: "button", class: "q-cell", click: open }, shown) : shown;
      return make("td", { class: `nv-n ${css}`, "data-cell": key, "data-value": n }, inside);
    };

    const listRows = () => {
      list.replaceChildren();
      if (!picked) return;
      rows ??= answeredRows(data, model);
      const inside = rows.filter(picked.belongs).sort((a, b) => a.p[a.truth] - b.p[b.truth]);
      const lines = inside.slice(0, MOST_ROWS).map((row) => make("tr", {},
        make("td", {}, make("button", { type: "button", class: "q-open", "aria-label": say("quality.open", { n: row.number }), click: () => Naively.openRow(row.at) }, `${row.number}`)),
        make("td", {}, labels[row.truth]), make("td", {}, labels[row.answer]), make("td", { class: "nv-n" }, percent(row.p[row.truth]))));
      const heads = ["row", "truth", "answer", "p_truth"].map((key) => make("th", { scope: "col" }, say(`quality.${key}`)));
      const left = inside.length - lines.length;
      list.append(make("p", { class: "muted" }, say(rows.length ? "quality.listed" : "quality.no_rows", { n: inside.length, rows: rows.length })));
      if (lines.length) list.append(make("table", {}, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, lines)));
      if (left > 0) list.append(make("p", { class: "muted" }, say("quality.more_rows", { n: left })));
    };

    const drawCells = (now, at, label) => {
      const flagged = (row) => row.p[set.k] > cuts[at] || at === 0;
      const is = (row) => row.truth === set.k;
      const heads = ["", "flagged", "not_flagged"].map((key) => make("th", { scope: "col" }, key && say(`quality.${key}`)));
      const line = (name, ...parts) => make("tr", {}, make("th", { scope: "row" }, name), ...parts);
      const named = (key, n, css, belongs) => {
        const made = cell(key, n, css, belongs);
        made.append(make("small", {}, say(`quality.${key}`)));
        return made;
      };
      const body = [
        line(say("quality.is", { label }), named("hit", now.hit, "q-right", (row) => is(row) && flagged(row)), named("missed", now.missed, "q-wrong", (row) => is(row) && !flagged(row))),
        line(say("quality.is_not"), named("false_alarm", now.alarm, "q-wrong", (row) => !is(row) && flagged(row)), named("left_alone", now.left, "q-right", (row) => !is(row) && !flagged(row))),
      ];
      const right = numbers.number(100 * now.accuracy, 3);
      cells.replaceChildren(make("figcaption", {}, say("quality.cells.title", { right })),
        make("table", { class: "confusion" }, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, body)),
        make("p", { class: "muted" }, say(data.rows ? "quality.click" : "quality.no_rows")));
    };

    const drawAll = () => {
      const heads = [make("th", { scope: "col" }, say("quality.true_answer")), ...labels.map((label) => make("th", { scope: "col" }, label))];
      const lines = quality.confusion.map((line, a) => make("tr", {}, make("th", { scope: "row" }, labels[a]),
        line.map((n, b) => cell(`${a},${b}`, n, a === b ? "q-right" : n ? "q-wrong" : "", (row) => row.truth === a && row.answer === b))));
      return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": say("quality.all_cells") }, make("table", { class: "confusion" },
        make("caption", {}, say("quality.all_cells")), make("thead", {}, make("tr", {}, heads)), make("tbody", {}, lines)));
    };

    function draw(from) {
      const ratio = ratioOf(view, set.base);
      const shown = (at) => shifted(cuts[at], ratio);
      let at = 0;
      cuts.forEach((_, place) => { if (Math.abs(shown(place) - set.t) < Math.abs(shown(at) - set.t)) at = place; });
      const label = labels[set.k];
      const all = cuts.map((_, place) => decisions(view, place, set));
      const now = all[at];
      const t = numbers.number(shown(at), 4);
      const values = [[slider, at], [field, Number(shown(at).toPrecision(4))], [miss, set.miss], [alarm, set.alarm],
        [baseSlider, 100 * set.base], [base, Number((100 * set.base).toPrecision(4))]];
      for (const [one, value] of values) if (one !== from) one.value = value;
      slider.setAttribute("aria-valuetext", t);
      baseName.textContent = say("quality.base", { label });
      base.setAttribute("aria-label", baseName.textContent);
      const said = { label, t, recall: percent(now.recall), precision: percent(now.precision), accuracy: percent(now.accuracy), cost: numbers.number(now.cost, 4) };
      const moved = Math.abs(set.base - view.rate) > 1e-9;
      words.replaceChildren(say("quality.flag", said), " ", say("quality.rates", said), moved ? ` ${say("quality.weighed", { base: percent(set.base), own: percent(view.rate) })}` : "");
      drawCells(now, at, label);
      for (const [drawn, place] of figures) place.replaceChildren(...drawn({ quality, view, at, label, cuts, set, all, now, shown }).filter(Boolean));
      if (picked && !picked.key.includes(",")) { picked = null; listRows(); }
      const usual = set.t === 0.5 && set.miss === 1 && set.alarm === 1 && !moved && set.k === rarest;
      state.set("quality", usual ? null : { k: set.k, t: set.t, miss: set.miss, alarm: set.alarm, base: moved ? set.base : null });
    }

    if (labels.length > 2) live.append(drawAll());
    live.append(list);
    draw();
  };

  section("quality", { start });
})();
