// All points, some at a time; a click opens one.

import { ask } from "./api.js";
import { choice, count, el, field, fill, many, name, table } from "./dom.js";

const SIZE = 12;

export class PointList {
  constructor(analysis, labels, onPoint) {
    Object.assign(this, { analysis, onPoint, offset: 0, order: 0, chosen: null });
    const start = () => {
      this.offset = 0;
      this.load();
    };
    this.verdict = choice([["open", "open"], ["certain", "certain"], ["all", "all"]], "open", {
      onchange: start,
    });
    this.label = choice([["", "any"], ...labels.map((label) => [`=${label}`, label])], "", {
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
      ),
      this.body,
    );
  }

  async load() {
    const order = ++this.order;
    const asked = new URLSearchParams({ verdict: this.verdict.value, offset: this.offset, limit: SIZE });
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

  mark(point) {
    this.chosen = point;
    for (const row of this.body.querySelectorAll("tr[data-point]")) {
      row.classList.toggle("chosen", Number(row.dataset.point) === point);
    }
  }

  #show(page) {
    if (!page.n_points) return fill(this.body, el("p", {}, "There is no such point."));
    const last = Math.min(this.offset + SIZE, page.n_points);
    return fill(
      this.body,
      table(["point", "verdict", "possible labels"], page.points.map((row) => this.#row(row)), {
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

  #row(row) {
    return el(
      "tr",
      {
        "data-point": row.point,
        className: row.point === this.chosen ? "chosen" : null,
        onclick: () => this.onPoint(row.point),
      },
      el(
        "td",
        {},
        el(
          "button",
          { type: "button", className: "link", "aria-label": `open point ${row.point}` },
          count(row.point),
        ),
      ),
      el(
        "td",
        {},
        el(
          "span",
          { className: `chip ${row.certain ? "sure" : "open"}` },
          row.certain ? "certain" : "open",
        ),
      ),
      el(
        "td",
        {},
        row.possible.slice(0, 6).flatMap((label, place) => [place ? ", " : "", name(label, 30)]),
        row.possible.length > 6 && ` and ${row.possible.length - 6} more`,
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
