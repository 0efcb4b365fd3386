// The tab Words: the words that contribute most to each class, their counts, and a search among all words.
"use strict";
(() => {
  const { make, say, strip, swatch, numbers } = Naively;
  const SHOWN = 12;
  const FOUND = 50;
  let data, model, names;

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const share = (n, total) => `${numbers.count(n)} / ${numbers.count(total)}`;
  const barCells = (lead, longest, k) => [make("td.number", numbers.signed(lead)), make("td.bars", strip(100,
    make(`svg:rect.nv-c${k % 8}`, { width: Math.max(1, 100 * Math.min(Math.abs(lead) / longest, 1)), height: 14 })))];
  const wordHead = (word) => make("th", { scope: "row", dir: "auto" }, word);
  const table = (name, caption, keys, lines) => make("div.wide", { tabindex: 0, role: "region", "aria-label": name }, make("table", caption,
    make("thead", make("tr", keys.map((key) => make("th", { scope: "col" }, key === "bar" ? make("span.hidden", say("words.head.bar")) : say(`words.head.${key}`))))), lines));

  const classCard = (column, k) => {
    const strongest = column.strongest[k];
    const longest = Math.max(...strongest.map(([, lead]) => lead), 1e-9);
    const line = ([at, lead]) => {
      const here = column.counts[k][at];
      const others = sum(column.counts.map((counts) => counts[at])) - here;
      return make("tr", wordHead(column.words[at]), barCells(lead, longest, k),
        make("td.number", share(here, data.class_rows[k])),
        make("td.number", share(others, sum(data.class_rows) - data.class_rows[k])));
    };
    const body = make("tbody", strongest.slice(0, SHOWN).map(line));
    const rest = strongest.slice(SHOWN);
    const more = make("button", { type: "button", click: () => {
      body.append(...rest.map(line));
      more.remove();
    } }, say("words.more", { n: rest.length }));
    const caption = make("caption", { dir: "auto" }, swatch(k), names[k]);
    return make("div.card", table(names[k], caption, ["word", "lead", "bar", "here", "others"], body), rest.length ? more : null);
  };

  // The class that a text of this word alone is for, and its lead over the next class.
  const leadOf = (column, word) => {
    const found = model.score({ [column.name]: word }).words.find((one) => one.word === word);
    const scores = found ? [...found.scores] : names.map(() => 0);
    const best = scores.indexOf(Math.max(...scores));
    return { best, lead: scores[best] - Math.max(...scores.filter((_, k) => k !== best)) };
  };

  const searchResult = (column, text) => {
    const all = model.columns.find(({ name }) => name === column.name).words.filter((word) => word.includes(text.toLowerCase()));
    const places = new Map(column.words.map((word, at) => [word, at]));
    const counts = (at) => (at === undefined ? say("words.uncounted") : names.map((name, k) => (column.counts[k][at]
      ? make("span.count", swatch(k), `${name} ${share(column.counts[k][at], data.class_rows[k])} `) : null)));
    const shortest = all.sort((a, b) => a.length - b.length).slice(0, FOUND);
    const lines = shortest.map((word) => ({ word, at: places.get(word), ...leadOf(column, word) }));
    const longest = Math.max(...lines.map(({ lead }) => lead).filter(Number.isFinite), 1e-9);
    const body = make("tbody", lines.map(({ word, at, best, lead }) => make("tr", wordHead(word),
      make("td", { dir: "auto" }, swatch(best), names[best]), barCells(lead, longest, best), make("td.muted", { dir: "auto" }, counts(at)))));
    const first = all.length > FOUND ? ` ${say("words.found.first", { shown: FOUND })}` : "";
    return [make("p", { role: "status" }, say("words.found", { n: numbers.count(all.length), text }) + first),
      ...(lines.length ? [table(say("words.search"), null, ["word", "class", "lead", "bar", "counts"], body)] : [])];
  };

  const columnPart = (column, several) => {
    const result = make("div");
    const field = make("input", { type: "search", placeholder: say("words.search"), "aria-label": say("words.search"), dir: "auto", input: () => {
      const text = field.value.trim();
      result.replaceChildren(...(text ? searchResult(column, text) : []));
    } });
    return [several ? make("h3", { dir: "auto" }, column.name) : "", make("p", field), result, make("div.cards", names.map((_, k) => classCard(column, k)))];
  };

  const start = (root, given, scorer) => {
    [data, model] = [given, scorer];
    names = model.classes.map(Naively.shownLabel);
    const { columns } = data.words;
    root.replaceChildren(make("p", say("words.intro")), ...columns.flatMap((column) => columnPart(column, columns.length > 1)));
  };
  Naively.section("words", { start });
})();
