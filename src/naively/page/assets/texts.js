// A text, its words colored by their contribution to the log-odds, and the sum by word.
"use strict";
(() => {
  const { make, say, numbers } = Naively;
  // Contributions below this proportion of the largest are not colored; words that are listed before "more".
  const FAINT = 0.05;
  const LISTED = 12;
  const LISTED_AT_MOST = 300;

  // What each character contributes: words may overlap, as pairs of Chinese characters do.
  const byCharacter = (text, words) => {
    const strength = new Float64Array(text.length);
    const known = new Uint8Array(text.length);
    for (const { begin, end, lead } of words) {
      for (let at = begin; at < end; at += 1) {
        strength[at] += Number.isFinite(lead) ? lead : Math.sign(lead || 0) * 50;
        known[at] = 1;
      }
    }
    return { strength, known };
  };

  const colored = (text, words) => {
    const { strength, known } = byCharacter(text, words);
    const most = strength.reduce((max, one) => Math.max(max, Math.abs(one)), 0) || 1;
    const css = Array.from(text, () => "");
    for (let at = 0; at < text.length; at += 1) {
      const share = Math.abs(strength[at]) / most;
      const level = Math.min(Math.floor(share * 3), 2) + 1;
      css[at] = known[at] ? (share < FAINT ? "" : `nv-${strength[at] > 0 ? "f" : "a"}${level}`) : "?";
    }
    const parts = [];
    let from = 0;
    for (let at = 1; at <= text.length; at += 1) {
      if (at < text.length && css[at] === css[from] && strength[at] === strength[from]) continue;
      const piece = text.slice(from, at);
      if (css[from] !== "?") parts.push(css[from] ? make("mark", { class: css[from] }, piece) : piece);
      // Between known words: marks and blanks are plain, letters are a word that the model does not know.
      else for (const part of piece.split(/([\p{L}\p{N}]+)/u)) {
        const unknown = /[\p{L}\p{N}]/u.test(part);
        parts.push(unknown ? make("span", { class: "unknown", title: say("row.text.unknown") }, part) : part);
      }
      from = at;
    }
    return parts;
  };

  const summed = (words) => {
    const sums = new Map();
    for (const { word, lead } of words) {
      const found = sums.get(word) ?? { word, times: 0, lead: 0 };
      found.times += 1;
      found.lead += lead;
      sums.set(word, found);
    }
    const size = ({ lead }) => (Number.isNaN(lead) ? Infinity : Math.abs(lead));
    return [...sums.values()].sort((a, b) => size(b) - size(a));
  };

  // One view of a column of texts; counts(word) returns an element of the counts behind a word, or null.
  Naively.textView = (counts, bar) => {
    const shown = make("p", { class: "colored", dir: "auto", tabindex: "0", role: "region", "aria-label": say("row.text.colored") });
    const head = make("tr", {}, ["word", "times", "contribution", "bar", "counts"].map((key) =>
      make("th", { scope: "col", class: key === "times" || key === "contribution" ? "number" : "" }, say(`row.text.${key}`))));
    const body = make("tbody");
    const more = make("button", { type: "button", click: () => { all = !all; redraw(); } });
    let all = false;
    let redraw = () => {};
    const table = make("table", { class: "words" }, make("caption", {}, say("row.text.sum")), make("thead", {}, head), body);
    const scroll = make("div", { class: "wide" }, table);
    const legend = make("p", { class: "muted legend" });
    return {
      elements: [legend, shown, scroll, more],
      draw(text, words, names) {
        redraw = () => {
          const lines = summed(words);
          const listed = lines.slice(0, all ? LISTED_AT_MOST : LISTED);
          const longest = lines.reduce((max, { lead }) => (Number.isFinite(lead) ? Math.max(max, Math.abs(lead)) : max), 0);
          legend.replaceChildren(
            make("mark", { class: "nv-f2" }, names[0]), " ", make("mark", { class: "nv-a2" }, names[1]), " ",
            make("span", { class: "unknown" }, say("row.text.unknown")));
          shown.replaceChildren(...colored(text, words));
          shown.hidden = !text;
          scroll.hidden = !lines.length;
          more.hidden = lines.length <= LISTED;
          more.textContent = all ? say("row.fewer") : say("row.text.more", { n: numbers.count(lines.length - LISTED) });
          body.replaceChildren(...listed.map(({ word, times, lead }) => make("tr", {},
            make("th", { scope: "row", dir: "auto" }, word),
            make("td", { class: "number" }, numbers.count(times)),
            make("td", { class: "number" }, Number.isNaN(lead) ? "±∞" : numbers.signed(lead)),
            make("td", { class: "bars" }, bar(lead, longest)),
            make("td", { class: "muted" }, counts(word)))));
        };
        redraw();
      },
    };
  };
})();
