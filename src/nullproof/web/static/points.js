// All points, some at a time; a click opens one.

import { ask } from "./api.js";
import { shownBias, verdictAt } from "./bias.js";
import { choice, count, debounced, el, field, fill, many, name, table } from "./dom.js";

const SIZE = 12;

export class PointList {
  constructor(analysis, labels, { bias, ownMissing, labelled, named, onPoint }) {
    Object.assign(this, {
      analysis,
      bias,
      ownMissing,
      labelled,
      onPoint,
      offset: 0,
      order: 0,
      chosen: null,
    });
    this.loadSoon = debounced(120, () => this.load());
    const start = () => {
      this.offset = 0;
      this.load();
    };
    const kinds = ["all", "certain", "holds", "open"].map((kind) => [kind, kind]);
    this.verdict = choice(kinds, "all", { onchange: start });
    this.label = choice([["", "any"], ...labels.map((label) => [`=${label}`, label])], "", {
      onchange: start,
    });
    this.find = el("input", {
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: named ? "name or value" : "number or value",
      oninput: () => {
        this.offset = 0;
        this.loadSoon();
      },
      onkeydown: (event) => event.key === "Enter" && this.#jump(),
    });
    this.sort = choice([["point", "by position"], ["tolerance", "least tolerance first"]], "point", {
      onchange: start,
    });
    this.right = choice([["", "right or wrong"], ["true", "right"], ["false", "wrong"]], "", {
      onchange: start,
    });
    this.body = el("div");
    this.node = el(
      "div",
      { className: "all-points" },
      el(
        "div",
        { className: "fields" },
        field("Which points", this.verdict),
        field("Possible label", this.label),
        field("Find", this.find, "Enter opens it"),
        field("Order", this.sort),
        labelled && field("Prediction", this.right),
      ),
      this.body,
    );
  }

  async load() {
    const order = ++this.order;
    const asked = new URLSearchParams({ verdict: this.verdict.value, offset: this.offset, limit: SIZE });
    asked.set("bias", this.bias);
    asked.set("sort", this.sort.value);
    if (this.find.value.trim()) asked.set("find", this.find.value.trim());
    if (this.right.value) asked.set("right", this.right.value);
    if (this.label.value) asked.set("label", this.label.value.slice(1));
    try {
      const page = await ask(`analyses/${this.analysis}/points?${asked}`);
      if (order === this.order) this.#show(page);
      return page;
    } catch (problem) {
      fill(this.body, el("p", { className: "problem", role: "alert" }, problem.message));
      return null;
    }
  }

  // Enter opens what was typed: any point of the table by its number or name, else the first one found.
  async #jump() {
    this.offset = 0;
    const page = await this.load();
    if (page?.points.length) this.onPoint(page.points[0].point);
  }

  // The rows that are shown change at once; which rows belong here is asked for.
  move(bias) {
    this.bias = bias;
    for (const row of this.rows ?? []) fill(row.cell, verdict(row.line, bias));
    if (this.verdict.value === "all") return;
    this.offset = 0;
    this.loadSoon();
  }

  mark(point) {
    this.chosen = point;
    for (const row of this.body.querySelectorAll("tr[data-point]")) {
      row.classList.toggle("chosen", Number(row.dataset.point) === point);
    }
  }

  #show(page) {
    this.rows = [];
    if (!page.n_points) return fill(this.body, el("p", {}, "There is no such point."));
    const last = Math.min(this.offset + SIZE, page.n_points);
    return fill(
      this.body,
      table(["point", "predicted", "verdict", "rival"], page.points.map((row) => this.#row(row)), {
        label: "points and their verdicts",
        className: "list",
      }),
      el(
        "div",
        { className: "buttons paging" },
        this.#step("Previous", -SIZE, this.offset > 0),
        el("span", {}, `${count(this.offset + 1)} to ${count(last)} of ${many(page.n_points, "point")}`),
        this.#step("Next", SIZE, last < page.n_points),
      ),
    );
  }

  #row(line) {
    const cell = el("td", {}, verdict(line, this.bias));
    this.rows.push({ line, cell });
    return el(
      "tr",
      {
        "data-point": line.point,
        className: line.point === this.chosen ? "chosen" : null,
        onclick: () => this.onPoint(line.point),
      },
      el(
        "td",
        {},
        el(
          "button",
          { type: "button", className: "link", "aria-label": `open point ${line.point}` },
          count(line.point),
        ),
        line.key !== null && el("small", { className: "own" }, name(line.key, 24)),
      ),
      el(
        "td",
        {},
        line.predicted === null ? el("span", { className: "soft" }, "a tie") : name(line.predicted, 30),
        line.truth !== null && line.truth !== line.predicted &&
          el("small", { className: "own" }, "really ", name(line.truth, 30)),
        line.n_own_missing > 0 && el("small", { className: "own" }, holes(line, this.ownMissing)),
      ),
      cell,
      el(
        "td",
        {},
        line.tolerance_rival === null
          ? el("span", { className: "soft" }, "–")
          : name(line.tolerance_rival, 30),
      ),
    );
  }

  #step(text, by, enabled) {
    return el("button", {
      type: "button",
      className: "quiet",
      disabled: !enabled,
      onclick: () => {
        this.offset += by;
        this.load();
      },
    }, text);
  }
}

function verdict(line, bias) {
  const now = verdictAt(line.tolerance, bias);
  const much = line.tolerance !== null && now !== "certain";
  return [
    el("span", { className: `chip is-${now}` }, now),
    much &&
    el(
      "small",
      { className: "up-to" },
      ` ${now === "open" ? "holds " : ""}up to ${shownBias(line.tolerance)}`,
    ),
  ];
}

const holes = (line, ownMissing) =>
  `${count(line.n_own_missing)} not known${ownMissing === "skip" ? ", left out" : ""}`;
