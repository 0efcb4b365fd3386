// The tab Files: a CSV file is sent to the server that serves this page, and comes back with answers.
"use strict";
(() => {
  const { data, make, say, section, numbers } = Naively;
  const size = (bytes) => (bytes < 1e6 ? `${numbers.count(Math.ceil(bytes / 1e3))} KB` : `${numbers.number(bytes / 1e6, 3)} MB`);

  // How many rows a file has, judged by the length of its first lines.
  const estimatedRows = async (file) => {
    const start = await file.slice(0, 1 << 18).text();
    const lines = start.split("\n").length - 1;
    return Math.max(1, Math.round((file.size / Math.max(1, start.length)) * Math.max(1, lines)) - 1);
  };

  // Calls back with the rows answered so far, and returns the parts of the answer; each part is a piece of CSV.
  const received = async (answer, onRows) => {
    const parts = [];
    const reader = answer.body.getReader();
    let lines = 0;
    for (;;) {
      const { done, value } = await reader.read().catch(() => { throw new Error(say("server.broken", { n: numbers.count(Math.max(0, lines - 1)) })); });
      if (done) return [parts, Math.max(0, lines - 1)];
      parts.push(value);
      for (const byte of value) lines += byte === 10;
      onRows(Math.max(0, lines - 1));
    }
  };

  const problemOf = async (answer) => {
    const problem = await answer.json().catch(() => ({}));
    return new Error(problem.detail ?? `${answer.status} ${answer.statusText}`);
  };

  const start = (root) => {
    const field = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", id: "upload-file" });
    const all = make("input", { type: "checkbox", checked: true });
    const button = make("button", { type: "button", disabled: true }, say("server.start"));
    const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-labelledby": "upload-note" });
    const note = make("p.muted", { id: "upload-note", role: "status" });
    const saving = make("p");
    let running = null;
    let made = "";

    const offer = (parts, name) => {
      const blob = new Blob(parts, { type: "text/csv" });
      URL.revokeObjectURL(made);
      made = URL.createObjectURL(blob);
      saving.replaceChildren(make("a", { href: made, download: name }, say("server.save", { name, size: size(blob.size) })));
    };

    const send = async (file) => {
      running = new AbortController();
      button.textContent = say("server.stop");
      saving.replaceChildren();
      note.textContent = say("server.sending", { size: size(file.size) });
      bar.hidden = false;
      bar.removeAttribute("value");
      try {
        const total = await estimatedRows(file);
        const answer = await fetch(`${data.server.api}/file?probabilities=${all.checked}`, {
          method: "POST", headers: { "Content-Type": "text/csv" }, body: file, signal: running.signal,
        }).catch((error) => { throw error.name === "AbortError" ? error : new Error(say("server.away")); });
        if (!answer.ok) throw await problemOf(answer);
        const [parts, rows] = await received(answer, (n) => {
          bar.value = Math.min(1, n / Math.max(total, n));
          note.textContent = say("server.rows", { n: numbers.count(n), total: numbers.count(Math.max(total, n)) });
        });
        note.textContent = say("server.done", { n: numbers.count(rows) });
        bar.value = 1;
        offer(parts, file.name.replace(/\.\w+$/, "") + "-answers.csv");
      } catch (error) {
        note.textContent = running.signal.aborted ? say("server.stopped") : error.message;
        bar.hidden = true;
      } finally {
        running = null;
        button.textContent = say("server.start");
      }
    };

    field.addEventListener("change", () => { button.disabled = !field.files.length; });
    button.addEventListener("click", () => {
      if (running) running.abort();
      else if (field.files.length) send(field.files[0]);
    });
    root.querySelector(".life > p").after(make("div.card", {},
      make("p", {}, make("label", { for: "upload-file" }, say("server.choose"), " "), field, " ", button),
      make("p", {}, make("label.switch", {}, all, say("server.probabilities"))), bar, note, saving));
    const curl = root.querySelector("#naively-curl");
    curl.textContent = curl.textContent.replace("/api/", `${location.origin}/api/`);
  };

  section("server", { start });
})();
