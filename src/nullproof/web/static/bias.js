// The bias: a slider, what holds at each of its steps, and the curve of all of them.

import { count, el, fill, many, percent, table, unique } from "./dom.js";

// More steps where most predictions part.
const STEPS = [0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1];
const TICKS = {
  0: "",
  0.01: "minor",
  0.05: "",
  0.1: "minor",
  0.2: "",
  0.3: "minor",
  0.5: "",
  0.75: "minor",
  1: "",
};
const FINE = 4;
const SVG = "http://www.w3.org/2000/svg";

// What a tolerance says at a bias; null: not even a bias of 0 decides.
export function verdictAt(tolerance, bias) {
  if (tolerance === 1) return "certain";
  return tolerance !== null && tolerance >= bias ? "holds" : "open";
}

// Rounded down, because a prediction does not hold at more than its tolerance.
export function shownBias(number) {
  if (number > 0 && number < 0.001) return "under 0.001";
  const near = Number(number.toFixed(3));
  return String(near > number ? Number((near - 0.001).toFixed(3)) : near);
}

const points = (bias) => Number((100 * bias).toPrecision(4));

export function words(bias) {
  if (bias === 0) return "holds if missing cells are spread just like the known ones";
  if (bias === 1) return "holds whatever the missing cells are: only what is certain";
  return `holds if missing cells are within ${points(bias)} percentage ${
    points(bias) === 1 ? "point" : "points"
  } of the known ones`;
}

function example(bias) {
  if (bias === 0) {
    return "If 30 % of the known cells of a column and label hold a value, so do 30 % of its missing cells.";
  }
  if (bias === 1) return "Missing cells may hold any values at all, in any shares: the strict verdict.";
  const [low, high] = [Math.max(0, 30 - points(bias)), Math.min(100, 30 + points(bias))];
  return `If 30 % of the known cells of a column and label hold a value, then ${shown(low)} to ${
    shown(high)
  } % of its missing cells may.`;
}

const shown = (number) => String(Number(number.toPrecision(4)));

export class BiasSlider {
  constructor(onMove) {
    this.onMove = onMove;
  }

  // The biases to ask the server about: every step of the slider, and some between for the curve.
  static asked(threshold = 0.05) {
    const steps = [...new Set([...STEPS, threshold])].sort((one, other) => one - other);
    const fine = steps.flatMap((from, place) =>
      place + 1 === steps.length
        ? [from]
        : Array.from({ length: FINE }, (_, k) => k ? from + (steps[place + 1] - from) * k / FINE : from)
    );
    return new URLSearchParams(fine.map((bias) => ["bias", String(bias)]));
  }

  show(told) {
    this.told = told;
    this.steps = told.at.filter((_, place) => place % FINE === 0);
    const start = this.steps.findIndex((step) => step.bias === told.threshold);
    this.input = el("input", {
      type: "range",
      id: unique("bias"),
      min: 0,
      max: this.steps.length - 1,
      step: 1,
      value: String(start),
      className: "bias-input",
      "aria-describedby": "bias-example",
      oninput: () => this.#moved(),
    });
    this.words = el("p", { className: "bias-words" });
    this.example = el("p", { className: "soft", id: "bias-example" });
    this.tally = el("ul", { className: "tally" });
    this.bar = el("div", { className: "bias-bar", "aria-hidden": "true" });
    this.right = el("p", { className: "bias-right", hidden: true });
    this.plots = el("div", { className: "bias-plots" }, curve(told), told.n_labelled && accuracies(told));
    this.node = el(
      "div",
      { className: "bias", role: "group", "aria-label": "bias" },
      el("div", { className: "bias-said" }, this.words, this.example, this.bar, this.tally, this.right),
      el(
        "div",
        { className: "bias-drawn" },
        this.plots,
        el("label", { for: this.input.id, className: "hidden-text" }, "Bias"),
        this.input,
        ticks(this.steps),
        el(
          "p",
          { className: "bias-ends", "aria-hidden": "true" },
          el("span", {}, "like the known cells"),
          el("span", {}, "any values"),
        ),
      ),
      numbers(told, this.steps),
    );
    this.#draw();
    return this.node;
  }

  get bias() {
    return this.steps[Number(this.input.value)].bias;
  }

  #moved() {
    this.#draw();
    this.onMove(this.bias);
  }

  #draw() {
    const step = this.steps[Number(this.input.value)];
    const { n_points: all, n_certain: certain } = this.told;
    const counts = [
      ["certain", certain, "in every world"],
      ["holds", step.n_hold - certain, `at a bias of ${step.bias}`],
      ["open", step.n_open, "depend on the holes"],
    ];
    fill(this.words, el("b", {}, `Bias ${step.bias}`), el("span", {}, `A prediction ${words(step.bias)}.`));
    this.example.textContent = example(step.bias);
    fill(
      this.tally,
      counts.map(([verdict, number, means]) =>
        el(
          "li",
          { className: `is-${verdict}`, "data-count": number },
          el("b", {}, count(number)),
          el("span", {}, verdict === "holds" && number !== 1 ? "hold" : verdict),
          el("small", {}, means),
        )
      ),
    );
    if (!this.bar.children.length) {
      fill(
        this.bar,
        counts.map(([verdict]) => el("i", { className: `is-${verdict}` })),
      );
    }
    counts.forEach(([, number], place) => {
      this.bar.children[place].style.width = `${all ? 100 * number / all : 0}%`;
    });
    this.#told(step);
    this.plots.style.setProperty("--at", `${100 * Number(this.input.value) / (this.steps.length - 1)}%`);
    this.input.style.setProperty("--at", this.plots.style.getPropertyValue("--at"));
    this.input.setAttribute(
      "aria-valuetext",
      `${step.bias}: ${words(step.bias)}; ${count(step.n_hold)} of ${many(all, "prediction")} hold, ${
        count(step.n_open)
      } open`,
    );
  }

  #told(step) {
    this.right.hidden = !this.told.n_labelled;
    const whole = this.told.n_labelled === this.told.n_points
      ? ""
      : ` (of ${many(this.told.n_labelled ?? 0, "point")} with a label)`;
    // Of nothing no share is right.
    const shares = [[step.accuracy_hold, " of those that hold"], [step.accuracy_open, " of the open ones"]]
      .filter(([share]) => share !== null)
      .map(([share, of]) => [el("b", {}, percent(share)), of]);
    fill(
      this.right,
      "Right are ",
      shares.flatMap((part, place) => [place ? " and " : "", part]),
      `${whole}.`,
    );
  }
}

function draw(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}

function plot(label, title, shapes, { className, names = [] }) {
  const node = draw("svg", {
    viewBox: "0 0 100 100",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": label,
  });
  node.append(...shapes);
  return el(
    "figure",
    { className: `bias-plot ${className}` },
    el("figcaption", {}, title),
    el(
      "div",
      { className: "bias-frame" },
      node,
      names,
      el("i", { className: "bias-mark", "aria-hidden": "true" }),
    ),
  );
}

// Exact at each bias that was asked; the fall between two of them is drawn in their middle.
function stairs(shares) {
  const last = Math.max(shares.length - 1, 1);
  const x = (place) => Number((100 * place / last).toFixed(3));
  const y = (share) => Number((100 - 100 * share).toFixed(3));
  let path = "";
  shares.forEach((share, place) => {
    if (share === null) return;
    const joined = place > 0 && shares[place - 1] !== null;
    path += joined ? `H${x(place - 0.5)}V${y(share)}H${x(place)}` : `M${x(place)} ${y(share)}`;
  });
  return path;
}

function curve(told) {
  const all = Math.max(told.n_points, 1);
  const line = stairs(told.at.map((step) => step.n_hold / all));
  const sure = 100 - 100 * told.n_certain / all;
  const [first, last] = [told.at[0], told.at[told.at.length - 1]];
  return plot(
    `How many of ${many(told.n_points, "prediction")} hold: ${
      count(first.n_hold)
    } at a bias of 0, falling to ${count(last.n_hold)} at 1; the table below has the numbers`,
    "predictions that hold, against bias",
    [
      draw("path", { d: `${line}V100H0Z`, class: "area-holds" }),
      draw("rect", { x: 0, y: sure, width: 100, height: 100 - sure, class: "area-certain" }),
      draw("path", { d: line, class: "line" }),
    ],
    { className: "holding", names: named(told) },
  );
}

// The names of the areas, where there is room for them.
function named(told) {
  const all = Math.max(told.n_points, 1);
  const [sure, most, least] = [told.n_certain, told.at[0].n_hold, told.at[told.at.length - 1].n_hold]
    .map((number) => number / all);
  const areas = [
    ["certain", sure, { left: 0, bottom: 0 }],
    ["hold", most - sure, { left: 0, bottom: `${100 * sure}%` }],
    ["open", 1 - least, { right: 0, top: 0 }],
  ];
  return areas.map(([text, share, css]) =>
    share > 0.16 && el("span", { className: "area-name", "aria-hidden": "true", css }, text)
  );
}

function accuracies(told) {
  return plot(
    "How many predictions are right, among those that hold and among the open ones; the table below has the numbers",
    [
      "right: ",
      el("span", { className: "key-hold" }, "of what holds"),
      " ",
      el("span", { className: "key-open" }, "of the open"),
    ],
    [
      draw("path", { d: stairs(told.at.map((step) => step.accuracy_open)), class: "line-open" }),
      draw("path", { d: stairs(told.at.map((step) => step.accuracy_hold)), class: "line-hold" }),
    ],
    { className: "rightness" },
  );
}

function ticks(steps) {
  const last = steps.length - 1;
  return el(
    "div",
    { className: "bias-ticks", "aria-hidden": "true" },
    steps.map(({ bias }, place) =>
      bias in TICKS &&
      el("span", { className: TICKS[bias], css: { left: `${100 * place / last}%` } }, String(bias))
    ),
  );
}

function numbers(told, steps) {
  const labelled = told.n_labelled > 0;
  const number = (text) => el("td", { className: "number" }, text);
  return el(
    "details",
    { className: "bias-numbers" },
    el("summary", {}, "The numbers"),
    table(
      ["bias", "hold", "open", ...(labelled ? ["right of what holds", "right of the open"] : [])],
      steps.map((step) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, String(step.bias)),
          number(count(step.n_hold)),
          number(count(step.n_open)),
          labelled && [number(percent(step.accuracy_hold)), number(percent(step.accuracy_open))],
        )
      ),
      { label: "how many predictions hold at which bias" },
    ),
  );
}
