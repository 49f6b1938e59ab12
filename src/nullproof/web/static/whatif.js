// What if: blank or fill training cells, and see certainty change against the original.

import { ask } from "./api.js";
import { choice, count, debounced, el, field, fill, many, name, percent, say, short } from "./dom.js";
import { pointButton } from "./story.js";

// One change in words.
export const told = (change) => [
  `${change.do === "blank" ? "blanked" : "filled"} ${many(change.n_cells, "cell")} of `,
  name(change.feature, 30),
  change.do === "blank" ? " that held " : " with ",
  name(change.value, 30),
  " in rows labelled ",
  name(change.label, 30),
];

export class WhatIf {
  constructor(analysis, { labels, features }, { bias, onPoint, onChange }) {
    Object.assign(this, { analysis, labels, features, bias, onPoint, onChange });
    this.changes = [];
    this.order = 0;
    this.counts = new Map();
    this.askSoon = debounced(150, () => this.#ask());
    this.node = el("div", { className: "what-if" });
    this.#frame();
  }

  #frame() {
    const act = () => this.#offer();
    this.do = choice([["blank", "Blank known cells"], ["fill", "Fill missing cells"]], "blank", {
      onchange: act,
    });
    this.feature = choice(this.features.map((feature, place) => [String(place), feature.name]), "0", {
      onchange: act,
    });
    this.label = choice(this.labels.map((label) => [label, label]), this.labels[0], { onchange: act });
    this.value = choice([], "", { onchange: act });
    this.n_cells = el("input", { type: "number", min: 1, value: 1 });
    this.there = el("small", { id: "cells-there" });
    this.n_cells.setAttribute("aria-describedby", "cells-there");
    this.add = el("button", { type: "submit", className: "main" }, "Change them");
    this.problem = el("p", { className: "problem", role: "alert", hidden: true });
    this.list = el("ol", { className: "changes" });
    this.answer = el("div", { className: "outcome" });
    const counted = field("How many", this.n_cells);
    counted.append(this.there);
    fill(
      this.node,
      el(
        "form",
        {
          onsubmit: (event) => {
            event.preventDefault();
            this.#add();
          },
        },
        el(
          "div",
          { className: "fields" },
          field("What to do", this.do),
          field("Feature", this.feature),
          field("In rows labelled", this.label),
          field("Value", this.value),
          counted,
        ),
        el(
          "div",
          { className: "buttons" },
          this.add,
          this.undo = el("button", {
            type: "button",
            className: "quiet",
            onclick: () => this.#set(this.changes.slice(0, -1)),
          }, "Undo the last"),
          this.reset = el(
            "button",
            { type: "button", className: "quiet", onclick: () => this.clear() },
            "Back to the original table",
          ),
        ),
      ),
      this.problem,
      this.list,
      this.answer,
    );
    this.#offer();
    this.#show();
  }

  // The number of cells that can be changed, with what was changed before.
  async #offer() {
    const place = Number(this.feature.value);
    if (!this.counts.has(place)) this.counts.set(place, ask(`analyses/${this.analysis}/features/${place}`));
    let counts;
    try {
      counts = await this.counts.get(place);
    } catch (problem) {
      return this.#told(problem.message);
    }
    if (place !== Number(this.feature.value)) return undefined;
    const chosen = this.value.value;
    if (this.offered !== place) {
      this.offered = place;
      fill(
        this.value,
        counts.values.map((value) => el("option", { value, selected: value === chosen }, short(value, 60))),
      );
    }
    const label = this.labels.indexOf(this.label.value);
    const value = counts.values.indexOf(this.value.value);
    const isBlank = this.do.value === "blank";
    const mine = this.changes.filter((change) =>
      change.feature === counts.name && change.label === this.label.value
    );
    const moved = mine.reduce(
      (sum, change) =>
        sum +
        (change.do === "blank" ? 1 : -1) * change.n_cells *
          (isBlank && change.value !== this.value.value ? 0 : 1),
      0,
    );
    const room = isBlank ? counts.known[value]?.[label] - moved : counts.n_missing[label] + moved;
    this.n_cells.max = Math.max(room, 1);
    if (Number(this.n_cells.value) > room) this.n_cells.value = Math.max(room, 1);
    this.add.disabled = !(room > 0);
    this.there.textContent = isBlank
      ? `${many(room, "cell")} known to hold it`
      : `${many(room, "cell")} missing`;
    return undefined;
  }

  #add() {
    this.#set([...this.changes, {
      do: this.do.value,
      feature: this.features[Number(this.feature.value)].name,
      label: this.label.value,
      value: this.value.value,
      n_cells: Number(this.n_cells.value),
    }]);
  }

  clear() {
    this.#set([]);
  }

  #set(changes) {
    this.changes = changes;
    this.#show();
    this.#offer();
    this.askSoon();
  }

  #show() {
    this.undo.disabled = this.reset.disabled = !this.changes.length;
    fill(
      this.list,
      this.changes.map((change, place) =>
        el(
          "li",
          {},
          told(change),
          " ",
          el("button", {
            type: "button",
            className: "link",
            "aria-label": `take back change ${place + 1}`,
            onclick: () => this.#set(this.changes.filter((_, at) => at !== place)),
          }, "take back"),
        )
      ),
    );
    if (!this.changes.length) fill(this.answer, el("p", { className: "soft" }, "Nothing is changed yet."));
  }

  async #ask() {
    const order = ++this.order;
    this.onChange();
    this.#told(null);
    if (!this.changes.length) {
      say("the original table");
      return;
    }
    try {
      const answer = await ask(`analyses/${this.analysis}/what-if`, {
        method: "POST",
        body: { changes: this.changes },
      });
      if (order === this.order) this.#answer(answer);
    } catch (problem) {
      if (order === this.order) this.#told(problem.message);
    }
  }

  #answer(found) {
    const share = (part) => (found.n_points ? part / found.n_points : 0);
    const word = this.bias === 1 ? "certain" : `certain within a bias of ${this.bias}`;
    const [was, now] = [share(found.n_certain_before), share(found.n_certain)];
    say(
      `${count(found.n_certain)} of ${count(found.n_points)} certain, before ${
        count(found.n_certain_before)
      }`,
    );
    fill(
      this.answer,
      el(
        "p",
        { className: "step" },
        el("b", {}, `${count(found.n_certain)} of ${many(found.n_points, "prediction")} ${word}`),
        ` (${percent(now)}); before ${count(found.n_certain_before)} (${percent(was)}). `,
        `${count(found.n_gained)} gained, ${count(found.n_lost)} lost; ${
          many(found.n_missing, "missing cell")
        }, before ${count(found.n_missing_before)}.`,
      ),
      el(
        "div",
        {
          className: "share-bar",
          role: "img",
          "aria-label": `certain now ${percent(now)}, before ${percent(was)}`,
        },
        el("i", { className: "sure", css: { width: `${100 * now}%` } }),
        el("i", { className: "was", css: { left: `${100 * was}%` } }),
      ),
      found.changed.length > 0 && el(
        "ul",
        { className: "moved" },
        found.changed.slice(0, 12).map((row) =>
          el(
            "li",
            {},
            pointButton(row.point, this.onPoint),
            row.was_certain && !row.certain
              ? " is no longer certain: "
              : !row.was_certain && row.certain
              ? " is certain now: "
              : " may now be ",
            row.possible.slice(0, 5).flatMap((label, place) => [place ? " or " : "", name(label, 30)]),
          )
        ),
      ),
      found.changed.length + found.n_changed_left_off > 12 &&
        el("p", {}, `… and ${many(found.changed.length + found.n_changed_left_off - 12, "more point")}`),
      found.n_points_left_off > 0 &&
        el(
          "p",
          { className: "note" },
          `Only the first ${count(found.n_points)} points were certified again.`,
        ),
    );
  }

  #told(problem) {
    this.problem.hidden = !problem;
    this.problem.textContent = problem ?? "";
  }
}
