// Editors of cells: numbers by field and slider, labels by a list with search, texts, and a switch for missing values.
"use strict";
(() => {
  const { make, say, numbers } = Naively;
  let ids = 0;

  // The range of a slider: what the rows had, else what the model knows. Null where there is nothing to slide along.
  const rangeOf = (column, distribution) => {
    let low = distribution?.low ?? column.low;
    let high = distribution?.high ?? column.high;
    if (distribution?.kind === "normal") {
      const known = distribution.mean.map((_, k) => k).filter((k) => distribution.n[k] > 0);
      low = Math.min(...known.map((k) => distribution.mean[k] - 3 * distribution.sd[k]));
      high = Math.max(...known.map((k) => distribution.mean[k] + 3 * distribution.sd[k]));
    }
    // A range of whole numbers ends at whole numbers; a normal distribution has no ends, so it is widened.
    const whole = distribution?.whole || column.type === "whole";
    if (whole) [low, high] = [Math.floor(low), Math.ceil(high)];
    const span = high - low;
    if (!(span > 0) || !Number.isFinite(span)) return null;
    const cuts = Array.from(distribution?.cuts ?? column.cuts ?? []);
    const power = 10 ** Math.floor(Math.log10(span / 200));
    const rounded = [low, high].every(Number.isInteger) && (cuts.every((cut) => Number.isInteger(2 * cut)) || span > 400);
    const step = whole ? 1 : rounded ? Math.max(1, Math.round(power)) : power;
    const round = (value) => Number((low + Math.round((value - low) / step) * step).toPrecision(12));
    return { low, high, cuts, step, round, whole };
  };

  const numberEditor = (id, column, range, change) => {
    const isTime = column.type === "time";
    const field = make("input", isTime ? { id, type: "text", placeholder: "2026-02-28" } : { id, type: "number", step: "any", inputmode: "decimal" });
    const typed = () => (isTime ? (field.value ? Naively.numberOf(column, field.value) : NaN) : field.valueAsNumber);
    field.addEventListener("input", () => change(Number.isFinite(typed()) ? typed() : null));
    const slider = range &&
      make("input", { type: "range", min: range.low, max: range.high, step: range.step, "aria-label": column.name });
    slider?.addEventListener("input", () => change(range.round(slider.valueAsNumber)));
    return {
      field,
      slider,
      set(value) {
        if (document.activeElement !== field || value !== typed()) {
          if (!(value === null && document.activeElement === field)) field.value = value === null ? "" : isTime ? numbers.time(value) : value;
        }
        if (slider && value !== null) slider.value = value;
        slider?.setAttribute("aria-valuetext", value === null ? say("row.missing") : numbers.cell(column, value));
      },
    };
  };

  // A list with search: typing narrows it, arrows move, Enter chooses; a label that is not in it can be typed too.
  const labelEditor = (id, column, change) => {
    const list = make("ul", { id: `${id}-list`, role: "listbox", "aria-label": column.name, hidden: true });
    const field = make("input", {
      id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", dir: "auto",
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
    });
    let shown = [];
    let active = -1;
    let current = null;
    const mark = (at) => {
      active = at;
      [...list.children].forEach((item, place) => item.setAttribute("aria-selected", place === at));
      if (at < 0) field.removeAttribute("aria-activedescendant");
      else field.setAttribute("aria-activedescendant", `${id}-${at}`);
      list.children[at]?.scrollIntoView({ block: "nearest" });
    };
    const close = () => {
      list.hidden = true;
      field.setAttribute("aria-expanded", "false");
      mark(-1);
    };
    const choose = (value) => {
      close();
      field.value = value;
      change(value);
    };
    const openList = (search) => {
      const wanted = search.toLowerCase();
      shown = column.labels.filter((value) => value.toLowerCase().includes(wanted)).slice(0, 200);
      list.replaceChildren(...shown.map((value, at) => make("li", {
        id: `${id}-${at}`, role: "option", dir: "auto", "aria-selected": "false",
        pointerdown: (event) => {
          event.preventDefault();
          choose(value);
        },
      }, value === "" ? say("row.empty") : value)));
      list.hidden = !shown.length;
      field.setAttribute("aria-expanded", String(Boolean(shown.length)));
      mark(search ? (shown.length ? 0 : -1) : shown.indexOf(current));
    };
    field.addEventListener("click", () => openList(""));
    field.addEventListener("focus", () => field.select());
    field.addEventListener("input", () => openList(field.value));
    field.addEventListener("blur", () => {
      const typed = field.value;
      close();
      if (typed !== (current ?? "")) change(typed === "" ? null : typed);
    });
    field.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        if (list.hidden) openList("");
        else mark((active + step + shown.length) % shown.length);
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (!list.hidden && active >= 0) choose(shown[active]);
        else choose(field.value);
      } else if (event.key === "Escape") {
        field.value = current ?? "";
        close();
      }
    });
    return {
      field: make("div.combo", field, list),
      set(value) {
        current = value;
        if (document.activeElement !== field || list.hidden) field.value = value ?? "";
        field.placeholder = value === null ? say("row.missing") : "";
      },
    };
  };

  const textEditor = (id, change) => {
    const field = make("textarea", { id, rows: 4, dir: "auto", spellcheck: "false" });
    field.addEventListener("input", () => change(field.value));
    return {
      field,
      set(value) {
        if (field.value !== (value ?? "")) field.value = value ?? "";
      },
    };
  };

  // An editor of one column; change(value) is called with a number, a text, or null for a missing value.
  Naively.editor = (column, distribution, change) => {
    const id = `cell-${(ids += 1)}`;
    const range = column.kind === "number" ? rangeOf(column, distribution) : null;
    let last = null;
    const made = {
      number: () => numberEditor(id, column, range, change),
      label: () => labelEditor(id, column, change),
      text: () => textEditor(id, change),
    }[column.kind]();
    const missing = make("input", { type: "checkbox", role: "switch" });
    missing.addEventListener("change", () => change(missing.checked ? null : last));
    const name = make("span.hidden", `${column.name}: `);
    return {
      id,
      range,
      field: made.field,
      slider: made.slider ?? null,
      missing: make("label.switch", missing, name, say("row.missing")),
      set(value) {
        if (value !== null) last = value;
        else if (last === null) last = range ? range.round((range.low + range.high) / 2) : column.labels?.[0] ?? "";
        missing.checked = value === null;
        made.set(value);
      },
    };
  };
})();
