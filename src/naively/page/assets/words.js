// The tab Words: the words that contribute most to each class, their counts, and a search among all words.
"use strict";
(() => {
  const { make, say, numbers } = Naively;
  const SHOWN = 12;
  const FOUND = 50;
  let data, model, names;

  const bar = (value, longest) => make("svg:svg", {
    class: "nv-bar", viewBox: "0 0 100 14", preserveAspectRatio: "none", height: 12, "aria-hidden": "true",
  }, make("svg:rect", { class: value < 0 ? "nv-against" : "nv-for", width: Math.max(1, (100 * Math.abs(value)) / longest), height: 14 }));
  const heads = (...keys) => make("thead", {}, make("tr", {}, keys.map((key) => make("th", { scope: "col" }, key && say(`words.head.${key}`)))));
  const swatch = (k) => make("svg:svg", { class: "nv-swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    make("svg:rect", { class: `nv-c${k % 8}`, width: 10, height: 10, rx: 2 }));
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const share = (n, total) => `${numbers.count(n)} / ${numbers.count(total)}`;

  const classCard = (column, k) => {
    const strongest = column.strongest[k];
    const longest = Math.max(...strongest.map(([, lead]) => lead), 1e-9);
    const total = sum(data.class_rows);
    const line = ([at, lead]) => {
      const here = column.counts[k][at];
      const others = sum(column.counts.map((counts) => counts[at])) - here;
      return make("tr", {},
        make("th", { scope: "row", dir: "auto" }, column.words[at]),
        make("td", { class: "number" }, numbers.signed(lead)), make("td", { class: "bars" }, bar(lead, longest)),
        make("td", { class: "number" }, share(here, data.class_rows[k])),
        make("td", { class: "number" }, share(others, total - data.class_rows[k])));
    };
    const body = make("tbody", {}, strongest.slice(0, SHOWN).map(line));
    const rest = strongest.slice(SHOWN);
    const more = make("button", { type: "button", class: "quiet", click: () => {
      body.append(...rest.map(line));
      more.remove();
    } }, say("words.more", { n: rest.length }));
    const caption = make("caption", { dir: "auto" }, swatch(k), names[k]);
    const table = make("table", {}, caption, heads("word", "lead", "", "here", "others"), body);
    return make("div", { class: "card" }, make("div", { class: "wide" }, table), rest.length ? more : null);
  };

  // What a text of this word alone would get, against the other class that profits most.
  const leadOf = (column, word) => {
    const found = model.score({ [column.name]: word }).words.filter((one) => one.word === word);
    const scores = names.map((_, k) => sum(found.slice(0, 1).map((one) => one.scores[k])));
    const best = scores.indexOf(Math.max(...scores));
    return { best, lead: scores[best] - Math.max(...scores.filter((_, k) => k !== best)) };
  };

  const searchResult = (column, text) => {
    const wanted = text.toLowerCase();
    const all = model.columns.find(({ name }) => name === column.name).words.filter((word) => word.includes(wanted));
    const shortest = all.sort((a, b) => a.length - b.length).slice(0, FOUND);
    const places = new Map(column.words.map((word, at) => [word, at]));
    const lines = shortest.map((word) => ({ word, at: places.get(word), ...leadOf(column, word) }));
    const longest = Math.max(...lines.map(({ lead }) => lead).filter(Number.isFinite), 1e-9);
    const counts = (at) => (at === undefined ? [say("words.uncounted")] : names.flatMap((name, k) => (column.counts[k][at]
      ? [make("span", { class: "count" }, swatch(k), `${name} ${share(column.counts[k][at], data.class_rows[k])} `)] : [])));
    const body = make("tbody", {}, lines.map(({ word, at, best, lead }) => make("tr", {},
      make("th", { scope: "row", dir: "auto" }, word), make("td", { dir: "auto" }, swatch(best), names[best]),
      make("td", { class: "number" }, numbers.signed(lead)), make("td", { class: "bars" }, bar(Math.min(lead, longest), longest)),
      make("td", { class: "muted", dir: "auto" }, counts(at)))));
    const table = make("table", {}, heads("word", "class", "lead", "", "counts"), body);
    const first = all.length > FOUND ? ` ${say("words.found.first", { shown: FOUND })}` : "";
    return [make("p", { role: "status" }, say("words.found", { n: numbers.count(all.length), text }) + first),
      ...(lines.length ? [make("div", { class: "wide" }, table)] : [])];
  };

  const columnPart = (column, several) => {
    const field = make("input", { type: "search", placeholder: say("words.search"), "aria-label": say("words.search"), dir: "auto" });
    const result = make("div");
    const cards = make("div", { class: "cards" }, names.map((_, k) => classCard(column, k)));
    field.addEventListener("input", () => {
      result.replaceChildren(...(field.value.trim() ? searchResult(column, field.value.trim()) : []));
    });
    return [several ? make("h3", { dir: "auto" }, column.name) : null, make("p", {}, field), result, cards];
  };

  const start = (root, given, scorer) => {
    [data, model] = [given, scorer];
    names = model.classes.map(Naively.shownLabel);
    const { columns } = data.words;
    root.replaceChildren(make("p", {}, say("words.intro")),
      ...columns.flatMap((column) => columnPart(column, columns.length > 1)).filter(Boolean));
  };
  Naively.section("words", { start });
})();
