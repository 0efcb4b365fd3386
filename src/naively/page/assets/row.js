// The tab Row: one row whose cells can all be changed, and what stands behind its answer.
"use strict";
(() => {
  const { make, say, numbers, state } = Naively;
  // Classes that are shown before the others are folded away, and columns before a search is offered.
  const SHOWN_CLASSES = 6;
  const SHOWN_COLUMNS = 60;
  const COUNTED_CLASSES = 4;

  let data, model, names, root;
  let at = 0; // which of the report's rows
  let base = {}; // the row before it was changed
  let row = {};
  let chosen = {}; // classes to compare, where somebody chose them
  let of = 0; // the class whose log-odds are shown
  let against = 1;
  let result = null;
  let views = [];
  let parts = {};

  const facts = (name) => data.columns.find((one) => one.name === name) ?? null;
  const difference = (a, b) => (a === b && !Number.isFinite(a) ? NaN : a - b);
  const lead = (scores) => difference(scores[of], scores[against]);
  const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

  // ---- pieces -------------------------------------------------------------------------------------------------
  const swatch = (k) => {
    const square = make("svg:rect", { class: `nv-c${k % 8}`, width: 10, height: 10, rx: 2 });
    return make("svg:svg", { class: "nv-swatch", viewBox: "0 0 10 10", "aria-hidden": "true" }, square);
  };

  // A bar to the right of the middle if it is for the class, to the left if it is against it.
  const signedBar = () => {
    const bar = make("svg:rect", { y: 1, height: 12 });
    const zero = make("svg:line", { class: "nv-zero", x1: 100, x2: 100, y1: 0, y2: 14 });
    const box = { class: "nv-bar", viewBox: "0 0 200 14", preserveAspectRatio: "none", height: 14, "aria-hidden": "true" };
    const element = make("svg:svg", box, bar, zero);
    return {
      element,
      draw(value, longest) {
        const share = Number.isNaN(value) ? 0 : Math.min(Math.max(value / (longest || 1), -1), 1) || 0;
        const width = value && !Number.isNaN(value) ? Math.max(Math.abs(share) * 100, 0.8) : 0;
        bar.setAttribute("x", value < 0 ? 100 - width : 100);
        bar.setAttribute("width", width);
        bar.setAttribute("class", value < 0 ? "nv-against" : "nv-for");
        element.classList.toggle("endless", !Number.isFinite(value) && !Number.isNaN(value));
      },
    };
  };
  const drawnBar = (value, longest) => {
    const bar = signedBar();
    bar.draw(value, longest);
    return bar.element;
  };
  const signedText = (value) => (Number.isNaN(value) ? say("row.both_out") : numbers.signed(value));

  // A length that changes in few steps, so that bars do not all move when one does.
  const rounded = (value) => {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value;
  };
  const longestOf = (values) => rounded(Math.max(0.5, ...values.filter(Number.isFinite).map(Math.abs)));

  // ---- the counts behind a bar --------------------------------------------------------------------------------
  const perClass = (text) => {
    const all = names.map((_, k) => k);
    const order = names.length <= COUNTED_CLASSES ? all : [of, against];
    const shown = order.map((k) => make("span", { class: "count" }, swatch(k), text(k)));
    if (names.length <= COUNTED_CLASSES) return shown;
    const rest = all.filter((k) => k !== of && k !== against);
    const others = rest.map((k) => make("span", { class: "count" }, swatch(k), text(k)));
    return [...shown, make("details", {}, make("summary", {}, say("row.counts.others")), ...others)];
  };
  const outOf = (counts) => (k) =>
    say("row.counts.of", { n: numbers.count(counts[k]), total: numbers.count(data.class_rows[k]), label: names[k] });
  const binOf = (cuts, value) => {
    let bin = 0;
    while (bin < cuts.length && value > cuts[bin]) bin += 1;
    return bin;
  };
  const behind = (distribution, column, value) => {
    if (value === null) return [say("row.nothing.missing")];
    if (!distribution) return [];
    const { kind, counts } = distribution;
    if (kind === "labels") {
      const place = distribution.values.indexOf(Naively.shownLabel(value));
      if (place < 0) return [say("row.nothing.unknown")];
      return [`${Naively.shownLabel(value)}: `, ...perClass(outOf(counts.map((line) => line[place])))];
    }
    if (kind === "bins") {
      const bin = binOf(distribution.cuts, value);
      const edges = [distribution.low, ...distribution.cuts, distribution.high];
      const from = numbers.number(edges[bin]);
      const to = numbers.number(edges[bin + 1]);
      return [`${say("row.counts.bin", { from, to })}: `, ...perClass(outOf(counts.map((line) => line[bin])))];
    }
    if (kind === "normal") {
      const { n, mean, sd } = distribution;
      const text = (k) => say(n[k] ? "row.counts.normal" : "row.counts.none", {
        mean: numbers.number(mean[k]), sd: numbers.number(sd[k], 2), label: names[k] });
      return perClass(text);
    }
    return [];
  };

  // ---- one column ---------------------------------------------------------------------------------------------
  const heading = (column, editor) => {
    const label = make("label", { for: editor.id, dir: "auto" }, column.name === "" ? say("row.empty") : column.name);
    return make("div", { class: "name" }, label, editor.missing);
  };

  const columnView = (column) => {
    const distribution = facts(column.name)?.distribution ?? null;
    const change = (value) => {
      row[column.name] = column.raw?.get(value) ?? value;
      changed();
    };
    const editor = Naively.editor(column, distribution, change);
    const value = make("span", { class: "value" });
    const bar = signedBar();
    const counts = make("div", { class: "counts muted", dir: "auto" });
    const hasAxis = editor.range || (column.kind === "label" && column.labels.length > 1);
    const axis = hasAxis ? Naively.axis(column, editor.range, distribution, change) : null;
    const words = column.kind === "text" ? Naively.textView((word) => wordCounts(distribution, word), drawnBar) : null;
    const sizes = make("div", { class: "axis" }, ...(axis ? [axis.elements[0], editor.slider, axis.elements[1]] : []));
    const element = make("div", { class: `column ${column.kind}`, role: "group", "aria-label": column.name },
      heading(column, editor), make("div", { class: "cell" }, editor.field), sizes,
      make("div", { class: "sum" }, value, bar.element), counts, ...(words ? words.elements : []));
    let behindNow = "";
    return {
      name: column.name,
      column,
      element,
      axis,
      own: 0,
      draw(longest) {
        const cell = row[column.name];
        editor.set(column.kind === "label" && cell !== null ? Naively.shownLabel(cell) : cell);
        value.textContent = signedText(this.own);
        value.dataset.value = this.own;
        bar.draw(this.own, longest);
        const key = JSON.stringify([cell, of, against]);
        if (key !== behindNow && column.kind !== "text") counts.replaceChildren(...behind(distribution, column, cell));
        behindNow = key;
        const ofColumn = result.words.filter((word) => word.column === column.name);
        const found = ofColumn.map((word) => ({ ...word, lead: lead(word.scores) }));
        words?.draw(cell ?? "", found, [names[of], names[against]]);
      },
    };
  };

  const wordCounts = (distribution, word) => {
    const place = distribution?.kind === "words" ? distribution.words.indexOf(word) : -1;
    return place < 0 ? [] : perClass(outOf(distribution.counts.map((line) => line[place])));
  };

  // ---- the answer ---------------------------------------------------------------------------------------------
  const classLine = (k, texts) => {
    const width = `${Math.max(0, Math.min(1, result.probabilities[k])) * 100}`;
    const bar = make("svg:svg", { class: "nv-bar", viewBox: "0 0 100 14", preserveAspectRatio: "none", height: 14, "aria-hidden": "true" },
      make("svg:rect", { class: "nv-track", width: 100, height: 14 }),
      make("svg:rect", { class: `nv-c${k % 8}`, width, height: 14 }));
    const out = result.joint[k] === -Infinity ? make("span", { class: "muted" }, ` ${say("row.ruled_out")}`) : null;
    return make("li", {}, make("span", { class: "class", dir: "auto" }, names[k], out), bar,
      make("span", { class: "probability", "data-value": result.probabilities[k] }, texts[k]));
  };

  const drawClasses = () => {
    const texts = numbers.probabilities(result.probabilities);
    const order = names.map((_, k) => k);
    if (names.length > SHOWN_CLASSES) order.sort((a, b) => result.probabilities[b] - result.probabilities[a]);
    const few = names.length > SHOWN_CLASSES ? SHOWN_CLASSES - 1 : names.length;
    parts.classes.replaceChildren(...order.slice(0, few).map((k) => classLine(k, texts)));
    parts.moreClasses.hidden = few === names.length;
    if (few < names.length) {
      parts.moreClasses.firstChild.textContent = say("row.more_classes", { n: names.length - few });
      parts.moreClasses.lastChild.replaceChildren(...order.slice(few).map((k) => classLine(k, texts)));
    }
    const best = answer();
    parts.answerName.textContent = names[best];
    parts.answerProbability.textContent = texts[best];
    const widths = parts.answerBar.children;
    let start = 0;
    for (let k = 0; k < names.length; k += 1) {
      const width = result.probabilities[k] * 100;
      widths[k].setAttribute("x", start);
      widths[k].setAttribute("width", width);
      start += width;
    }
  };

  const answer = () => result.probabilities.reduce((best, p, k, all) => (p > all[best] ? k : best), 0);
  const second = (first) => result.joint.reduce(
    (best, score, k, all) => (k !== first && (best < 0 || score > all[best]) ? k : best), -1);

  const drawSums = (prior, own, together, total) => {
    const part = (name, value, hint) => make("div", { class: "part", title: hint },
      make("b", { "data-value": value, class: name }, signedText(value)), make("span", { class: "muted" }, say(`row.sum.${name}`)));
    const sign = (text) => make("span", { class: "sign", "aria-hidden": "true" }, text);
    const line = [part("prior", prior), sign("+"), part("columns", own)];
    if (model.pairs.length) line.push(sign("+"), part("together", together));
    parts.sums.replaceChildren(...line, sign("="), part("total", total));
    const pair = { of: names[of], against: names[against] };
    const ratio = result.probabilities[of] / result.probabilities[against];
    const odds = Math.max(ratio, 1 / ratio);
    const times = odds < 1e6 ? numbers.count(Number(odds.toPrecision(2))) : say("row.odds.million");
    const sentence = Number.isNaN(total) ? "none" : ratio >= 1 ? "for" : "against";
    parts.sentence.textContent = say(`row.odds.${sentence}`, { ...pair, ratio: times });
    parts.answerOdds.textContent = say("row.header.odds", { ...pair, total: signedText(total) });
    const notes = [];
    if (result.joint.every((score) => score === -Infinity)) notes.push(say("row.note.all_out"));
    if (data.flat.floor) notes.push(say("row.note.floor"));
    parts.notes.textContent = notes.join(" ");
    const best = answer();
    parts.follow.hidden = best === of;
    parts.follow.textContent = say("row.follow", { label: names[best] });
  };

  const drawPairs = (longest) => {
    if (!model.pairs.length) return 0;
    const lines = result.pairs.map(({ columns, scores }) => ({ columns, value: lead(scores) }));
    const size = ({ value }) => (Number.isNaN(value) ? Infinity : Math.abs(value));
    lines.sort((a, b) => size(b) - size(a));
    const total = sumOf(lines.map(({ value }) => value));
    parts.pairsTitle.textContent = say("row.together", { n: lines.length });
    parts.pairsValue.textContent = signedText(total);
    parts.pairsBar.draw(total, longest);
    if (parts.pairs.open) {
      parts.pairsList.replaceChildren(...lines.map(({ columns, value }) => make("li", {},
        make("span", { dir: "auto" }, columns.join(" × ")),
        make("span", { class: "value", "data-value": value }, numbers.signed(value)), drawnBar(value, longest))));
    }
    return total;
  };

  // ---- everything moves at once -------------------------------------------------------------------------------
  const drawAxes = (total) => {
    const asProbability = parts.scale.value === "probability";
    const shown = views.filter((view) => view.axis && !view.element.hidden);
    const measure = asProbability ? (moved) => moved.probabilities[of] : (moved) => lead(moved.joint);
    const all = shown.flatMap((view) => view.axis.compute((value) => 
      measure(model.move(result, view.name, view.column.raw?.get(value) ?? value))));
    const finite = all.filter(Number.isFinite);
    const text = asProbability ? (p) => numbers.probability(p) : signedText;
    let [low, high, middle] = [0, 1, 0.5];
    if (!asProbability) {
      const end = (sign) => longestOf([0, ...[...finite, total].filter((one) => Math.sign(one) === sign)]);
      [low, high, middle] = [-end(-1), end(1), 0];
    }
    parts.axisScale.textContent = say(asProbability ? "row.axis.probability" : "row.axis.odds", { low: text(low), high: text(high) });
    const current = measure(result);
    const pair = { of: names[of], against: names[against] };
    for (const view of shown) {
      const title = say(asProbability ? "row.axis.title.probability" : "row.axis.title.odds", { ...pair, column: view.name });
      const cell = row[view.name];
      const place = view.column.kind === "label" && cell !== null ? Naively.shownLabel(cell) : cell;
      view.axis.draw({ low, high, middle, text, title }, place, current);
    }
  };

  const draw = () => {
    result = model.score(row);
    for (const view of views) view.own = lead(result.columns.find((one) => one.name === view.name).scores);
    const prior = lead(result.prior);
    const own = sumOf(views.map((view) => view.own));
    const pairs = result.pairs.map(({ scores }) => lead(scores));
    const longest = longestOf([prior, sumOf(pairs), ...views.map((view) => view.own)]);
    const total = lead(result.joint);
    drawClasses();
    const together = drawPairs(longest);
    drawSums(prior, own, together, total);
    parts.priorValue.textContent = signedText(prior);
    parts.priorBar.draw(prior, longest);
    for (const view of views) view.draw(longest);
    drawAxes(total);
    parts.sides.replaceChildren(make("span", {}, `◀ ${names[against]}`), make("span", {}, `${names[of]} ▶`));
    parts.priorCounts.replaceChildren(...perClass((k) => say("row.counts.rows", { n: numbers.count(data.class_rows[k]), label: names[k] })));
  };

  let speaking = 0;
  const speak = () => {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      const best = answer();
      parts.live.textContent = `${names[best]} ${numbers.probabilities(result.probabilities)[best]}`;
    }, 600);
  };

  const changed = () => {
    draw();
    remember();
    speak();
  };

  // Only what differs from the row of the report is in the address.
  const remember = () => {
    const cells = Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== base[name]));
    state.set("at", data.rows?.truth.length ? at : null);
    state.set("cells", Object.keys(cells).length ? cells : null);
    state.set("compare", chosen.of === undefined && chosen.against === undefined ? null : [of, against]);
    parts.reset.disabled = !Object.keys(cells).length;
  };

  const compareDefault = () => {
    of = chosen.of ?? answer();
    if (chosen.against === of) delete chosen.against;
    against = chosen.against ?? second(of);
    if (against < 0) against = of; // a model of one class
    parts.of.value = of;
    parts.against.value = against;
  };

  const fits = (column, value) => value === null ||
    (column.kind === "number" ? Number.isFinite(value) : ["string", "number", "boolean"].includes(typeof value));
  const cellOf = (column, value) => (value === undefined || !fits(column, value) ? null : value);

  const openBase = (place, cells) => {
    const rows = data.rows?.truth.length ? data.rows : null;
    at = rows ? Math.min(Math.max(Math.trunc(place) || 0, 0), rows.truth.length - 1) : 0;
    const given = rows ? (name) => rows.cells[rows.columns.indexOf(name)]?.[at] : (name) => data.first?.[name];
    base = {};
    for (const column of model.columns) base[column.name] = cellOf(column, given(column.name));
    row = { ...base };
    for (const column of model.columns) {
      if (Object.hasOwn(cells, column.name)) row[column.name] = cellOf(column, cells[column.name]);
    }
    result = model.score(row);
    compareDefault();
    drawPlace(rows);
    draw();
    remember();
  };

  const drawPlace = (rows) => {
    parts.place.hidden = parts.previous.hidden = parts.next.hidden = !rows;
    if (!rows) return;
    parts.place.textContent = say("row.place", { at: numbers.count(at + 1), n: numbers.count(rows.truth.length), number: numbers.count(rows.numbers[at]) });
    const truth = rows.truth[at];
    parts.truth.textContent = truth < 0 ? say("row.truth.none") : say("row.truth", { label: names[truth] });
    parts.previous.disabled = at === 0;
    parts.next.disabled = at === rows.truth.length - 1;
  };

  const restore = () => {
    const cells = state.get("cells");
    const pair = state.get("compare");
    const valid = Array.isArray(pair) && pair.length === 2 && pair.every((k) => Number.isInteger(k) && k >= 0 && k < names.length);
    chosen = valid ? { of: pair[0], against: pair[1] } : {};
    if (["odds", "probability"].includes(state.get("scale"))) parts.scale.value = state.get("scale");
    openBase(state.get("at"), cells && typeof cells === "object" ? cells : {});
  };

  // ---- copies -------------------------------------------------------------------------------------------------
  const pythonOf = (value) => (value === null ? "None" : value === true ? "True" : value === false ? "False" : JSON.stringify(value));
  const copies = {
    link: () => Naively.link(),
    json: () => JSON.stringify(row),
    python: () => `nb.predict_proba({${Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${pythonOf(value)}`).join(", ")}})`,
  };
  const copy = async (kind) => {
    const text = copies[kind]();
    try {
      await navigator.clipboard.writeText(text);
      parts.copied.replaceChildren(say("row.copied"));
    } catch {
      // Without the right to write to the clipboard the text is there to be copied by hand.
      const field = make("textarea", { rows: 3, readonly: true, "aria-label": say("row.copy_by_hand") });
      field.value = text;
      parts.copied.replaceChildren(field);
      field.select();
    }
  };

  // ---- the tab ------------------------------------------------------------------------------------------------
  const button = (key, click, css = "") => make("button", { type: "button", class: css, click }, say(key));
  const classSelect = (label, choose) => {
    const options = names.map((name, k) => make("option", { value: k }, name));
    const select = make("select", { "aria-label": say(label), dir: "auto" }, ...options);
    select.addEventListener("change", () => choose(Number(select.value)));
    return select;
  };

  const buildHeader = () => {
    parts.answerName = make("b", { dir: "auto" });
    parts.answerProbability = make("span", { class: "probability" });
    const segments = names.map((_, k) => make("svg:rect", { class: `nv-c${k % 8}`, height: 14 }));
    parts.answerBar = make("svg:svg", { class: "nv-bar", viewBox: "0 0 100 14", preserveAspectRatio: "none", height: 10, "aria-hidden": "true" }, ...segments);
    parts.answerOdds = make("span", { class: "muted odds", dir: "auto" });
    parts.live = make("span", { class: "hidden", role: "status" });
    document.getElementById("answer").replaceChildren(
      make("span", { class: "who" }, parts.answerName, " ", parts.answerProbability), parts.answerBar, parts.answerOdds, parts.live);
  };

  const toolbar = () => {
    parts.place = make("span", { class: "place" });
    parts.previous = button("row.previous", () => openBase(at - 1, {}));
    parts.next = button("row.next", () => openBase(at + 1, {}));
    parts.reset = button("row.reset", () => openBase(at, {}));
    parts.truth = make("span", { class: "truth", dir: "auto" });
    parts.copied = make("span", { class: "copied", role: "status" });
    const copyButtons = ["link", "json", "python"].map((kind) => button(`row.copy.${kind}`, () => copy(kind), "quiet"));
    return make("div", { class: "toolbar" },
      make("div", {}, parts.previous, parts.next, parts.place, parts.truth),
      make("div", {}, parts.reset, ...copyButtons, parts.copied));
  };

  const answerCards = () => {
    parts.classes = make("ul", { class: "classes" });
    parts.moreClasses = make("details", {}, make("summary"), make("ul", { class: "classes" }));
    const choose = (which) => (k) => {
      chosen = { of, against, [which]: k };
      if (chosen.of === chosen.against) chosen[which === "of" ? "against" : "of"] = which === "of" ? of : against;
      compareDefault();
      changed();
    };
    parts.of = classSelect("row.choose.of", choose("of"));
    parts.against = classSelect("row.choose.against", choose("against"));
    parts.follow = make("button", { type: "button", class: "quiet", click: () => {
      chosen = {};
      compareDefault();
      changed();
    } });
    parts.sums = make("div", { class: "sums" });
    parts.sentence = make("p", { dir: "auto" });
    parts.notes = make("p", { class: "muted small" });
    const why = make("h3", {}, `${say("row.why")} `, parts.of, ` ${say("row.rather")} `, parts.against, say("row.question"));
    return make("div", { class: "cards" },
      make("div", { class: "card" }, make("h3", {}, say("row.probabilities", { target: data.flat.target })), parts.classes, parts.moreClasses),
      make("div", { class: "card" }, why, parts.sums, parts.sentence, parts.notes, parts.follow));
  };

  const tableHead = () => {
    const option = (key) => make("option", { value: key }, say(`row.scale.${key}`));
    parts.scale = make("select", { "aria-label": say("row.scale") }, option("odds"), option("probability"));
    parts.scale.addEventListener("change", () => {
      state.set("scale", parts.scale.value);
      draw();
    });
    parts.axisScale = make("span", { class: "muted" });
    parts.sides = make("div", { class: "sides muted", dir: "auto" });
    return make("div", { class: "head" },
      make("div", { class: "name" }, say("row.head.column")), make("div", { class: "cell" }, say("row.head.cell")),
      make("div", { class: "axis" }, make("span", {}, say("row.head.axis"), " ", parts.scale), parts.axisScale),
      make("div", { class: "sum" }, make("span", {}, say("row.head.contribution")), parts.sides));
  };

  const fixedLine = (key, value, bar, counts) => make("div", { class: "column fixed" },
    make("div", { class: "name" }, say(key)), make("div", { class: "sum" }, value, bar.element), counts);

  const pairsPart = () => {
    parts.pairsTitle = make("span");
    parts.pairsValue = make("span", { class: "value" });
    parts.pairsBar = signedBar();
    parts.pairsList = make("ul", { class: "pairs" });
    const summary = make("summary", { class: "column fixed" },
      make("div", { class: "name" }, parts.pairsTitle), make("div", { class: "sum" }, parts.pairsValue, parts.pairsBar.element),
      make("div", { class: "counts muted" }, say("row.together.hint")));
    parts.pairs = make("details", { class: "together", toggle: () => draw() }, summary, parts.pairsList);
    return parts.pairs;
  };

  const columnSearch = () => {
    if (views.length <= SHOWN_COLUMNS) return [];
    const field = make("input", { type: "search", placeholder: say("row.search"), "aria-label": say("row.search") });
    const narrow = () => {
      const wanted = field.value.toLowerCase();
      let left = SHOWN_COLUMNS;
      for (const view of views) view.element.hidden = !(view.name.toLowerCase().includes(wanted) && (left -= 1) >= 0);
    };
    field.addEventListener("input", () => {
      narrow();
      draw();
    });
    narrow();
    return [make("p", { class: "muted" }, say("row.many", { n: numbers.count(views.length), shown: SHOWN_COLUMNS }), " ", field)];
  };

  const start = (element, given, scorer) => {
    [root, data, model] = [element, given, scorer];
    names = model.classes.map((label) => Naively.shownLabel(label));
    for (const column of model.columns.filter(({ kind }) => kind === "label")) {
      column.labels = column.values.map(Naively.shownLabel);
      column.raw = new Map(column.values.map((value) => [Naively.shownLabel(value), value]));
    }
    buildHeader();
    const top = [make("p", { class: "intro" }, say("row.intro")), toolbar(), answerCards()];
    const head = tableHead();
    views = model.columns.map(columnView);
    parts.priorValue = make("span", { class: "value" });
    parts.priorBar = signedBar();
    parts.priorCounts = make("div", { class: "counts muted", dir: "auto" });
    const lines = [fixedLine("row.prior", parts.priorValue, parts.priorBar, parts.priorCounts), ...views.map((view) => view.element)];
    if (model.pairs.length) lines.push(pairsPart());
    root.replaceChildren(...top, ...columnSearch(), make("div", { class: "columns" }, head, ...lines),
      make("p", { class: "muted" }, say("row.exact")));
    restore();
  };

  Naively.openRow = (place) => {
    chosen = {};
    openBase(place, {});
    Naively.open("row");
    scrollTo(0, 0);
  };
  // For tests and for those who look behind the page: the row, its result and the classes that are compared.
  Naively.currentRow = () => ({ row: { ...row }, result, of, against });
  Naively.section("row", { start, restore });
})();
