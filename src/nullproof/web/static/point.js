// One point: its intervals, its worlds, and an editor that shows at once what a change does.

import { ask } from "./api.js";
import { shownBias, verdictAt } from "./bias.js";
import { choice, count, debounced, el, fill, many, name, percent, say, table, unique } from "./dom.js";
import { Intervals, legend, scaleOf } from "./intervals.js";

const MISSING = "\u0000missing";

export class PointPanel {
  constructor(node, analysis, features, { changes, bias, settings }) {
    Object.assign(this, { node, analysis, features, changes, bias, settings });
    this.order = 0;
    this.judgeSoon = debounced(150, () => this.judge());
    this.measureSoon = debounced(60, () => this.#measure().catch((problem) => this.#told(problem)));
  }

  async open(point, { focus = true } = {}) {
    const order = ++this.order;
    try {
      const answer = await ask(`analyses/${this.analysis}/points/${point}`);
      if (order !== this.order) return;
      Object.assign(this, { point, original: answer, values: { ...answer.values } });
      this.#frame();
      this.#appear(focus);
      if (this.changes().length) await this.judge();
      else await this.#answer(answer);
    } catch (problem) {
      if (order !== this.order) return;
      fill(this.node, el("p", { className: "problem", role: "alert" }, problem.message));
      this.#appear(false);
    }
  }

  #appear(focus) {
    this.node.hidden = false;
    if (!focus) return;
    this.node.querySelector("h3").focus({ preventScroll: true });
    this.node.scrollIntoView({ block: "nearest" });
  }

  refresh() {
    if (this.original) this.judge();
  }

  // The verdict follows from the tolerance at once; the bars at another bias are asked for.
  move(bias) {
    this.bias = bias;
    if (!this.answer) return;
    this.#verdict();
    this.measureSoon();
  }

  async judge() {
    const order = ++this.order;
    try {
      const answer = await ask(`analyses/${this.analysis}/point`, {
        method: "POST",
        body: { values: this.values, changes: this.changes() },
      });
      if (order === this.order) await this.#answer(answer);
    } catch (problem) {
      if (order === this.order) this.#told(problem);
    }
  }

  #told(problem) {
    this.problem.textContent = problem.message;
    this.problem.hidden = false;
  }

  get #edited() {
    return Object.entries(this.values).filter(([key, value]) =>
      JSON.stringify(value) !== JSON.stringify(this.original.values[key])
    ).length;
  }

  // The ranges at the bias, and over all worlds; those of the original too, if something was changed.
  async #measure() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    const [bias, changes] = [this.bias, this.changes()];
    const at = (values, changes, bias) =>
      ask(`analyses/${this.analysis}/support`, { method: "POST", body: { values, changes, bias }, signal });
    const moved = this.#edited || changes.length;
    try {
      const [now, whole, original] = await Promise.all([
        at(this.values, changes, bias),
        this.settings.bias === 1 ? this.answer : at(this.values, changes, 1),
        moved ? at(this.original.values, [], bias) : null,
      ]);
      if (!signal.aborted) this.#bars(now, whole, original);
    } catch (problem) {
      if (problem.name !== "AbortError") throw problem;
    }
  }

  #bars(now, whole, original) {
    this.problem.hidden = true;
    const [edited, changed] = [this.#edited, this.changes().length];
    this.state.hidden = !edited && !changed;
    this.state.textContent = [
      edited && `${many(edited, "value")} of this point changed`,
      changed && "on the table with the cells changed below",
    ].filter(Boolean).join(", ") + "; dashed outlines show the original.";
    this.picture.show(now.support, {
      scale: scaleOf(now.support, whole.support, original?.support ?? []),
      ghost: original?.support,
      whole: now.bias === 1 ? null : whole.support,
      word: this.answer.tolerance === 1 ? "certain" : "holds",
    });
    fill(
      this.legend,
      legend(now, { values: this.values, ownMissing: this.settings.own_missing, bias: now.bias }),
    );
  }

  #frame() {
    this.picture = new Intervals();
    this.verdict = el("p", { className: "verdict" });
    this.state = el("p", { className: "note", hidden: true });
    this.problem = el("p", { className: "problem", role: "alert", hidden: true });
    this.more = el("div", { className: "why" });
    this.legend = el("div");
    this.bins = new Map();
    fill(
      this.node,
      el(
        "div",
        { className: "look", tabindex: "0", role: "group", "aria-label": "verdict and bars" },
        el(
          "h3",
          { tabindex: "-1" },
          `Point ${count(this.point)}`,
          this.original.key !== null && [": ", name(this.original.key, 40)],
        ),
        this.verdict,
        this.picture.node,
      ),
      this.state,
      this.legend,
      this.original.truth !== null &&
        el("p", { className: "soft" }, "Its true label is ", name(this.original.truth, 40), "."),
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

  get #unknown() {
    return this.settings.own_missing === "skip" ? "not known, left out" : "not known, any value";
  }

  #cell(feature) {
    const control = this.#control(feature);
    control.id = unique("cell");
    const bin = feature.binned ? el("small", { id: unique("bin") }) : null;
    if (bin) {
      this.bins.set(feature.name, bin);
      control.setAttribute("aria-describedby", bin.id);
    }
    return el(
      "div",
      { className: "field" },
      el("label", { for: control.id }, name(feature.name, 30)),
      control,
      bin,
    );
  }

  // The bin of each number or date, where it is written otherwise.
  #tellBins() {
    for (const [feature, node] of this.bins) {
      const bin = this.answer.bins[feature];
      const same = bin === undefined || bin === String(this.values[feature]);
      node.textContent = same ? "" : bin.startsWith("[") ? bin : `(${bin})`;
    }
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
        placeholder: this.#unknown,
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
      [MISSING, this.#unknown],
    ];
    return choice(options, text, {
      onchange: (event) => set(event.target.value === MISSING ? null : event.target.value),
    });
  }

  #reset() {
    this.values = { ...this.original.values };
    this.open(this.point);
  }

  async #answer(answer) {
    this.answer = answer;
    this.problem.hidden = true;
    this.#tellBins();
    this.#verdict();
    await this.#measure();
  }

  #verdict() {
    const verdict = verdictAt(this.answer.tolerance, this.bias);
    const told = words(this.answer, verdict);
    fill(this.verdict, ...told);
    this.verdict.className = `verdict is-${verdict}`;
    fill(this.more, why(this.answer, verdict));
    say(this.verdict.textContent);
  }
}

function words(answer, verdict) {
  const { predicted, possible, tolerance, tolerance_rival: rival, radius } = answer;
  if (verdict === "certain") {
    const unbroken = answer.not_worked_out
      ? "how many cells would break it is not worked out"
      : "no attack can change that";
    const breaks = radius === null ? unbroken : `${many(radius, "blanked cell")} would break it`;
    return ["Certain: ", name(predicted ?? answer.label, 40), el("small", {}, ` ${breaks}`)];
  }
  if (tolerance === null) {
    return ["Open: ", list(possible), el("small", {}, " even if missing cells are like the known ones")];
  }
  const then = rival === null ? [] : ["; then ", name(rival, 40), " catches up"];
  const far = `up to a bias of ${shownBias(tolerance)}`;
  return verdict === "holds"
    ? ["Holds: ", name(predicted, 40), el("small", {}, ` ${far}`, then)]
    : ["Open: ", list(possible), el("small", {}, " ", name(predicted, 40), ` holds ${far}`, then)];
}

const list = (labels) =>
  labels.slice(0, 8).flatMap((label, place) => [place ? " or " : "", name(label, 40)]).concat(
    labels.length > 8 ? [` or ${labels.length - 8} more`] : [],
  );

function why(answer, verdict) {
  return [
    answer.odds &&
    [
      el(
        "h4",
        {},
        "If chance fills the missing cells, as the known ones of each label are: share of the worlds",
      ),
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
    answer.explanation?.terms.length > 0 && [
      el(
        "h4",
        {},
        "What speaks for ",
        name(answer.explanation.label, 24),
        " and what for ",
        name(answer.explanation.rival, 24),
      ),
      speaks(answer.explanation),
    ],
    answer.worlds?.length > 0 && [
      el("h4", {}, "Two worlds that disagree"),
      verdict === "holds" && el("p", { className: "soft" }, "At least one of them is beyond this bias."),
      worlds(answer),
    ],
  ];
}

// Each cell by the known ones, and between which two it lies over all worlds.
function speaks({ terms, n_terms_left_off: left }) {
  const between = ({ least, greatest }) => (least === greatest ? least : `${least} to ${greatest}`);
  return [
    table(
      ["cell", "by the known cells", "over all worlds"],
      terms.map((row) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name(row.feature, 30), ": ", name(row.value, 30)),
          el("td", {}, row.said),
          el("td", {}, between(row)),
        )
      ),
      { label: "what speaks for the label", className: "worlds" },
    ),
    left > 0 && el("p", {}, el("small", {}, `and ${many(left, "cell")} that weigh less`)),
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
