// The living nomogram: for each column a picture of what would result from every value it could take, all other cells
// held. Numbers have a curve above their slider, labels a dot for each value.
"use strict";
(() => {
  const { make, say, numbers } = Naively;
  const WIDE = 100;
  const HIGH = 40;
  // Places of a number's curve, and labels that have a dot; of more labels, the commonest.
  const PLACES = 40;
  const DOTS = 60;

  const commonest = (values, distribution) => {
    if (values.length <= DOTS || distribution?.kind !== "labels") return values.slice(0, DOTS);
    const total = (at) => distribution.counts.reduce((sum, line) => sum + line[at], 0);
    const order = distribution.values.map((value, at) => [total(at), value]).sort((a, b) => b[0] - a[0]);
    const kept = new Set(order.slice(0, DOTS).map(([, value]) => value));
    return values.filter((value) => kept.has(value));
  };

  // Places where a number's curve is computed: even steps, and both sides of every cut, where it jumps.
  const placesOf = ({ low, high, cuts, whole }) => {
    const span = high - low;
    const places = Array.from({ length: PLACES + 1 }, (_, at) => low + (span * at) / PLACES);
    const inside = cuts.filter((cut) => cut > low && cut < high).slice(0, 3 * PLACES);
    if (whole) {
      for (const cut of inside) places.push(Math.floor(cut), Math.floor(cut) + 1);
      return [...new Set(places.map(Math.round))].sort((a, b) => a - b);
    }
    for (const cut of inside) places.push(cut, cut + span * 1e-6);
    return places.sort((a, b) => a - b);
  };

  const path = (css) => make(`svg:path.${css}`);

  // range: {low, high, cuts} of a number, null for labels; choose(value) is called when a place is clicked.
  Naively.axis = (column, range, distribution, choose) => {
    const labels = range ? null : commonest(column.labels, distribution);
    const places = range ? placesOf(range) : labels;
    const x = range
      ? (value) => (WIDE * Math.min(Math.max(value - range.low, 0), range.high - range.low)) / (range.high - range.low)
      : (value) => (WIDE * (labels.indexOf(value) + 0.5)) / labels.length;
    const [even, line, dots, now] = [path("even"), path("line"), path("dots"), path("now")];
    const box = { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": column.name || say("row.empty") };
    const svg = make("svg:svg", box, even, line, dots, now);
    const tip = make("span.tip", { "aria-hidden": "true" });
    const ends = make("div.ends.muted");
    const plot = make("div.plot", svg, tip);
    let totals = [];
    let show = (value) => value;

    const nearest = (event) => {
      const frame = svg.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - frame.left) / frame.width, 0), 1);
      if (labels) return Math.min(Math.floor(share * labels.length), labels.length - 1);
      const value = range.low + share * (range.high - range.low);
      let best = 0;
      places.forEach((place, at) => {
        if (Math.abs(place - value) < Math.abs(places[best] - value)) best = at;
      });
      return best;
    };
    plot.addEventListener("pointermove", (event) => {
      const at = nearest(event);
      const value = range ? numbers.cell(column, places[at]) : places[at];
      tip.textContent = say("row.axis.tip", { value, total: show(totals[at]) });
      tip.classList.toggle("left", x(places[at]) > WIDE / 2);
    });
    plot.addEventListener("click", (event) => choose(range ? range.round(places[nearest(event)]) : places[nearest(event)]));

    return {
      elements: [plot, ends],
      // Compute what would result: total(value) is the log-odds or the probability.
      compute(total) {
        totals = places.map(total);
        return totals;
      },
      draw({ low, high, middle, text, title }, value, current) {
        show = text;
        const y = (of) => HIGH * (1 - Math.min(Math.max((of - low) / (high - low), 0), 1));
        const spot = (place, of) => (Number.isNaN(of) ? "" : `M${x(place).toFixed(2)} ${y(of).toFixed(2)}h0`);
        even.setAttribute("d", middle < low || middle > high ? "" : `M0 ${y(middle)}H${WIDE}`);
        if (range) {
          const ends = totals.map((of, at) => (Number.isNaN(of) ? "" : `${x(places[at]).toFixed(2)} ${y(of).toFixed(2)}`));
          line.setAttribute("d", `M${ends.filter((end) => end).join("L")}`);
        } else {
          dots.setAttribute("d", labels.map((label, at) => spot(label, totals[at])).join(""));
        }
        const known = value !== null && (range ? typeof value === "number" : labels.includes(value));
        now.setAttribute("d", known ? spot(value, current) : "");
        svg.setAttribute("aria-label", title);
        svg.classList.toggle("unset", !known);
        const most = totals.indexOf(Math.max(...totals));
        const least = totals.indexOf(Math.min(...totals));
        const named = labels && totals[most] > totals[least];
        ends.replaceChildren(
          ...(range
            ? [range.low, range.high].map((end) => make("span", numbers.cell(column, end)))
            : named
              ? [make("span", `▲ ${labels[most]}`), make("span", `▼ ${labels[least]}`)]
              : []),
        );
      },
    };
  };
})();
