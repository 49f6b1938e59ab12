// The picture of a certificate: per label a bar from its least to its greatest support, on one
// logarithmic scale. The line marks the best support that some label has in every world; a point is
// certain if one bar alone reaches it.

import { count, el, name } from "./dom.js";

const TEN = Math.LN10;
// Where the scale begins if some support is 0, which no logarithm reaches.
const ZERO = 0.09;
const DIGITS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

const raised = (number) => [...String(number)].map((sign) => DIGITS[sign]).join("");

// A support as a multiple of the one that the line marks.
export function multiple(log, line) {
  if (log === null) return "0";
  const part = Math.exp(log - line);
  if (part >= 0.000995 && part < 9995) return String(Number(part.toPrecision(3)));
  let exponent = Math.floor((log - line) / TEN);
  let digits = Math.exp(log - line - exponent * TEN).toFixed(1);
  if (digits === "10.0") [digits, exponent] = ["1.0", exponent + 1];
  return `${digits}·10${raised(exponent)}`;
}

export function scaleOf(...supports) {
  const ends = supports.flat().flatMap((one) => [one.low, one.high]);
  const logs = ends.filter((log) => log !== null);
  if (!logs.length) return { left: -1, right: 0, start: 0, at: () => 0 };
  const [least, top] = [Math.min(...logs), Math.max(...logs)];
  const pad = Math.max((top - least) * 0.06, 0.05);
  const [left, right] = [least - pad, top + pad];
  const start = ends.includes(null) ? ZERO : 0;
  const along = (log) => Math.min(1, Math.max(0, (log - left) / (right - left)));
  return { left, right, start, at: (log) => (log === null ? 0 : start + (1 - start) * along(log)) };
}

// A picture whose bars move when other supports are shown in it.
export class Intervals {
  constructor() {
    this.rows = new Map();
    this.line = el("i", { className: "iv-line" });
    this.axis = el("div", { className: "iv-axis", "aria-hidden": "true" });
    this.body = el("div", { className: "iv-rows" });
    this.node = el("figure", { className: "iv" }, this.body, this.axis);
  }

  // `whole`: the ranges over all worlds, drawn pale behind those of fewer worlds.
  show(support, { scale = scaleOf(support), ghost = null, whole = null, word = "certain" } = {}) {
    const certain = support.filter((one) => one.possible).length === 1;
    const best = Math.max(...support.map((one) => (one.low === null ? -Infinity : one.low)));
    // Without a line, since every label may have no support at all, the greatest is the measure.
    const line = Number.isFinite(best) ? best : Math.max(...support.map((one) => one.high ?? -Infinity));
    const shown = new Set();
    support.forEach((one, place) => {
      const row = this.rows.get(one.label) ?? this.#row(one.label);
      shown.add(one.label);
      this.#move(row, one, { scale, line }, certain ? `winner is-${word}` : "rival");
      for (const [part, others] of [[row.ghost, ghost], [row.whole, whole]]) {
        const other = others?.find(({ label }) => label === one.label);
        part.hidden = !other;
        if (other) span(part, scale.at(other.low), scale.at(other.high));
      }
      row.node.style.order = place;
    });
    for (const [label, row] of this.rows) row.node.hidden = !shown.has(label);
    this.node.style.setProperty("--line", Number.isFinite(best) ? `${100 * scale.at(best)}%` : "0%");
    this.node.classList.toggle("no-line", !Number.isFinite(best));
    this.#ticks(scale, line);
    return this.node;
  }

  #row(label) {
    const row = {
      bar: el("i", { className: "iv-bar" }),
      ghost: el("i", { className: "iv-ghost", hidden: true }),
      whole: el("i", { className: "iv-whole", hidden: true }),
      range: el("span", { className: "iv-range" }),
    };
    row.node = el(
      "div",
      { className: "iv-row" },
      el("span", { className: "iv-label" }, name(label, 40)),
      el(
        "span",
        { className: "iv-track", "aria-hidden": "true" },
        row.whole,
        row.ghost,
        row.bar,
        el("i", { className: "iv-line" }),
      ),
      row.range,
    );
    this.rows.set(label, row);
    this.body.append(row.node);
    return row;
  }

  #move(row, one, { scale, line }, kind) {
    span(row.bar, scale.at(one.low), scale.at(one.high));
    row.bar.className = `iv-bar ${one.possible ? kind : "beaten"}${one.low === null ? " from-zero" : ""}`;
    const [low, high] = [multiple(one.low, line), multiple(one.high, line)];
    row.range.textContent = low === high ? low : `${low} to ${high}`;
  }

  // Powers of ten; where there are less than two, the ends say more.
  #ticks(scale, line) {
    const [first, last] = [scale.left, scale.right].map((end) => (end - line) / TEN);
    const powers = [];
    const step = Math.max(1, Math.ceil((last - first) / 6));
    for (let at = Math.ceil(first); at <= last; at += step) powers.push(at);
    const zero = scale.start ? [tick("0", 0, "first")] : [];
    if (powers.length > 1) {
      const shown = (
        at,
      ) => (at > -4 && at < 4 ? String(Number((10 ** at).toPrecision(1))) : `10${raised(at)}`);
      const ticks = powers.map((at) => tick(shown(at), scale.at(line + at * TEN)));
      return this.axis.replaceChildren(...zero, ...ticks);
    }
    const ends = [
      tick(multiple(scale.left, line), scale.start, "first"),
      tick(multiple(scale.right, line), 1, "last"),
    ];
    return this.axis.replaceChildren(...zero, ...ends);
  }
}

const tick = (text, at, className = "") => el("span", { className, css: { left: `${100 * at}%` } }, text);

function span(node, from, to) {
  node.style.left = `${100 * from}%`;
  node.style.width = `${100 * Math.max(to - from, 0.004)}%`;
}

export function legend(answer, { values, ownMissing, bias }) {
  const open = (cell) => Array.isArray(cell) || (cell === null && ownMissing === "any");
  const own = Object.values(values).some(open);
  const worlds = bias === 1 ? "every world" : "every world of this bias";
  const labels = answer.possible.slice(0, 8).flatMap((
    label,
    place,
  ) => [place ? ", " : "", name(label, 40)]);
  if (own) {
    // Of such a point each bar spans all ways to fill its holes, so bars may overlap and it be certain.
    return el(
      "p",
      { className: "iv-legend" },
      "This point has holes of its own, and its bars span every way to fill them. ",
      answer.certain
        ? ["Whatever they hold, ", labels, ` wins in ${worlds}.`]
        : ["It may be ", labels, "."],
    );
  }
  return el(
    "p",
    { className: "iv-legend" },
    answer.certain ? ["One bar alone reaches the line: ", labels, ` wins in ${worlds}.`] : [
      `${count(answer.possible.length)} bars reach the line: some world ${
        bias === 1 ? "" : "of this bias "
      }predicts each of `,
      labels,
      answer.possible.length > 8 ? ", …" : "",
      ".",
    ],
    bias < 1 && " Pale: the same over all worlds.",
    " Numbers are multiples of what the line marks.",
  );
}
