// The tab Model: columns beyond those that the static page draws, on demand. The pictures are those of Python.
"use strict";
(() => {
  const { make, say, numbers, section } = Naively;
  const [WIDTH, PLANE, NAMES, COLORS, DRAWN, STEP] = [340, 84, 112, 8, 12, 30];
  const shape = (name, attributes, ...children) => make(`svg:${name}`, attributes, ...children);
  const sum = (list) => list.reduce((total, n) => total + n, 0);

  const picture = (height, body, title) =>
    shape("svg", { class: "nv-chart", viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": title }, body);
  const words = (x, y, text, anchor, css = "nv-t") => shape("text", { class: css, x, y, "text-anchor": anchor }, text);
  const axis = (ticks) => [
    shape("line", { class: "nv-zero", x1: 0, x2: WIDTH, y1: PLANE, y2: PLANE }),
    ...ticks.map(([x, value]) => words(x, PLANE + 13, numbers.number(value), x < 12 ? "start" : x > WIDTH - 12 ? "end" : "middle")),
  ];
  const scaleTicks = (low, high) => {
    const unit = 10 ** Math.floor(Math.log10((high - low) / 3));
    const step = unit * [1, 2, 5, 10, 20].find((times) => (high - low) / (unit * times) <= 6);
    const ticks = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) ticks.push([(WIDTH * (value - low)) / (high - low), value]);
    return ticks;
  };
  const areas = (paths) => paths.map((d, k) => shape("path", { class: `q-k${k % COLORS}`, d }));

  const histogram = ({ low, high, cuts, counts, even }, title) => {
    const edges = even ? counts[0].map((_, at) => at).concat(counts[0].length) : [low, ...cuts, high];
    const at = edges.map((edge) => (WIDTH * (edge - edges[0])) / (edges[edges.length - 1] - edges[0] || 1));
    const dense = counts.map((line) => line.map((n, bin) => n / (sum(line) || 1) / Math.max(at[bin + 1] - at[bin], 0.5)));
    const top = Math.max(...dense.flat()) || 1;
    const paths = dense.map((line) => `M0 ${PLANE}${line.map((value, bin) =>
      `V${(PLANE - ((PLANE - 4) * value) / top).toFixed()}H${at[bin + 1].toFixed()}`).join("")}V${PLANE}`);
    const each = Math.max(1, Math.ceil(cuts.length / 5));
    const ticks = even ? cuts.map((cut, place) => [at[place + 1], cut]).filter((_, place) => place % each === 0) : scaleTicks(low, high);
    return picture(PLANE + 16, [...areas(paths), ...axis(ticks)], title);
  };

  const densities = ({ n, mean, sd }, title) => {
    const known = n.map((_, k) => k).filter((k) => n[k] > 0 && sd[k] > 0);
    if (!known.length) return "";
    const low = Math.min(...known.map((k) => mean[k] - 3.2 * sd[k]));
    const high = Math.max(...known.map((k) => mean[k] + 3.2 * sd[k]));
    const lines = n.map((_, k) => Array.from({ length: 60 }, (_, at) =>
      known.includes(k) ? Math.exp(-0.5 * ((low + ((high - low) * at) / 59 - mean[k]) / sd[k]) ** 2) / sd[k] : 0));
    const top = Math.max(...lines.flat());
    const paths = lines.map((line) => `M${line.map((value, at) =>
      `${((WIDTH * at) / 59).toFixed()} ${(PLANE - ((PLANE - 4) * value) / top).toFixed()}`).join("L")}`);
    return picture(PLANE + 16, [...areas(paths), ...axis(scaleTicks(low, high))], title);
  };

  const bars = (shown, classes, title) => {
    const others = shown.others > 0;
    const values = [...(shown.values ?? shown.words), ...(others ? [`+ ${shown.others}`] : [])];
    const counts = shown.counts.map((line, k) => (others ? [...line, shown.other_counts[k]] : line));
    const totals = shown.totals ?? counts.map(sum);
    const few = classes.length <= 4;
    const [thick, gap] = few ? [10, 5] : [Math.max(2, 36 / classes.length), 6];
    const height = classes.length * thick + gap;
    const top = Math.max(...counts.map((line, k) => Math.max(...line) / (totals[k] || 1))) || 1;
    const body = values.flatMap((value, at) => [
      words(NAMES - 6, at * height + (height - gap) / 2 + 4, value.length > 18 ? `${value.slice(0, 17)}…` : value, "end"),
      ...classes.flatMap((label, k) => {
        const n = counts[k][at];
        const width = Math.max(((WIDTH - NAMES - (few ? 44 : 4)) * n) / (totals[k] || 1) / top, n ? 1 : 0);
        const y = at * height + k * thick;
        const said = few ? [] : [shape("title", {}, `${value}, ${label}: ${numbers.count(n)}`)];
        const bar = shape("rect", { class: `nv-c${k % COLORS}`, x: NAMES, y, width, height: thick - 1 }, said);
        return few ? [bar, words(NAMES + width + 4, y + 8, numbers.count(n), "start", "nv-t q-n")] : [bar];
      }),
    ]);
    return picture(Math.max(values.length * height - gap, 1), body, title);
  };

  const card = (facts, classes, most) => {
    const shown = facts.distribution;
    const title = shown && say(`model.picture.${shown.kind}`, { name: facts.name });
    const draw = shown && { bins: histogram, normal: densities }[shown.kind];
    const known = facts.bits !== null;
    const bits = known ? say("model.bits", { bits: facts.bits.toFixed(3), error: (facts.error ?? 0).toFixed(3) }) : say("model.no_bits");
    const bar = shape("svg", { class: "nv-bar", viewBox: "0 0 200 14", preserveAspectRatio: "none", height: 14, "aria-hidden": "true" },
      shape("rect", { class: "nv-track", width: 200, height: 14 }), shape("rect", { class: "nv-c6", width: (200 * (facts.bits ?? 0)) / most, height: 14 }));
    return make("article", { class: "card" }, make("h4", { dir: "auto" }, facts.name), make("div", { class: "m-bits" }, bar, make("span", {}, bits)),
      make("p", { dir: "auto" }, facts.sentence), shown && (draw ? draw(shown, title) : bars(shown, classes, title)),
      shown?.even ? make("p", { class: "muted" }, say("model.even")) : null);
  };

  const start = (root, data) => {
    const cards = root.querySelector(".cards");
    const place = root.querySelector(".m-more");
    if (!place) return;
    const classes = data.flat.classes.map(String);
    const most = Math.max(...data.columns.map((one) => one.bits ?? 0)) || 1;
    let drawn = DRAWN;
    const more = make("button", { type: "button", click: () => add(drawn + STEP) });
    const add = (end) => {
      cards.append(...data.columns.slice(drawn, end).map((facts) => card(facts, classes, most)));
      drawn = Math.min(end, data.columns.length);
      const left = data.columns.length - drawn;
      more.hidden = !left;
      more.textContent = say("model.more", { n: Math.min(left, STEP) });
    };
    place.replaceChildren(more);
    add(STEP);
  };

  section("model", { start });
})();
