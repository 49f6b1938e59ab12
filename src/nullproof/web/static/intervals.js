// The picture of a certificate: per label a bar from its least to its greatest support, on one
// logarithmic scale. The line marks the best support that some label has in every world; a point is
// certain if one bar alone reaches it.

import { count, el, name } from "./dom.js";

const TEN = Math.LN10;

export function power(log) {
  if (log === null) return "0";
  let exponent = Math.floor(log / TEN);
  let digits = Math.exp(log - exponent * TEN).toFixed(2);
  if (digits === "10.00") [digits, exponent] = ["1.00", exponent + 1];
  return `${digits}e${exponent}`;
}

export function scaleOf(...supports) {
  const logs = supports.flat().flatMap((one) => [one.low, one.high]).filter((log) => log !== null);
  if (!logs.length) return { left: -1, right: 0, at: () => 0 };
  let [left, right] = [Math.min(...logs), Math.max(...logs)];
  const pad = Math.max((right - left) * 0.06, 0.05);
  [left, right] = [left - pad, right + pad];
  return {
    left,
    right,
    at: (log) => (log === null ? 0 : Math.min(1, Math.max(0, (log - left) / (right - left)))),
  };
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
    const shown = new Set();
    support.forEach((one, place) => {
      const row = this.rows.get(one.label) ?? this.#row(one.label);
      shown.add(one.label);
      this.#move(row, one, scale, certain ? `winner is-${word}` : "rival");
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
    this.#ticks(scale);
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

  #move(row, one, scale, kind) {
    span(row.bar, scale.at(one.low), scale.at(one.high));
    row.bar.className = `iv-bar ${one.possible ? kind : "beaten"}${one.low === null ? " from-zero" : ""}`;
    row.range.textContent = one.low === one.high
      ? power(one.low)
      : `${power(one.low)} to ${power(one.high)}`;
  }

  #ticks(scale) {
    const [first, last] = [Math.ceil(scale.left / TEN), Math.floor(scale.right / TEN)];
    if (last - first < 1) return this.axis.replaceChildren(...this.#ends(scale));
    const step = Math.max(1, Math.ceil((last - first + 1) / 6));
    const ticks = [];
    for (let at = first; at <= last; at += step) {
      ticks.push(
        el(
          "span",
          { css: { left: `${100 * scale.at(at * TEN)}%` } },
          "10",
          el("sup", {}, String(at).replace("-", "−")),
        ),
      );
    }
    return this.axis.replaceChildren(...ticks);
  }

  // Less than two powers of ten: the ends say more.
  #ends(scale) {
    const shown = (log) => (log > -7 ? Number(Math.exp(log).toPrecision(2)).toString() : power(log));
    return [
      el("span", { className: "first" }, shown(scale.left)),
      el("span", { className: "last" }, shown(scale.right)),
    ];
  }
}

function span(node, from, to) {
  node.style.left = `${100 * from}%`;
  node.style.width = `${100 * Math.max(to - from, 0.004)}%`;
}

export function legend(answer, { values, ownHoles, bias }) {
  const open = (cell) => Array.isArray(cell) || (cell === null && ownHoles === "any");
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
  );
}
