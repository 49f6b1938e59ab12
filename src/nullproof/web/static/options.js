// Step two: the label and the options of an analysis; rare options are folded away.

import { ask } from "./api.js";
import { $, choice, count, debounced, el, field, fill, many, name, short, unique } from "./dom.js";

const KINDS = { text: "text", number: "number", date: "date", boolean: "yes/no" };
// The binnings that need a number.
const NUMBERED = ["uniform", "quantile"];
const SHOWN_COLUMNS = 60;

const typed = (value, more = {}) =>
  el("input", { type: "text", value, autocomplete: "off", spellcheck: "false", ...more });

export class Options {
  constructor(node, onOrder) {
    Object.assign(this, { node, onOrder, order: 0 });
    this.readSoon = debounced(300, () => this.#read());
    node.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  // `preset`: an earlier order, or parts of one.
  show(train, preset = {}) {
    this.train = train;
    this.columns = train.columns.map((column) => column.name);
    const columns = this.columns.map((column) => [column, column]);
    this.label = choice([["", "choose …"], ...columns], preset.label ?? train.label ?? "", {
      required: true,
      onchange: () => this.#mark(),
    });
    this.missing = typed((preset.missing ?? []).join(" "), {
      placeholder: "unknown -9",
      oninput: () => this.readSoon(),
    });
    this.alpha = typed(String(preset.alpha ?? 1), { inputmode: "decimal" });
    this.bins = typed(String(preset.bins ?? 5), { inputmode: "numeric" });
    this.own_missing = choice(
      [["skip", "left out"], ["any", "may hold anything"]],
      preset.own_missing ?? "skip",
    );
    this.weights = choice(
      [["learned", "learned from the table"], ["equal", "equal: plain Naive Bayes"]],
      preset.weights ?? "learned",
    );
    this.prior = choice(
      [["", "frequencies of the labels"], ["uniform", "all labels equal"]],
      preset.prior ?? "",
    );
    this.binning = choice([
      ["mdl", "where the label changes"],
      ["uniform", "equal width"],
      ["quantile", "equally many rows"],
      ["none", "none: every number is a value"],
    ], preset.binning ?? "mdl");
    const numbered = () => {
      this.bins.disabled = !NUMBERED.includes(this.binning.value);
    };
    this.binning.addEventListener("change", numbered);
    numbered();
    this.key = choice([["", "their positions"], ...columns], preset.key ?? "", {
      onchange: () => this.#mark(),
    });
    this.unlabelled = preset.unlabelled ?? "refuse";
    this.ignore = new Map(train.columns.map((column) => [
      column.name,
      el("input", {
        type: "checkbox",
        id: unique("column"),
        checked: preset.ignore?.includes(column.name) ||
          (column.is_key && !preset.keep?.includes(column.name)),
        onchange: () => this.#mark(),
      }),
    ]));
    // Columns where "missing" is itself an answer.
    this.answers = new Map(train.columns.map((column) => [
      column.name,
      el("input", {
        type: "checkbox",
        id: unique("answer"),
        checked: (preset.missing_is_value ?? []).includes(column.name),
        "aria-label": `missing is an answer in ${short(column.name, 60)}`,
      }),
    ]));
    this.#frame();
    if (this.missing.value) this.#read();
  }

  #frame() {
    this.told = el("div", { className: "label-told", role: "status" });
    this.preview = el("div");
    this.node.hidden = false;
    fill(
      this.node,
      el("h2", {}, "What to predict, and how"),
      el(
        "div",
        { className: "fields" },
        field(
          "Column to predict",
          this.label,
          this.train.label && this.label.value === this.train.label
            ? "proposed; choose another column if this is wrong"
            : null,
        ),
        field("What names the rows", this.key, "shown beside each row; not a feature"),
      ),
      el(
        "details",
        { className: "advanced" },
        el("summary", {}, "More options"),
        el(
          "div",
          { className: "fields" },
          field(
            "Texts that mean missing",
            this.missing,
            "besides empty, NA, ?, none, - and the like; separated by spaces",
          ),
          field("A row's own missing cells", this.own_missing, "cells of the rows to predict"),
          field("Weights of the columns", this.weights),
          field("Prior", this.prior, "all equal: rare labels are predicted more often"),
          field("Smoothing α", this.alpha, "1 as in scikit-learn, 0 as in the paper"),
          field("Bins of numbers", this.binning),
          field("How many bins", this.bins, "of equal width, or with equally many rows"),
        ),
      ),
      this.told,
      el(
        "details",
        { open: this.columns.length <= 12 },
        el("summary", {}, `Columns and first rows of ${short(this.train.name, 40)}`),
        this.preview,
      ),
      el("p", { id: "order-problem", className: "problem", hidden: true, role: "alert" }),
      el(
        "div",
        { className: "buttons" },
        el("button", { type: "submit", className: "main" }, "Find out what is certain"),
      ),
    );
    this.#draw();
  }

  get spellings() {
    return this.missing.value.split(/\s+/).filter(Boolean);
  }

  // Describe the table again with these texts as missing.
  async #read() {
    const order = ++this.order;
    const asked = new URLSearchParams(this.spellings.map((text) => ["missing", text]));
    try {
      const found = await ask(`tables/${this.train.id}?${asked}`);
      if (order !== this.order || found.id !== this.train.id) return;
      // With other missing cells, a column may start or stop looking like row names.
      found.columns.forEach((column, place) => {
        if (column.is_key !== this.train.columns[place].is_key) {
          this.ignore.get(column.name).checked = column.is_key;
        }
      });
      this.train = found;
      this.#draw();
    } catch (problem) {
      if (order === this.order) this.problem(problem.message);
    }
  }

  #draw() {
    fill(this.preview, this.#rows());
    this.#mark();
  }

  #rows() {
    const shown = this.train.columns.slice(0, SHOWN_COLUMNS);
    this.heads = new Map(shown.map((column) => [
      column.name,
      el(
        "th",
        { scope: "col" },
        el("label", {}, this.ignore.get(column.name), " ignore "),
        name(column.name, 30),
        el(
          "small",
          {},
          `${KINDS[column.type]}, ${
            column.n_missing ? `${count(column.n_missing)} missing` : "none missing"
          }`,
        ),
        column.n_missing ? el("label", {}, this.answers.get(column.name), " missing is an answer") : "",
      ),
    ]));
    const rows = this.train.preview.map((row) =>
      el(
        "tr",
        {},
        row.slice(0, shown.length).map((cell) =>
          el(
            "td",
            cell === null ? { className: "missing" } : {},
            cell === null ? "missing" : name(cell, 40),
          )
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
      this.train.columns.length > shown.length &&
      el("p", {}, `… and ${many(this.train.columns.length - shown.length, "more column")}`),
    ];
  }

  #mark() {
    for (const [column, head] of this.heads) {
      head.classList.toggle("is-label", column === this.label.value);
      this.ignore.get(column).disabled = column === this.label.value || column === this.key.value;
    }
    fill(this.told, this.#aboutLabel());
  }

  // Report problems with the label before anything runs.
  #aboutLabel() {
    const column = this.train.columns.find(({ name: own }) => own === this.label.value);
    if (!column) return null;
    const [rows, missing] = [this.train.n_rows, column.n_unlabelled];
    const known = Math.min(rows - missing, 10_000);
    const [distinct, called] = [column.n_distinct, name(column.name, 40)];
    if (distinct < 2) {
      return el(
        "p",
        { className: "problem" },
        called,
        ` holds ${many(distinct, "value")}, so there is nothing to predict; choose another column.`,
      );
    }
    return [
      (distinct > 100 || (distinct > 20 && distinct > known / 3)) &&
      el(
        "p",
        { className: "problem" },
        called,
        ` has ${many(distinct, "different value")} in ${
          many(known, "row")
        }, and each would be a label. A label needs many rows: choose a column with few values.`,
      ),
      missing > 0 && this.#aboutUnlabelled(missing),
    ];
  }

  #aboutUnlabelled(missing) {
    const dropped = this.unlabelled === "drop";
    const has = missing === 1 ? "has" : "have";
    return el(
      "p",
      { className: "note" },
      dropped
        ? `${many(missing, "row")} without a label ${
          missing === 1 ? "is" : "are"
        } left out of the training table. `
        : `${many(missing, "row")} ${has} no label and cannot be used for training. `,
      el("button", {
        type: "button",
        className: "quiet",
        onclick: () => {
          this.unlabelled = dropped ? "refuse" : "drop";
          this.#mark();
          this.told.querySelector(".note button")?.focus();
        },
      }, dropped ? "Take them back" : `Leave out the ${many(missing, "row")} without a label`),
    );
  }

  #chosen(wanted) {
    return this.train.columns
      .filter((column) => wanted(column, this.ignore.get(column.name).checked))
      .map((column) => column.name);
  }

  submit() {
    const bins = this.bins.disabled ? "" : this.bins.value.trim();
    const own = (column) => column !== this.label.value && column !== this.key.value;
    const order = {
      table: this.train.id,
      label: this.label.value,
      alpha: this.alpha.value.trim() || "1",
      bins: bins === "" ? 5 : Number(bins),
      binning: this.binning.value,
      own_missing: this.own_missing.value,
      weights: this.weights.value,
      prior: this.prior.value || null,
      missing: this.spellings,
      missing_is_value: this.columns.filter((column) =>
        this.answers.get(column).checked && own(column) && !this.ignore.get(column).checked
      ),
      unlabelled: this.unlabelled,
      key: this.key.value || null,
      // Columns that name the rows are left out unless they are kept.
      ignore: this.#chosen((column, ignored) => ignored && !column.is_key).filter(own),
      keep: this.#chosen((column, ignored) => !ignored && column.is_key).filter(own),
    };
    if (!Number.isInteger(order.bins)) {
      return this.problem(`The number of bins is ${bins}; give a whole number.`);
    }
    this.problem(null);
    return this.onOrder(order);
  }

  problem(text) {
    const node = $("order-problem");
    node.hidden = !text;
    node.textContent = text ?? "";
  }
}
