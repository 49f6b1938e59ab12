// Step one: files in.

import { send } from "./api.js";
import { bytes, el, fill, many, name, say, short, unique } from "./dom.js";

const TABLE = {
  to: "tables",
  accept: ".csv,.tsv,.txt,.xlsx,.arff,.parquet,.arrow,.gz",
  heading: "h2",
  about: (table) => aboutTable(table),
};

// A place to drop one file on, or to choose one by keyboard.
export class Drop {
  // `kind`: where the file goes, what it may be, and how it is shown; a table, unless told otherwise.
  constructor(node, { title, hint, onFile, optional = false, kind = TABLE }) {
    Object.assign(this, { node, title, hint, onFile, optional, ...kind, found: null });
    this.show();
    node.addEventListener("dragover", (event) => {
      event.preventDefault();
      node.classList.add("over");
    });
    node.addEventListener("dragleave", () => node.classList.remove("over"));
    node.addEventListener("drop", (event) => {
      event.preventDefault();
      node.classList.remove("over");
      if (event.dataTransfer.files.length) this.take(event.dataTransfer.files[0]);
    });
  }

  show(problem = null) {
    this.node.className = `drop${this.found ? " full" : ""}`;
    const input = el("input", {
      type: "file",
      id: unique("file"),
      className: "hidden-text",
      accept: this.accept,
      onchange: () => input.files.length && this.take(input.files[0]),
    });
    fill(
      this.node,
      el(this.heading, {}, this.title),
      this.found ? this.about(this.found) : el("p", {}, el("small", {}, this.hint)),
      input,
      el(
        "div",
        { className: "buttons" },
        el(
          "label",
          { for: input.id, className: "button" },
          this.found ? "Choose another file" : "Choose a file",
        ),
        this.found && this.optional &&
          el("button", { type: "button", className: "quiet", onclick: () => this.set(null) }, "Remove"),
      ),
      problem && el("p", { className: "problem", role: "alert" }, problem),
    );
    input.setAttribute("aria-label", `${this.title}: choose a file`);
  }

  async take(file) {
    const bar = el("progress", { max: 1, value: 0, "aria-label": `sending ${short(file.name, 40)}` });
    const word = el("small", {}, "sending …");
    const stop = new AbortController();
    const cancel = el(
      "button",
      { type: "button", className: "quiet", onclick: () => stop.abort() },
      "Cancel",
    );
    fill(this.node, el(this.heading, {}, this.title), el("p", {}, name(file.name, 50)), bar, word, cancel);
    try {
      const found = await send(this.to, file, (share) => {
        bar.value = share;
        if (share === 1) {
          bar.removeAttribute("value");
          word.textContent = "reading …";
        }
      }, stop.signal);
      this.set(found);
      say(`${short(file.name, 60)} has arrived`);
    } catch (problem) {
      this.show(problem.message);
    }
  }

  // Show a file that the server has already, or none.
  put(found) {
    this.found = found;
    this.show();
  }

  set(found) {
    this.put(found);
    this.onFile(found);
  }
}

const aboutTable = (table) =>
  el(
    "p",
    {},
    name(table.name, 50),
    el("br"),
    el(
      "small",
      {},
      `${many(table.n_rows, "row")}, ${many(table.columns.length, "column")}, ${bytes(table.n_bytes)}`,
    ),
    attacked(table) && el("span", { className: "note attacked" }, attacked(table)),
  );

// Only a Parquet file says itself that cells of it were blanked on purpose.
function attacked({ name: file, attacked: before }) {
  if (before === null && !/poison/i.test(file)) return null;
  const index = short(before ?? `${file}.before.index`, 60);
  return `${
    before === null
      ? "If nullproof poison wrote this table, it also"
      : "nullproof poison blanked cells of this table and"
  } wrote ${index}, which holds the bins from before. This page makes bins anew, so points may seem certain again; nullproof certify --like ${index} says what the attack does.`;
}
