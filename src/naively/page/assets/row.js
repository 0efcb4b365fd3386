// The tab Row: one row whose cells can all be changed, and what stands behind its answer.
"use strict";
(() => {
  const { make, say, strip, swatch, numbers, shownLabel, state } = Naively;
  // Of more classes, the most probable are shown; of more columns, those that a search finds.
  const SHOWN_CLASSES = 6;
  const SHOWN_COLUMNS = 60;
  const COUNTED_CLASSES = 4;
  const WATCHED_COLUMNS = 30;
  // How the labels of a column call a missing value, where it is counted as one of them.
  const MISSING = "(missing)";

  let data, model, names;
  let at = 0; // which of the report's rows
  let base = {}; // the row before it was changed
  let row = {};
  let chosen = null; // the classes to compare, where somebody chose them
  let of = 0; // the class whose log-odds are shown, against another one
  let against = 0;
  let result = null;
  let views = [];
  const parts = {};

  // Infinite scores of both classes leave nothing to compare.
  const lead = (scores) => (scores[of] === scores[against] ? (Number.isFinite(scores[of]) ? 0 : NaN) : scores[of] - scores[against]);
  const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
  const signed = (value) => (Number.isNaN(value) ? say("row.both_out") : numbers.signed(value));
  const strongestFirst = (lines) => lines.sort((a, b) => (Math.abs(b.value) || 0) - (Math.abs(a.value) || 0));

  // A length that changes in few steps, so that bars do not all move when one does.
  const lengthFor = (values) => {
    const longest = Math.max(0.5, ...values.filter(Number.isFinite).map(Math.abs));
    const power = 10 ** Math.floor(Math.log10(longest));
    return power * ([1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((step) => step * power >= longest) ?? 10);
  };

  // A value with its bar: to the right of the middle if it is for the class, to the left if it is against it.
  const valueBar = (value, longest) => {
    const text = make("span.value");
    const bar = make("svg:rect", { y: 1, height: 12 });
    const picture = strip(200, bar, make("svg:line.nv-zero", { x1: 100, x2: 100, y1: 0, y2: 14 }));
    const draw = (now, length) => {
      const width = now ? Math.max(Math.min(Math.abs(now) / length, 1) * 100, 0.8) : 0;
      bar.setAttribute("x", now < 0 ? 100 - width : 100);
      bar.setAttribute("width", width);
      // In the color of the class that it is for.
      bar.setAttribute("class", `nv-c${(now < 0 ? against : of) % 8}${Math.abs(now) === Infinity ? " endless" : ""}`);
      text.textContent = signed(now);
      text.dataset.value = now;
    };
    if (longest) draw(value, longest);
    return { elements: [text, picture], draw };
  };

  // ---- the counts behind a bar --------------------------------------------------------------------------------
  const perClass = (text) => {
    const line = (k) => make("span.count", swatch(k), text(k));
    const all = names.map((_, k) => k);
    if (names.length <= COUNTED_CLASSES) return all.map(line);
    const rest = all.filter((k) => k !== of && k !== against);
    return [line(of), line(against), make("details", make("summary", say("row.counts.others")), rest.map(line))];
  };
  // Values that have no bar in the tab Model are counted, too.
  const countsOf = (found) => (found?.rest ? {
    ...found, values: [...found.values, ...found.rest.values], counts: found.counts.map((line, k) => [...line, ...found.rest.counts[k]]),
  } : found);
  const outOf = (counts, place) => perClass((k) => say("row.counts.of", {
    n: numbers.count(counts[k][place]), total: numbers.count(data.class_rows[k]), label: names[k] }));
  const behind = (column, distribution, cell, status, own) => {
    const kind = distribution?.kind;
    const place = kind === "labels" ? distribution.values.indexOf(cell === null ? MISSING : shownLabel(cell)) : -1;
    if (place >= 0 && (own || !status)) return [`${distribution.values[place]}:\u00a0`, ...outOf(distribution.counts, place)];
    if (status) return [say(own ? `row.something.${status}` : `row.nothing.${status}`)];
    if (kind === "labels") return [];
    if (kind === "bins" && distribution.cuts.length) {
      const { cuts, low, high, counts, whole, values } = distribution;
      const bin = cuts.filter((cut) => cut < cell).length;
      const edges = [low, ...cuts, high].slice(bin, bin + 2);
      const [from, to] = values?.[bin] === cell ? [numbers.number(cell, 12), numbers.number(cell, 12)]
        : whole ? [numbers.number(Math.ceil(edges[0]), 12), numbers.number(Math.floor(edges[1]), 12)]
        : edges.map((edge) => numbers.cell(column, edge));
      return [`${from === to ? from : say("row.counts.bin", { from, to })}:\u00a0`, ...outOf(counts, bin)];
    }
    if (kind !== "normal") return [];
    const { n, mean, sd } = distribution;
    return perClass((k) => say(n[k] ? "row.counts.normal" : "row.counts.none", {
      mean: numbers.cell(column, mean[k]), sd: numbers.number(sd[k], 2), label: names[k] }));
  };
  const wordCounts = (column, word) => {
    const known = data.words?.columns.find(({ name }) => name === column);
    const place = known ? known.words.indexOf(word) : -1;
    const text = (k) => `${names[k]} ${numbers.count(known.counts[k][place])}`;
    return place < 0 ? [] : (names.length <= COUNTED_CLASSES ? names.map((_, k) => k) : [of, against])
      .map((k) => make("span.count", swatch(k), text(k)));
  };

  // ---- one column ---------------------------------------------------------------------------------------------
  const columnView = (column) => {
    const { name, kind } = column;
    const distribution = countsOf(data.columns.find((one) => one.name === name)?.distribution ?? null);
    const isTime = column.type === "time" && kind === "number";
    const change = (value) => {
      row[name] = isTime && value !== null ? numbers.time(value) : column.raw?.get(value) ?? value;
      changed();
    };
    const editor = Naively.editor(column, distribution, change);
    const bar = valueBar();
    const counts = make("div.counts.muted", { dir: "auto" });
    const hasAxis = editor.range || column.labels?.length > 1;
    const axis = hasAxis ? Naively.axis(column, editor.range, distribution, change) : null;
    const words = kind === "text" ? Naively.textView((word) => wordCounts(name, word), valueBar, say(column.left_out ? "row.text.left_out" : "row.text.unknown")) : null;
    const label = make("label", { for: editor.id, dir: "auto" }, name || say("row.empty"));
    const element = make(`div.column.${kind}`, { role: "group", "aria-label": name || say("row.empty") },
      make("div.name", label, editor.missing), make("div.cell", editor.field),
      make("div.axis", axis && [axis.elements[0], editor.slider, axis.elements[1]].filter(Boolean)),
      make("div.sum", bar.elements), counts, words?.elements ?? []);
    let drawn = "";
    return {
      name, column, element, axis,
      near: model.columns.length <= WATCHED_COLUMNS,
      own: 0,
      shown: () => {
        if (row[name] === null) return null;
        return kind === "label" ? shownLabel(row[name]) : isTime ? Naively.numberOf(column, row[name]) : row[name];
      },
      draw(longest, status) {
        editor.set(this.shown());
        bar.draw(this.own, longest);
        const now = JSON.stringify([row[name], of, against]);
        const cell = isTime ? this.shown() : row[name];
        if (now !== drawn) counts.replaceChildren(...behind(column, distribution, cell, status, this.own));
        drawn = now;
        const found = result.words.filter((word) => word.column === name);
        words?.draw(row[name] ?? "", found.map((word) => ({ ...word, lead: lead(word.scores) })), [names[of], names[against]], names.length === 2 && of === 1);
      },
    };
  };

  // ---- the answer ---------------------------------------------------------------------------------------------
  const answer = () => result.probabilities.indexOf(Math.max(...result.probabilities));

  const classLine = (k, text) => make("li",
    make("span", { dir: "auto" }, names[k], result.joint[k] === -Infinity ? make("span.muted", ` (${say("row.ruled_out")})`) : null),
    strip(100, make("svg:rect.nv-track", { width: 100, height: 14 }),
      make(`svg:rect.nv-c${k % 8}`, { width: 100 * result.probabilities[k], height: 14 })),
    make("span.probability", { "data-class": k }, text));

  const drawClasses = () => {
    const texts = numbers.probabilities(result.probabilities);
    const many = names.length > SHOWN_CLASSES;
    const order = names.map((_, k) => k);
    if (many) order.sort((a, b) => result.probabilities[b] - result.probabilities[a]);
    const lines = order.map((k) => classLine(k, texts[k]));
    parts.classes.replaceChildren(...(many ? lines.slice(0, SHOWN_CLASSES - 1) : lines));
    parts.moreClasses.hidden = !many;
    parts.moreClasses.lastChild.replaceChildren(...(many ? lines.slice(SHOWN_CLASSES - 1) : []));
    const best = answer();
    parts.answer.replaceChildren(make("b", { dir: "auto" }, names[best]), ` ${texts[best]}`);
    let start = 0;
    result.probabilities.forEach((p, k) => {
      parts.answerBar.children[k].setAttribute("x", 100 * start);
      parts.answerBar.children[k].setAttribute("width", 100 * p);
      start += p;
    });
  };

  const drawSums = (values) => {
    const shown = Object.entries(values).filter(([name]) => name !== "limit" || Math.abs(values.limit) > 1e-6);
    parts.sums.replaceChildren(...shown.flatMap(([name, value], place) => [
      place ? make("span", { "aria-hidden": "true" }, name === "total" ? "=" : "+") : null,
      make("div.part", make(`b.${name}`, { "data-value": value }, signed(value)), make("span.muted", say(`row.sum.${name}`)))]).filter(Boolean));
    const pair = { of: names[of], against: names[against] };
    const ratio = result.probabilities[of] / result.probabilities[against];
    const times = Math.max(ratio, 1 / ratio);
    const sentence = say(Number.isNaN(values.total) ? "row.odds.none" : ratio >= 1 ? "row.odds.for" : "row.odds.against", {
      ...pair, ratio: times < 1e6 ? numbers.count(Number(times.toPrecision(2))) : say("row.odds.million") });
    const out = result.joint.every((score) => score === -Infinity) ? say("row.note.all_out") : "";
    parts.sentence.replaceChildren(sentence, make("span.muted.small", ` ${out} ${model.floor.some((p) => p > 0) ? say("row.note.floor") : ""}`));
    parts.odds.textContent = say("row.header.odds", { ...pair, total: signed(values.total) });
    parts.follow.hidden = answer() === of;
    parts.follow.textContent = say("row.follow", { label: names[answer()] });
  };

  const drawPairs = (longest) => {
    const lines = strongestFirst(result.pairs.map(({ columns, scores }) => ({ columns, value: lead(scores) })));
    parts.pairsBar.draw(sumOf(lines.map(({ value }) => value)), longest);
    if (!parts.pairs.open) return;
    parts.pairsList.replaceChildren(...lines.map(({ columns, value }) => make("li",
      make("span", { dir: "auto" }, columns.join(" × ")), valueBar(value, longest).elements)));
  };

  // ---- everything moves at once -------------------------------------------------------------------------------
  const drawAxes = (total) => {
    const kind = parts.scale.value;
    const measure = kind === "probability" ? (moved) => moved.probabilities[of] : (moved) => lead(moved.joint);
    const text = kind === "probability" ? (p) => numbers.probability(p) : signed;
    const shown = views.filter((view) => view.axis && view.near && !view.element.hidden);
    const all = shown.flatMap((view) =>
      view.axis.compute((value) => measure(model.move(result, view.name, view.column.raw?.get(value) ?? value))));
    const end = (sign) => lengthFor([total, ...all].filter((one) => one * sign > 0));
    const [low, high, middle] = kind === "probability" ? [0, 1, 0.5] : [-end(-1), end(1), 0];
    parts.axisScale.textContent = say(`row.axis.${kind}`, { low: text(low), high: text(high) });
    for (const view of shown) {
      const title = say(`row.axis.title.${kind}`, { of: names[of], against: names[against], column: view.name });
      view.axis.draw({ low, high, middle, text, title }, view.shown(), measure(result));
    }
  };

  // Of very many columns, only the axes on the screen or near it are computed.
  const watch = () => {
    if (views.length <= WATCHED_COLUMNS) return;
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) views.find((view) => view.element === entry.target).near = entry.isIntersecting;
      drawAxes(lead(result.joint));
    }, { rootMargin: "400px" });
    for (const view of views.filter(({ axis }) => axis)) seen.observe(view.element);
  };

  const draw = () => {
    result = model.score(row);
    views.forEach((view, place) => { view.own = lead(result.columns[place].scores); });
    const values = { [baseName()]: lead(result.base), columns: sumOf(views.map((view) => view.own)) };
    if (model.pairs.length) values.together = sumOf(result.pairs.map(({ scores }) => lead(scores)));
    const total = lead(result.joint);
    // The model bounds sums below; what that adds is shown, so that the parts add up.
    const added = sumOf(Object.values(values));
    const longest = lengthFor([...Object.values(values), ...views.map((view) => view.own)]);
    drawClasses();
    drawSums({ ...values, limit: Number.isFinite(added) && Number.isFinite(total) ? total - added : 0, total });
    parts.base.draw(values[baseName()], longest);
    if (model.pairs.length) drawPairs(longest);
    views.forEach((view, place) => view.draw(longest, result.columns[place].status));
    drawAxes(total);
    parts.sides.replaceChildren(make("span", `◀ ${names[against]}`), make("span", `${names[of]} ▶`));
  };

  // A screen reader hears the answer when the row has come to rest.
  let speaking = 0;
  const changed = () => {
    draw();
    remember();
    clearTimeout(speaking);
    speaking = setTimeout(() => { parts.live.textContent = parts.answer.textContent; }, 600);
  };

  // ---- which row ----------------------------------------------------------------------------------------------
  // Only what differs from the row of the report is in the address.
  const remember = () => {
    const cells = Object.entries(row).filter(([name, value]) => value !== base[name]);
    state.set("at", data.rows ? at : null);
    state.set("cells", cells.length ? Object.fromEntries(cells) : null);
    state.set("compare", chosen);
    parts.reset.disabled = !cells.length;
  };

  const compare = (pair) => {
    chosen = pair;
    of = pair?.[0] ?? answer();
    // Without a choice: the class that comes second.
    const order = names.map((_, k) => k).filter((k) => k !== of).sort((a, b) => result.joint[b] - result.joint[a] || a - b);
    against = pair?.[1] ?? order[0] ?? of;
    [parts.of.value, parts.against.value] = [of, against];
    parts.counts.replaceChildren(...perClass((k) => say("row.counts.rows", { n: numbers.count(data.class_rows[k]), label: names[k] })));
  };

  const fitting = ({ kind }, value) => {
    const fits = kind === "number" ? Number.isFinite(value) || typeof value === "string" : ["string", "number", "boolean"].includes(typeof value);
    return fits ? value : null;
  };

  const openRow = (place, cells = {}) => {
    const { rows } = data;
    at = rows ? Math.min(Math.max(Math.trunc(place) || 0, 0), rows.truth.length - 1) : 0;
    base = {};
    for (const column of model.columns) {
      const given = rows ? rows.cells[rows.columns.indexOf(column.name)]?.[at] : data.first?.[column.name];
      const isSeconds = column.type === "time" && column.kind === "number" && typeof given === "number";
      base[column.name] = fitting(column, isSeconds ? numbers.time(given) : given);
    }
    row = { ...base };
    for (const column of model.columns) {
      if (Object.hasOwn(cells, column.name)) row[column.name] = fitting(column, cells[column.name]);
    }
    result = model.score(row);
    compare(chosen);
    if (rows) {
      const truth = rows.truth[at];
      parts.place.textContent = say("row.place", { number: numbers.count(rows.numbers[at]), at: at + 1, n: rows.truth.length });
      parts.truth.textContent = truth < 0 ? say("row.truth.none") : say("row.truth", { label: names[truth] });
      parts.previous.disabled = at === 0;
      parts.next.disabled = at === rows.truth.length - 1;
    }
    changed();
  };

  const restore = () => {
    const cells = state.get("cells");
    const pair = state.get("compare");
    const valid = Array.isArray(pair) && pair.length === 2 && pair.every((k) => Number.isInteger(k) && k >= 0 && k < names.length);
    chosen = valid ? pair : null;
    if (["odds", "probability"].includes(state.get("scale"))) parts.scale.value = state.get("scale");
    openRow(state.get("at"), cells && typeof cells === "object" ? cells : {});
  };

  // ---- copies -------------------------------------------------------------------------------------------------
  const python = (value) => ({ null: "None", true: "True", false: "False" })[value] ?? JSON.stringify(value);
  const copies = {
    link: () => Naively.link(),
    json: () => JSON.stringify(row),
    python: () => `nb.predict_proba({${Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${typeof value === "string" ? JSON.stringify(value) : python(value)}`).join(", ")}})`,
  };
  const copy = async (kind) => {
    const text = copies[kind]();
    try {
      await navigator.clipboard.writeText(text);
      parts.copied.replaceChildren(say("row.copied"));
    } catch {
      // Without the right to write to the clipboard the text is there to be copied by hand.
      const field = make("textarea", { rows: 3, readonly: true, "aria-label": say("row.copy_by_hand") }, text);
      parts.copied.replaceChildren(field);
      field.select();
    }
  };

  // ---- the tab ------------------------------------------------------------------------------------------------
  const button = (key, click) => make("button", { type: "button", click }, say(key));
  const select = (key, options, change) => make("select", { "aria-label": say(key), change },
    options.map(([value, text]) => make("option", { value }, text)));

  const buildHeader = () => {
    parts.answer = make("span");
    parts.answerBar = strip(100, ...names.map((_, k) => make(`svg:rect.nv-c${k % 8}`, { height: 14 })));
    parts.odds = make("span.muted.small", { dir: "auto" });
    parts.live = make("span.hidden", { role: "status" });
    document.getElementById("answer").replaceChildren(parts.answer, parts.answerBar, parts.odds, parts.live);
  };

  const toolbar = () => {
    parts.previous = button("row.previous", () => openRow(at - 1));
    parts.next = button("row.next", () => openRow(at + 1));
    parts.place = make("span");
    parts.truth = make("span.truth", { dir: "auto" });
    parts.reset = button("row.reset", () => openRow(at));
    parts.copied = make("span", { role: "status" });
    return make("div.toolbar",
      make("div", data.rows ? [parts.previous, parts.next, parts.place, parts.truth] : []),
      make("div", parts.reset, Object.keys(copies).map((kind) => button(`row.copy.${kind}`, () => copy(kind))), parts.copied));
  };

  const cards = () => {
    parts.classes = make("ul.classes");
    parts.moreClasses = make("details", make("summary", say("row.more_classes", { n: names.length - SHOWN_CLASSES + 1 })), make("ul.classes"));
    const classes = names.map((name, k) => [k, name]);
    const choose = () => {
      const pair = [Number(parts.of.value), Number(parts.against.value)];
      // Whoever chooses the class on the other side changes sides.
      compare(pair[0] === pair[1] ? [against, of] : pair);
      changed();
    };
    parts.of = select("row.choose.of", classes, choose);
    parts.against = select("row.choose.against", classes, choose);
    parts.follow = make("button", { type: "button", click: () => {
      compare(null);
      changed();
    } });
    parts.sums = make("div.sums");
    parts.sentence = make("p", { dir: "auto" });
    return make("div.cards",
      make("div.card", make("h3", { dir: "auto" }, say("row.probabilities", { target: data.flat.target ?? say("page.the_class") })), parts.classes, parts.moreClasses),
      make("div.card", make("h3", say("row.why"), " ", parts.of, ` ${say("row.rather")} `, parts.against, say("row.question")),
        parts.sums, parts.sentence, parts.follow));
  };

  const head = () => {
    parts.scale = select("row.scale", ["odds", "probability"].map((key) => [key, say(`row.scale.${key}`)]), () => {
      state.set("scale", parts.scale.value);
      draw();
    });
    parts.axisScale = make("div");
    parts.what = make("div", say("row.head.axis"), " ", parts.scale, parts.axisScale);
    parts.sides = make("div.sides", { dir: "auto" });
    return make("div.head", make("div.name", say("row.head.column")), make("div.cell", say("row.head.cell")),
      make("div.axis", parts.what),
      make("div.sum", say("row.head.contribution"), parts.sides));
  };

  const fixedLine = (kind, title, bar, note) => make(`${kind}.column.fixed`,
    make("div.name", title), make("div.sum", bar.elements), note);

  const pairsPart = () => {
    parts.pairsBar = valueBar();
    parts.pairsList = make("ul.pairs");
    const title = say("row.together", { n: numbers.count(model.pairs.length) });
    const note = make("div.counts.muted", say("row.together.hint"));
    parts.pairs = make("details.together", { toggle: draw }, fixedLine("summary", title, parts.pairsBar, note), parts.pairsList);
    return parts.pairs;
  };

  // Of very many columns, those whose name holds a text.
  const columnSearch = () => {
    const narrow = () => {
      const wanted = field.value.toLowerCase();
      let left = SHOWN_COLUMNS;
      for (const view of views) view.element.hidden = !(view.name.toLowerCase().includes(wanted) && (left -= 1) >= 0);
    };
    const field = make("input", { type: "search", placeholder: say("row.search"), "aria-label": say("row.search"), input: () => {
      narrow();
      draw();
    } });
    narrow();
    return make("p.muted", say("row.many", { n: numbers.count(views.length), shown: SHOWN_COLUMNS }), " ", field);
  };

  // What a row starts from: the scores of an average row or, in textbook naive Bayes, the prior.
  const baseName = () => (model.model === "textbook" ? "prior" : "base");

  const start = (root, given, scorer) => {
    [data, model] = [given, scorer];
    names = model.classes.map(shownLabel);
    for (const column of model.columns.filter(({ kind }) => kind === "label")) {
      const known = column.values.filter((value) => value !== null);
      column.raw = new Map(known.map((value) => [shownLabel(value), value]));
      column.labels = [...column.raw.keys()];
    }
    buildHeader();
    const top = [make("p", say("row.intro")), toolbar(), cards()];
    parts.base = valueBar();
    parts.counts = make("div.counts.muted", { dir: "auto" });
    views = model.columns.map(columnView);
    const lines = [head(), fixedLine("div", say(`row.${baseName()}`), parts.base, parts.counts), ...views.map((view) => view.element)];
    if (model.pairs.length) lines.push(pairsPart());
    if (views.length > SHOWN_COLUMNS) top.push(columnSearch());
    parts.what.hidden = !views.some((view) => view.axis);
    root.replaceChildren(...top, make("div.lines", lines), make("p.muted", say("row.exact")));
    restore();
    watch();
  };
  // What is printed is all of it.
  const print = () => {
    for (const view of views) view.near = true;
    draw();
  };

  Naively.openRow = (place) => {
    chosen = null;
    openRow(place);
    Naively.open("row");
    scrollTo(0, 0);
  };
  // For tests, and for those who look behind the page.
  Naively.currentRow = () => ({ row: { ...row }, result, of, against });
  Naively.section("row", { start, restore, print });
})();
