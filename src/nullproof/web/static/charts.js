// The two charts that are worth hovering over, drawn by Vega (served from this machine).

import { el, span } from "./dom.js";

let library = null;
const drawn = new Map();

function load() {
  library ??= import("/vega.js").then(() => window.vegaEmbed);
  return library;
}

// Asks for the colour as it comes out in light or dark: a variable itself holds both.
function css(name) {
  const probe = el("i", { hidden: true, css: { color: `var(${name})` } });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function config() {
  const [ink, soft, line] = [css("--ink"), css("--soft"), css("--line")];
  return {
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: soft,
      titleColor: soft,
      domainColor: line,
      tickColor: line,
      gridColor: line,
      labelFontSize: 12,
      titleFontSize: 12,
      titleFontWeight: "normal",
      labelLimit: 160,
    },
    legend: { labelColor: soft, titleColor: soft, titleFontWeight: "normal" },
    text: { color: ink },
  };
}

async function draw(node, make) {
  const embed = await load();
  const chart = await embed(node, {
    ...make(),
    config: config(),
    autosize: { type: "fit", contains: "padding" },
  }, {
    ast: true,
    actions: false,
    renderer: "canvas",
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true, theme: "page" },
  });
  node.querySelector("canvas")?.setAttribute("aria-hidden", "true");
  return chart;
}

function chart(label, width, make) {
  const node = el("div", {
    className: "chart",
    role: "img",
    "aria-label": label,
    css: { "max-width": `${width}rem` },
  }, el("p", { className: "waiting" }, "drawing …"));
  const redraw = async () => {
    (await drawn.get(node))?.finalize();
    const next = draw(node, make).catch(() => {
      node.hidden = true;
      return null;
    });
    drawn.set(node, next);
    return next;
  };
  redraw();
  drawn.set(node, drawn.get(node) ?? null);
  charts.add({ node, redraw });
  return node;
}

const charts = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const one of charts) {
    if (one.node.isConnected) one.redraw();
    else charts.delete(one);
  }
});

export function heatMap(holes) {
  const cells = holes.features.flatMap((row, y) =>
    row.per_label.map((cell, x) => ({
      y,
      x,
      feature: row.feature,
      label: holes.labels[x],
      share: cell.share ?? 0,
      missing: `${cell.n_missing.toLocaleString("en")} of ${holes.n_rows[x].toLocaleString("en")} cells`,
    }))
  );
  const names = (list) => `[${list.map((text) => JSON.stringify(cut(text))).join(",")}][datum.value]`;
  return chart(
    "Share of missing cells per feature and label; the table below has the numbers",
    20 + 7 * holes.labels.length,
    () => ({
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      data: { values: cells },
      width: "container",
      height: Math.max(60, 30 * holes.features.length + 40),
      mark: { type: "rect", cornerRadius: 3, stroke: css("--page"), strokeWidth: 2 },
      encoding: {
        x: {
          field: "x",
          type: "ordinal",
          title: null,
          axis: {
            orient: "top",
            labelExpr: names(holes.labels),
            labelAngle: 0,
            ticks: false,
            domain: false,
          },
        },
        y: {
          field: "y",
          type: "ordinal",
          title: null,
          axis: { labelExpr: names(holes.features.map((row) => row.feature)), ticks: false, domain: false },
        },
        color: {
          field: "share",
          type: "quantitative",
          title: "missing",
          scale: { range: [css("--track"), css("--heat")], domainMin: 0, interpolate: "lab" },
          legend: { format: ".1%", gradientLength: 90 },
        },
        tooltip: [
          { field: "feature", title: "feature" },
          { field: "label", title: "label" },
          { field: "missing", title: "missing" },
          { field: "share", title: "share", format: ".1%" },
        ],
      },
    }),
  );
}

export function radiusChart(fragility) {
  const bars = fragility.histogram.map((bar, x) => ({
    x,
    points: bar.n_points,
    cells: span(bar.start, bar.stop),
  }));
  return chart("How many certain points have which radius; the table below has the numbers", 44, () => ({
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    data: { values: bars },
    width: "container",
    height: 220,
    mark: { type: "bar", color: css("--certain"), cornerRadiusEnd: 3 },
    encoding: {
      x: {
        field: "x",
        type: "ordinal",
        title: "cells to blank before the prediction is not certain",
        axis: {
          labelExpr: `[${
            bars.map((bar) => JSON.stringify(bar.cells.replace(" to ", "–"))).join(",")
          }][datum.value]`,
          labelAngle: 0,
          labelOverlap: true,
          ticks: false,
        },
      },
      y: {
        field: "points",
        type: "quantitative",
        title: "certain points",
        axis: { values: whole(Math.max(...bars.map((bar) => bar.points))), format: ",d" },
      },
      tooltip: [{ field: "cells", title: "cells to blank" }, {
        field: "points",
        title: "points",
        format: ",",
      }],
    },
  }));
}

// A few whole numbers for an axis of counts.
function whole(most) {
  const step = Math.max(1, Math.ceil(most / 4));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, place) => place * step);
}

const cut = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);
