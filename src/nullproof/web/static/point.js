// One point: its intervals, its worlds, and an editor that shows at once what a change does.

import { ask } from "./api.js";
import { choice, count, debounced, el, fill, many, name, percent, say, table, unique } from "./dom.js";
import { Intervals, legend, scaleOf } from "./intervals.js";

const MISSING = "\u0000missing";

export class PointPanel {
  constructor(node, analysis, features, changes) {
    Object.assign(this, { node, analysis, features, changes });
    this.order = 0;
    this.judgeSoon = debounced(150, () => this.judge());
  }

  async open(point, { focus = true } = {}) {
    const order = ++this.order;
    try {
      const answer = await ask(`analyses/${this.analysis}/points/${point}`);
      if (order !== this.order) return;
      this.point = point;
      this.original = answer;
      this.values = { ...answer.values };
      this.#frame();
      if (this.changes().length) await this.judge();
      else this.#answer(answer);
    } catch (problem) {
      fill(this.node, el("p", { className: "problem", role: "alert" }, problem.message));
    }
    this.node.hidden = false;
    if (focus) {
      this.node.querySelector("h3")?.focus({ preventScroll: true });
      this.node.scrollIntoView({ block: "nearest" });
    }
  }

  refresh() {
    if (this.original) this.judge();
  }

  async judge() {
    const order = ++this.order;
    try {
      const answer = await ask(`analyses/${this.analysis}/point`, {
        method: "POST",
        body: { values: this.values, changes: this.changes() },
      });
      if (order !== this.order) return;
      this.#answer(answer);
    } catch (problem) {
      if (order !== this.order) return;
      this.problem.textContent = problem.message;
      this.problem.hidden = false;
    }
  }

  #frame() {
    this.picture = new Intervals();
    this.verdict = el("p", { className: "verdict" });
    this.state = el("p", { className: "note", hidden: true });
    this.problem = el("p", { className: "problem", role: "alert", hidden: true });
    this.more = el("div", { className: "why" });
    this.legend = el("div");
    fill(
      this.node,
      el("h3", { tabindex: "-1" }, `Point ${count(this.point)}`),
      this.verdict,
      this.state,
      this.picture.node,
      this.legend,
      this.problem,
      el(
        "form",
        {
          className: "editor",
          onsubmit: (event) => event.preventDefault(),
          "aria-label": "values of this point",
        },
        el("h4", {}, "Change a value, watch the bars"),
        el(
          "div",
          { className: "cells" },
          this.features.slice(0, 100).map((feature) => this.#cell(feature)),
        ),
        this.features.length > 100 &&
          el("p", {}, `… and ${many(this.features.length - 100, "more feature")}, left as they are`),
        el(
          "div",
          { className: "buttons" },
          el("button", {
            type: "button",
            className: "quiet",
            onclick: () => this.#reset(),
          }, "Back to the original values"),
        ),
      ),
      this.more,
    );
  }

  #cell(feature) {
    const control = this.#control(feature);
    control.id = unique("cell");
    return el(
      "div",
      { className: "field" },
      el("label", { for: control.id }, name(feature.name, 30)),
      control,
    );
  }

  #control(feature) {
    const now = this.values[feature.name];
    const set = (value) => {
      this.values[feature.name] = value;
      this.judgeSoon();
    };
    if (Array.isArray(now)) {
      return el("input", {
        type: "text",
        value: now.join(" | "),
        onchange: (event) => set(event.target.value.split("|").map((part) => part.trim())),
      });
    }
    if (feature.binned || feature.n_values > feature.values.length) {
      const isNumber = feature.kind === "number";
      const type = isNumber ? "number" : "text";
      return el("input", {
        type,
        step: "any",
        value: now === null ? "" : String(now),
        placeholder: "missing",
        autocomplete: "off",
        oninput: (event) =>
          set(
            event.target.value === "" ? null : isNumber ? Number(event.target.value) : event.target.value,
          ),
      });
    }
    const text = now === null ? MISSING : String(now);
    const known = feature.values.includes(text) || now === null;
    const options = [
      ...feature.values.map((value) => [value, value]),
      ...(known ? [] : [[text, `${text} (never seen)`]]),
      [MISSING, "(missing)"],
    ];
    return choice(options, text, {
      onchange: (event) => set(event.target.value === MISSING ? null : event.target.value),
    });
  }

  #reset() {
    this.values = { ...this.original.values };
    this.open(this.point);
  }

  #answer(answer) {
    this.problem.hidden = true;
    const edited =
      Object.entries(this.values).filter(([key, value]) =>
        JSON.stringify(value) !== JSON.stringify(this.original.values[key])
      ).length;
    const changed = this.changes().length;
    const moved = edited || changed;
    this.picture.show(answer.support, {
      scale: scaleOf(answer.support, moved ? this.original.support : []),
      ghost: moved ? this.original.support : null,
    });
    fill(this.legend, legend(answer));
    fill(this.verdict, ...verdict(answer));
    this.verdict.className = `verdict ${answer.certain ? "sure" : "open"}`;
    this.state.hidden = !moved;
    this.state.textContent = [
      edited && `${many(edited, "value")} of this point changed`,
      changed && "on the table with the cells changed below",
    ].filter(Boolean).join(", ") + "; dashed outlines show the original.";
    fill(this.more, why(answer));
    say(answer.certain ? `certain: ${answer.label}` : `open: ${answer.possible.join(" or ")}`);
  }
}

function verdict(answer) {
  if (!answer.certain) return ["Open: ", list(answer.possible)];
  const radius = answer.radius === null
    ? "no attack can change that"
    : `${many(answer.radius, "blanked cell")} would break it`;
  return ["Certain: ", name(answer.label, 40), el("small", {}, ` ${radius}`)];
}

const list = (labels) =>
  labels.slice(0, 8).flatMap((label, place) => [place ? " or " : "", name(label, 40)]).concat(
    labels.length > 8 ? [` or ${labels.length - 8} more`] : [],
  );

function why(answer) {
  return [
    answer.odds &&
    [
      el("h4", {}, "If chance fills the holes"),
      el(
        "ul",
        { className: "bars" },
        answer.odds.map((row) =>
          el(
            "li",
            {},
            el("span", { className: "bar-name" }, name(row.label, 40)),
            el(
              "span",
              { className: "track", "aria-hidden": "true" },
              el("i", { className: "could", css: { width: `${100 * row.upper}%` } }),
              el("i", { className: "odds", css: { width: `${100 * row.lower}%` } }),
            ),
            el("span", { className: "bar-value" }, odds(row)),
          )
        ),
      ),
    ],
    answer.worlds?.length > 0 && [el("h4", {}, "Two worlds that disagree"), worlds(answer)],
  ];
}

// The holes that the two worlds fill differently; a column per world.
function worlds({ worlds: [one, other], differences, n_differences_left_off: left }) {
  const filled = ({ value, takes }) => el("td", {}, takes ? "" : "not ", name(value, 30));
  return [
    table(["missing cells", "one world", "another world"], [
      ...differences.map((row) =>
        el(
          "tr",
          {},
          el(
            "th",
            { scope: "row" },
            `${count(row.n_cells)} of `,
            name(row.feature, 30),
            ", label ",
            name(row.label, 30),
          ),
          filled(row.first),
          filled(row.second),
        )
      ),
      el(
        "tr",
        { className: "predicts" },
        el("th", { scope: "row" }, "prediction"),
        [one, other].map((world) =>
          el("td", {}, list(world.winners), world.winners.length > 1 && " (a tie)")
        ),
      ),
    ], { label: "two worlds that disagree", className: "worlds" }),
    left > 0 && el("p", {}, el("small", {}, `and ${many(left, "more sort")} of cells`)),
  ];
}

function odds({ lower, upper }) {
  const [low, high] = [percent(lower), percent(upper)];
  return low === high ? low : `${low} to ${high}`;
}
