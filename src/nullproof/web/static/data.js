// Step one: files in, label and options chosen.

import { ask, send } from "./api.js";
import { $, bytes, choice, count, el, field, fill, many, name, say, short, unique } from "./dom.js";

const KINDS = { text: "text", number: "number", date: "date", boolean: "yes/no", candidates: "lists" };

export const OWN_HOLES = [["skip", "left out"], ["any", "may hold anything"]];

export const asNumber = (text) => (text.trim() === "" ? 1 : Number(text));

export const wrongBias = (bias) =>
  bias >= 0 && bias <= 1
    ? null
    : `The bias came as ${
      Number.isNaN(bias) ? "no number" : bias
    }; give a number from 0 (holes are like the known cells) to 1 (any values).`;

// A place to drop one file on, or to choose one by keyboard.
export class Drop {
  constructor(node, { title, hint, onTable, optional = false }) {
    Object.assign(this, { node, title, hint, onTable, optional, table: null });
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
    this.node.className = `drop${this.table ? " full" : ""}`;
    const input = el("input", {
      type: "file",
      id: unique("file"),
      className: "hidden-text",
      accept: ".csv,.tsv,.txt,.xlsx,.arff,.parquet,.arrow,.gz",
      onchange: () => input.files.length && this.take(input.files[0]),
    });
    const about = this.table
      ? el(
        "p",
        {},
        name(this.table.name, 50),
        el("br"),
        el(
          "small",
          {},
          `${many(this.table.n_rows, "row")}, ${many(this.table.columns.length, "column")}, ${
            bytes(this.table.n_bytes)
          }`,
        ),
      )
      : el("p", {}, el("small", {}, this.hint));
    fill(
      this.node,
      el("h2", {}, this.title),
      about,
      input,
      el(
        "div",
        { className: "buttons" },
        el(
          "label",
          { for: input.id, className: "button" },
          this.table ? "Choose another file" : "Choose a file",
        ),
        this.table && this.optional &&
          el("button", { type: "button", className: "quiet", onclick: () => this.set(null) }, "Remove"),
      ),
      problem && el("p", { className: "problem", role: "alert" }, problem),
    );
    input.setAttribute("aria-label", `${this.title}: choose a file`);
  }

  async take(file) {
    const bar = el("progress", { max: 1, value: 0, "aria-label": `sending ${short(file.name, 40)}` });
    const word = el("small", {}, "sending …");
    fill(this.node, el("h2", {}, this.title), el("p", {}, name(file.name, 50)), bar, word);
    try {
      const found = await send(file, (share) => {
        bar.value = share;
        if (share === 1) {
          bar.removeAttribute("value");
          word.textContent = "reading …";
        }
      });
      this.set(found);
      say(`${short(file.name, 60)} has arrived: ${many(found.n_rows, "row")}`);
    } catch (problem) {
      this.show(problem.message);
    }
  }

  set(found) {
    this.table = found;
    this.show();
    this.onTable(found);
  }
}

// The form of options; calls onOrder with the order of an analysis.
// The ways to bin that need a number.
const NUMBERED = ["uniform", "quantile"];

export class Options {
  constructor(node, onOrder) {
    this.node = node;
    this.onOrder = onOrder;
    node.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  show(train, preset = {}) {
    this.train = train;
    this.columns = train.columns.map((column) => column.name);
    this.label = choice(
      [["", "choose …"], ...this.columns.map((column) => [column, column])],
      preset.label ?? "",
      { required: true, onchange: () => this.#mark() },
    );
    this.missing = el("input", {
      type: "text",
      value: train.spellings.join(" "),
      placeholder: "unknown -9",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.alpha = el("input", { type: "text", value: "1", inputmode: "decimal", autocomplete: "off" });
    this.bins = el("input", { type: "text", value: "5", inputmode: "numeric", autocomplete: "off" });
    this.own_holes = choice(OWN_HOLES, "skip");
    this.bias = el("input", { type: "text", value: "1", inputmode: "decimal", autocomplete: "off" });
    this.binning = choice([
      ["mdl", "where the label changes"],
      ["uniform", "equal width"],
      ["quantile", "equally many rows"],
      ["none", "none: every number is a value"],
    ], "mdl");
    this.bins.disabled = true;
    this.binning.addEventListener("change", () => {
      this.bins.disabled = !NUMBERED.includes(this.binning.value);
    });
    this.ignore = new Map(train.columns.map((column) => {
      const box = el("input", {
        type: "checkbox",
        id: unique("column"),
        checked: preset.ignore ? preset.ignore.includes(column.name) : column.is_key,
        onchange: () => this.#mark(),
      });
      return [column.name, box];
    }));
    this.node.hidden = false;
    fill(
      this.node,
      el("h2", {}, "What to predict, and how"),
      el(
        "div",
        { className: "fields" },
        field("Column to predict", this.label),
        field(
          "Spellings of missing",
          this.missing,
          "besides empty, NA, ?, none, - and the like; with spaces between",
        ),
        field("Smoothing α", this.alpha, "1 as in scikit-learn, 0 as in the paper"),
        field("Bins of numbers", this.binning),
        field("How many bins", this.bins, "of equal width, or with equally many rows"),
        field("A point's own holes", this.own_holes, "cells that the point itself does not know"),
        field("Bias", this.bias, "how far holes may differ from known cells; 1: any values"),
      ),
      el(
        "details",
        { open: this.columns.length <= 12 },
        el("summary", {}, `Columns and first rows of ${short(train.name, 40)}`),
        this.#preview(train),
      ),
      el("p", { id: "order-problem", className: "problem", hidden: true, role: "alert" }),
      el(
        "div",
        { className: "buttons" },
        el("button", { type: "submit", className: "main" }, "Find out what is certain"),
      ),
    );
    this.#mark();
  }

  #preview(train) {
    const shown = train.columns.slice(0, 60);
    this.heads = new Map(
      shown.map((
        column,
      ) => [
        column.name,
        el(
          "th",
          { scope: "col" },
          el("label", {}, this.ignore.get(column.name), " ignore "),
          name(column.name, 30),
          el(
            "small",
            {},
            `${KINDS[column.type]}, ${column.n_missing ? `${count(column.n_missing)} empty` : "no holes"}`,
          ),
        ),
      ]),
    );
    const rows = train.preview.map((row) =>
      el(
        "tr",
        {},
        row.slice(0, shown.length).map((cell) =>
          el("td", cell === null ? { className: "hole" } : {}, cell === null ? "missing" : name(cell, 40))
        ),
      )
    );
    for (const [column, box] of this.ignore) box.setAttribute("aria-label", `ignore ${short(column, 60)}`);
    return [
      el("div", {
        className: "scroll preview",
        tabindex: "0",
        role: "region",
        "aria-label": "first rows of the table",
      }, el("table", {}, el("thead", {}, el("tr", {}, [...this.heads.values()])), el("tbody", {}, rows))),
      train.columns.length > shown.length &&
      el("p", {}, `… and ${many(train.columns.length - shown.length, "more column")}`),
    ];
  }

  #mark() {
    for (const [column, head] of this.heads) {
      const isLabel = column === this.label.value;
      head.classList.toggle("is-label", isLabel);
      this.ignore.get(column).disabled = isLabel;
    }
  }

  submit() {
    const bins = this.bins.disabled ? "" : this.bins.value.trim();
    const order = {
      table: this.train.id,
      label: this.label.value,
      alpha: this.alpha.value.trim() || "1",
      bins: bins === "" ? 5 : Number(bins),
      binning: this.binning.value,
      own_holes: this.own_holes.value,
      bias: asNumber(this.bias.value),
      missing: this.missing.value.split(/\s+/).filter(Boolean),
      ignore: this.columns.filter((column) =>
        this.ignore.get(column).checked && column !== this.label.value
      ),
      // What names the rows is left out unless it is kept.
      keep: this.train.columns
        .filter((column) => column.is_key && !this.ignore.get(column.name).checked)
        .map((column) => column.name)
        .filter((column) => column !== this.label.value),
    };
    if (!Number.isInteger(order.bins)) {
      return this.problem(`The number of bins came as ${bins}; give a whole number.`);
    }
    if (wrongBias(order.bias)) return this.problem(wrongBias(order.bias));
    this.problem(null);
    return this.onOrder(order);
  }

  problem(text) {
    const node = $("order-problem");
    node.hidden = !text;
    node.textContent = text ?? "";
  }
}

export const forget = (id) => ask(`analyses/${id}`, { method: "DELETE" }).catch(() => null);
