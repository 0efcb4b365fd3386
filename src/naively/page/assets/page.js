// The shell of the page: texts, numbers, elements, the state in the address, tabs.
// Every script adds to one global object; data goes into the page as text and attributes, never as HTML.
"use strict";
globalThis.Naively = globalThis.Naively || {};
(() => {
  const data = JSON.parse(document.getElementById("naively-data").textContent);
  const sections = new Map();
  const started = new Set();

  // Texts of the page's language; each {name} is replaced by the value of that name.
  const say = (key, values = {}) =>
    (data.strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));

  // An element such as "div.card", or a shape such as "svg:rect.nv-c0". Functions are listeners; null and false are
  // left out, among attributes and among children.
  const make = (name, ...rest) => {
    const plain = rest.length && rest[0]?.constructor === Object;
    const [attributes, children] = plain ? [rest[0], rest.slice(1)] : [{}, rest];
    const [kind, ...classes] = name.split(".");
    const made = kind.startsWith("svg:")
      ? document.createElementNS("http://www.w3.org/2000/svg", kind.slice(4))
      : document.createElement(kind);
    if (classes.length) made.setAttribute("class", classes.join(" "));
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(key, value);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  };
  // A picture that is stretched to the width of its place, and a square in the color of a class.
  const strip = (width, ...shapes) => make("svg:svg.nv-bar", {
    viewBox: `0 0 ${width} 14`, preserveAspectRatio: "none", height: 14, "aria-hidden": "true" }, ...shapes);
  const swatch = (k) => make("svg:svg.nv-swatch", { viewBox: "0 0 10 10", "aria-hidden": "true" },
    make(`svg:rect.nv-c${k % 8}`, { width: 10, height: 10, rx: 2 }));

  // A label as Python shows it.
  const shownLabel = (label) => (label === true ? "True" : label === false ? "False" : label === null ? "None" : String(label));

  // Numbers as in Python: what lies in the middle is rounded to the even digit.
  const trueMinus = (text) => text.replaceAll("-", "\u2212");
  const fixed = (value, digits) => {
    const halves = value * 2 ** (digits + 1);
    if (Math.abs(value) >= 2 ** 40 || !Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
    const below = Math.floor(Math.abs(value) * 10 ** digits);
    return ((Math.sign(value) * (below + (below % 2))) / 10 ** digits).toFixed(digits);
  };
  const thousands = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const general = (value, digits) => {
    const exact = Math.abs(value).toExponential(40);
    const rest = exact.slice(digits + 1, exact.indexOf("e"));
    const even = Number(exact[digits === 1 ? 0 : digits]) % 2 === 0;
    let [mantissa, power] = Math.abs(value).toExponential(digits - 1).split("e");
    if (/^50*$/.test(rest) && even) [mantissa, power] = [exact.slice(0, digits + 1), exact.split("e")[1]];
    power = Number(power);
    const shorter = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    const sign = value < 0 ? "-" : "";
    if (power >= -4 && power < digits) {
      return sign + shorter(Number(`${mantissa}e${power}`).toFixed(Math.max(0, digits - 1 - power)));
    }
    if (power > 0 && Math.abs(value) < 1e9) return sign + Number(`${mantissa}e${power}`).toFixed(0);
    const written = String(Math.abs(power)).padStart(2, "0");
    return `${sign}${shorter(mantissa)}e${power < 0 ? "-" : "+"}${written}`;
  };
  // Dates and times are seconds since 1970; a day is written without a time where it begins.
  const timeText = (seconds) => {
    const date = new Date(1000 * seconds);
    return Number.isNaN(date.valueOf()) ? "" : date.toISOString().replace(/T00:00:00\.000Z$|\.000Z$|Z$/, "");
  };
  const numbers = {
    time: timeText,
    // A number of a column, as its cells are written.
    cell: (column, value) => {
      if (column.type !== "time") return numbers.number(value);
      return column.high - column.low > 30 * 86400 ? timeText(value).slice(0, 10) : timeText(value);
    },
    probability(p, digits = 1) {
      if (Number.isNaN(p)) return "–";
      if (p === 0 || p === 1) return p ? "100 %" : "0 %";
      const step = 10 ** -digits;
      const text = fixed(100 * p, digits);
      if (Number(text) === 0) return `< ${step.toFixed(digits)} %`;
      return Number(text) >= 100 ? `> ${(100 - step).toFixed(digits)} %` : `${text} %`;
    },
    // Of several classes that are possible none has 100 %.
    probabilities(all, digits = 1) {
      const open = Array.from(all).filter((p) => p > 0).length > 1;
      return Array.from(all, (p) => numbers.probability(open ? Math.min(p, 1 - 2 ** -53) : p, digits));
    },
    signed(value, digits = 2) {
      if (Number.isNaN(value)) return "";
      if (!Number.isFinite(value)) return value > 0 ? "+∞" : "\u2212∞";
      const text = fixed(value, digits);
      if (Number(text) === 0) return text.replace("-", "");
      return trueMinus(value > 0 ? `+${text}` : text);
    },
    number(value, digits = 4) {
      if (Number.isNaN(value)) return "";
      if (!Number.isFinite(value)) return value > 0 ? "∞" : "\u2212∞";
      return value === 0 ? "0" : trueMinus(general(value, digits));
    },
    count(n) {
      if (!Number.isFinite(n)) return numbers.number(n);
      const whole = Math.round(n);
      const isWhole = Math.abs(n - whole) <= 1e-9 * Math.max(1, Math.abs(n));
      const [units, ...rest] = (isWhole ? whole.toFixed(0) : general(n, 4)).split(".");
      return trueMinus([thousands(units), ...rest].join("."));
    },
  };

  // The state of the page is in the fragment of its address: #tab&key=JSON&key=JSON.
  const state = (() => {
    let tab = "";
    const values = new Map();
    let waiting = 0;
    const read = () => {
      const [first, ...parts] = location.hash.slice(1).split("&");
      tab = first;
      values.clear();
      for (const part of parts) {
        const [key, ...text] = part.split("=");
        try {
          values.set(decodeURIComponent(key), JSON.parse(decodeURIComponent(text.join("="))));
        } catch {
          continue; // a part that somebody cut off or wrote by hand
        }
      }
    };
    const fragment = () => {
      const encoded = (value) => encodeURIComponent(value).replaceAll("'", "%27");
      const parts = [...values].map(([key, value]) => `${encoded(key)}=${encoded(JSON.stringify(value))}`);
      return `#${[tab, ...parts].join("&")}`;
    };
    // Browsers allow few changes of the address in a second: a slider that moves makes one change, at its end.
    const write = () => {
      waiting = 0;
      try {
        history.replaceState(null, "", fragment());
      } catch {
        return; // a sandboxed frame: the page works, its address stays
      }
    };
    const later = () => {
      clearTimeout(waiting);
      waiting = setTimeout(write, 250);
    };
    read();
    return {
      read,
      fragment,
      get: (key) => values.get(key),
      set(key, value) {
        if (value === undefined || value === null) values.delete(key);
        else values.set(key, value);
        later();
      },
      get tab() { return tab; },
      set tab(name) {
        tab = name;
        later();
      },
    };
  })();

  // A link to the page as it is now.
  const link = () => location.href.split("#")[0] + state.fragment();

  const section = (name, life) => sections.set(name, life);
  const start = (name) => {
    const root = document.querySelector(`#${name} > .life`);
    if (!root || started.has(name) || !sections.has(name)) return;
    started.add(name);
    try {
      sections.get(name).start(root, data, Naively.scorer);
    } catch (error) {
      // The static part stays; say why it does not move.
      root.prepend(make("p", { class: "broken", role: "alert" }, say("page.broken", { error })));
      console.error(error);
    }
  };
  const panels = () => [...document.querySelectorAll("main > section")];

  const open = (name) => {
    const chosen = panels().some((panel) => panel.id === name) ? name : panels()[0].id;
    for (const panel of panels()) {
      const tab = document.getElementById(`tab-${panel.id}`);
      panel.classList.toggle("open", panel.id === chosen);
      tab.setAttribute("aria-selected", panel.id === chosen);
      tab.tabIndex = panel.id === chosen ? 0 : -1;
    }
    if (state.tab !== chosen) state.tab = chosen;
    start(chosen);
    sections.get(chosen)?.show?.();
  };

  const startTabs = () => {
    const list = document.querySelector(".tabs");
    list.setAttribute("role", "tablist");
    const tabs = [...list.children];
    for (const tab of tabs) {
      const name = tab.id.slice(4);
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", name);
      const panel = document.getElementById(name);
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        open(name);
        scrollTo(0, 0);
      });
    }
    list.addEventListener("keydown", (event) => {
      const at = tabs.indexOf(document.activeElement);
      const steps = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1, " ": at };
      if (at < 0 || !(event.key in steps)) return;
      event.preventDefault();
      const next = tabs[(steps[event.key] + tabs.length) % tabs.length];
      next.focus();
      open(next.id.slice(4));
    });
  };

  // What is printed is the whole report: every part must have been drawn.
  const startAll = () => {
    for (const panel of panels()) {
      start(panel.id);
      sections.get(panel.id)?.show?.();
      sections.get(panel.id)?.print?.();
    }
  };

  Object.assign(Naively, { data, say, make, strip, swatch, numbers, shownLabel, state, link, section, open });

  // Runs when all scripts have run, and the last of them has registered its section.
  queueMicrotask(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(data.style);
    document.adoptedStyleSheets = [sheet];
    document.documentElement.classList.add("alive");
    Naively.scorer = Naively.model(data.flat);
    startTabs();
    start("row"); // its answer is in the header, whichever tab is open
    // The browser has gone to the part that the address names; all of it begins at the top.
    if (state.tab) requestAnimationFrame(() => scrollTo(0, 0));
    open(state.tab || panels()[0].id);
    addEventListener("hashchange", () => {
      state.read();
      for (const name of started) sections.get(name).restore?.();
      open(state.tab);
    });
    addEventListener("beforeprint", startAll);
    matchMedia("print").addEventListener("change", (event) => event.matches && startAll());
  });
})();
