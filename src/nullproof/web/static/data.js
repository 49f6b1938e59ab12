// Step one: choose files.

import { send } from "./api.js";
import { button, bytes, el, fill, many, name, problem, say, short, unique } from "./dom.js";

const TABLE = {
  to: "tables",
  accept: ".csv,.tsv,.txt,.xlsx,.arff,.parquet,.arrow,.gz",
  heading: "h2",
  about: (table) => aboutTable(table),
};

// A place to drop one file, or to choose one by keyboard.
export class Drop {
  // `kind`: where the file goes, which types it accepts, and how it is shown; default: a table.
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

  show(wrong = null) {
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
        this.found && this.optional && button("Remove", () => this.set(null)),
      ),
      wrong && problem(wrong),
    );
    input.setAttribute("aria-label", `${this.title}: choose a file`);
  }

  async take(file) {
    const bar = el("progress", { max: 1, value: 0, "aria-label": `sending ${short(file.name, 40)}` });
    const word = el("small", {}, "sending …");
    // A second file replaces an upload in progress.
    this.stop?.abort();
    const stop = this.stop = new AbortController();
    fill(
      this.node,
      el(this.heading, {}, this.title),
      el("p", {}, name(file.name, 50)),
      bar,
      word,
      button("Cancel", () => stop.abort()),
    );
    try {
      const found = await send(this.to, file, (share) => {
        bar.value = share;
        if (share === 1) {
          bar.removeAttribute("value");
          word.textContent = "reading …";
        }
      }, stop.signal);
      if (this.stop !== stop) return;
      this.set(found);
      say(`${short(file.name, 60)} has arrived`);
    } catch (failed) {
      if (this.stop === stop) this.show(failed.message);
    }
  }

  // Show a file that the server already has, or none.
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
  );
