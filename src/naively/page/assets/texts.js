// A text, its words colored by their contribution to the log-odds, and the sum by word.
"use strict";
(() => {
  const { make, say, numbers } = Naively;
  // Contributions below this proportion of the largest are not colored. Words that are listed, and listed at most.
  const FAINT = 0.05;
  const LISTED = 12;
  const MOST = 300;

  // What each character contributes: words may overlap, as pairs of Chinese characters do.
  const byCharacter = (text, words) => {
    const strength = new Float64Array(text.length);
    const known = new Uint8Array(text.length);
    for (const { begin, end, lead } of words) {
      const bounded = Math.max(-50, Math.min(lead || 0, 50));
      for (let at = begin; at < end; at += 1) {
        strength[at] += bounded;
        known[at] = 1;
      }
    }
    return { strength, known };
  };

  // Marks and blanks are plain; letters that no known word covers are a word that the model does not know.
  const unknownParts = (piece) => piece.split(/([\p{L}\p{N}]+)/u).map((part) =>
    (/[\p{L}\p{N}]/u.test(part) ? make("span.unknown", { title: say("row.text.unknown") }, part) : part));

  // Blue is the first of two classes and orange the second, as everywhere; `turned` says that the second is explained.
  const tint = (isFor, turned) => (isFor !== turned ? "f" : "a");

  const colored = (text, words, turned) => {
    const { strength, known } = byCharacter(text, words);
    const most = strength.reduce((max, one) => Math.max(max, Math.abs(one)), 0) || 1;
    const parts = [];
    let from = 0;
    for (let at = 1; at <= text.length; at += 1) {
      if (at < text.length && known[at] === known[from] && strength[at] === strength[from]) continue;
      const piece = text.slice(from, at);
      const share = Math.abs(strength[from]) / most;
      const level = `${tint(strength[from] > 0, turned)}${Math.min(Math.floor(share * 3), 2) + 1}`;
      if (!known[from]) parts.push(...unknownParts(piece));
      else parts.push(share < FAINT ? piece : make(`mark.nv-${level}`, piece));
      from = at;
    }
    return parts;
  };

  const sums = (words) => {
    const found = new Map();
    for (const { word, lead } of words) {
      const sum = found.get(word) ?? { word, times: 0, lead: 0 };
      sum.times += 1;
      sum.lead += lead;
      found.set(word, sum);
    }
    const size = ({ lead }) => (Number.isNaN(lead) ? Infinity : Math.abs(lead));
    return [...found.values()].sort((a, b) => size(b) - size(a));
  };

  // The view of a column of texts. counts(word) returns the counts behind a word, bar(value, longest) its value and bar.
  Naively.textView = (counts, bar, unknown) => {
    let [all, now] = [false, null];
    const legend = make("p.muted");
    const shown = make("p.colored", { dir: "auto", tabindex: "0", role: "region", "aria-label": say("row.text.colored") });
    const heads = ["word", "times", "contribution", "bar", "counts"].map((key) => make("th", { scope: "col" }, say(`row.text.${key}`)));
    const body = make("tbody");
    const table = make("div.wide", { tabindex: 0, role: "region", "aria-label": say("row.text.sum") }, make("table", make("caption", say("row.text.sum")), make("thead", make("tr", heads)), body));
    const more = make("button", { type: "button", click: () => {
      all = !all;
      draw(...now);
    } });
    const draw = (text, words, names, turned) => {
      now = [text, words, names, turned];
      const lines = sums(words);
      const longest = Math.max(1e-9, ...lines.map(({ lead }) => Math.abs(lead)).filter(Number.isFinite));
      legend.replaceChildren(make(`mark.nv-${tint(true, turned)}2`, names[0]), " ", make(`mark.nv-${tint(false, turned)}2`, names[1]), " ", make("span.unknown", unknown));
      shown.replaceChildren(...colored(text, words, turned));
      shown.hidden = legend.hidden = !text;
      table.hidden = !lines.length;
      more.hidden = lines.length <= LISTED;
      more.textContent = all ? say("row.fewer") : say("row.text.more", { n: numbers.count(lines.length - LISTED) });
      body.replaceChildren(...lines.slice(0, all ? MOST : LISTED).map(({ word, times, lead }) => make("tr",
        make("th", { scope: "row", dir: "auto" }, word), make("td.number", numbers.count(times)),
        bar(lead, longest).elements.map((element, at) => make(at ? "td.bars" : "td", element)),
        make("td.muted", { dir: "auto" }, counts(word)))));
    };
    return { elements: [legend, shown, table, more], draw };
  };
})();
