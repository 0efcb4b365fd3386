// The tab Model: the columns beyond those that are drawn, in steps; each opens to its distribution in numbers.
"use strict";
(() => {
  const { make, say, numbers, section } = Naively;
  const [DRAWN, STEP] = [30, 100];

  // The lines of a distribution: a name, and a cell for each class.
  const linesOf = ({ kind, cuts, whole, values, words, counts, n, mean, sd }) => {
    const { number } = numbers;
    if (kind === "normal") return [[say("model.mean"), n.map((_, k) => `${number(mean[k])} ± ${number(sd[k], 2)}`)]];
    const edge = (cut) => (whole ? number(Math.floor(cut), 12) : number(cut));
    const names = values?.map((value) => (kind === "bins" ? number(value, 12) : value)) ?? words ??
      [...cuts.map((cut) => `≤ ${edge(cut)}`), `> ${edge(cuts[cuts.length - 1] ?? NaN)}`];
    return names.map((name, at) => [name, counts.map((line) => numbers.count(line[at]))]);
  };
  const line = (kind, name, cells) => make("tr", {}, make("th", { scope: kind }, name),
    cells.map((cell) => make(kind === "col" ? "th" : "td", { class: "nv-n" }, cell)));

  section("model", { start(root, data) {
    const place = root.querySelector(".m-more");
    if (!place) return;
    const classes = data.flat.classes.map(String);
    const details = ({ name, bits, error, sentence, distribution: shown }) => {
      const figure = bits === null ? say("model.no_bits") : say("model.bits", { bits: bits.toFixed(3), error: (error ?? 0).toFixed(3) });
      const made = make("details", { toggle: () => {
        if (made.children.length > 1) return;
        made.append(make("p", { dir: "auto" }, sentence));
        if (shown) made.append(make("table", { class: "confusion" }, line("col", say("model.value"), classes), linesOf(shown).map(([title, cells]) => line("row", title, cells))));
      } }, make("summary", {}, `${name}: ${figure}`));
      return made;
    };
    let at = DRAWN;
    const more = make("button", { type: "button", click: () => add() });
    const add = () => {
      more.before(...data.columns.slice(at, at + STEP).map(details));
      at += STEP;
      more.hidden = at >= data.columns.length;
      more.textContent = say("model.more", { n: Math.min(data.columns.length - at, STEP) });
    };
    place.replaceChildren(more);
    add();
  } });
})();
