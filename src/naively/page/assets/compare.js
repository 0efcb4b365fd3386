// The tab Compare: the changes of one column alone.
"use strict";
(() => {
  const { make, say, section } = Naively;

  const start = (root) => {
    const lines = [...root.querySelectorAll("[data-column]")].filter((line) => line.dataset.column !== "(class)");
    const names = [...new Set(lines.map((line) => line.dataset.column))];
    if (names.length < 2) return;
    const choice = make("select", { change: () => {
      for (const line of lines) line.hidden = choice.value !== "" && line.dataset.column !== choice.value;
    } }, make("option", { value: "" }, say("compare.all")), names.map((name) => make("option", {}, name)));
    lines[0].closest(".scroll").before(make("p", {}, make("label", {}, say("compare.find"), " ", choice)));
  };

  section("compare", { start });
})();
