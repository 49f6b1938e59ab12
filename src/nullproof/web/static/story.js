// The report's document, told in its own order.

import { heatMap, radiusChart } from "./charts.js";
import { count, el, many, name, percent, span, table } from "./dom.js";

export function section(id, title, ...children) {
  return el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    children,
  );
}

export function holes(told) {
  const { features, labels, n_complete: whole } = told.holes;
  if (!features.length) {
    return section(
      "holes",
      "Where the holes are",
      el("p", {}, "Nowhere: every cell is known, so there is only one world."),
    );
  }
  return section(
    "holes",
    "Where the holes are",
    el(
      "p",
      {},
      `Share of missing cells per feature and label. ${many(whole, "feature")} without holes ${
        whole === 1 ? "is" : "are"
      } not shown.`,
    ),
    heatMap(told.holes),
    more(
      "The numbers",
      table(
        ["feature", ...labels.map((label) => name(label, 30)), "all"],
        features.map((row) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, name(row.feature, 40)),
            row.per_label.map((cell) =>
              el("td", { className: "number" }, `${count(cell.n_missing)} (${percent(cell.share)})`)
            ),
            el("td", { className: "number" }, `${count(row.n_missing)} (${percent(row.share)})`),
          )
        ),
        { label: "missing cells per feature and label" },
      ),
    ),
    told.holes.n_left_off > 0 &&
      el("p", {}, `… and ${many(told.holes.n_left_off, "more feature")} with fewer holes.`),
  );
}

export function fragility(told, onPoint) {
  const { fragility: frail } = told;
  if (!frail.n_certain) {
    return section(
      "fragility",
      "How fragile the certain ones are",
      el("p", {}, "No prediction is certain, so there is nothing to break."),
    );
  }
  return section(
    "fragility",
    "How fragile the certain ones are",
    el(
      "p",
      {},
      "The radius of a point is the fewest training cells that must be blanked before its prediction is not certain. ",
      frail.least === null
        ? "No attack exists on any certain point."
        : `Here it runs from ${count(frail.least)} to ${count(frail.greatest)}, with ${
          count(frail.median)
        } in the middle`,
      frail.least !== null && frail.n_unbreakable
        ? `; ${many(frail.n_unbreakable, "point")} cannot be broken by any attack.`
        : frail.least !== null && ".",
    ),
    frail.histogram.length > 0 &&
      el(
        "div",
        { className: "pair" },
        el(
          "div",
          {},
          radiusChart(frail),
          more(
            "The numbers",
            table(
              ["cells to blank", "certain points"],
              frail.histogram.map((bar) =>
                el(
                  "tr",
                  {},
                  el("td", {}, span(bar.start, bar.stop)),
                  el("td", { className: "number" }, count(bar.n_points)),
                )
              ),
              { label: "histogram of the radius" },
            ),
          ),
        ),
        el(
          "div",
          {},
          el("h3", { className: "level" }, "The weakest"),
          table(
            ["point", "certain label", "rival", "cells to blank"],
            frail.weakest.map((row) =>
              el(
                "tr",
                {},
                el("td", {}, pointButton(row.point, onPoint)),
                el("td", {}, name(row.label, 40)),
                el("td", {}, name(row.rival, 40)),
                el("td", { className: "number" }, count(row.radius)),
              )
            ),
            { label: "the weakest certain points" },
          ),
        ),
      ),
  );
}

export function downloads(id) {
  const files = [
    ["report.html", "Report", "one HTML file to send round"],
    ["certificates.csv", "Certificates, CSV", "every point, one row each"],
    ["certificates.json", "Certificates, JSON", "the same for programs"],
    ["document.json", "Document, JSON", "all that this page says"],
  ];
  return section(
    "downloads",
    "Take it with you",
    el(
      "ul",
      { className: "files" },
      files.map(([file, title, what]) =>
        el(
          "li",
          {},
          el("a", {
            className: "button",
            href: `/api/analyses/${id}/files/${file}`,
            download: `nullproof-${file}`,
          }, title),
          el("small", {}, what),
        )
      ),
    ),
  );
}

// A section that the server drew for the report. It is markup of our own, with the data escaped in
// it; the policy of this page runs no script that it might hold.
export function drawn(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const part = template.content.firstElementChild;
  if (part) globalThis.nullproofReport?.improve(part);
  return part;
}

export const pointButton = (point, onPoint) =>
  el(
    "button",
    { type: "button", className: "link", onclick: () => onPoint(point) },
    `point ${count(point)}`,
  );

const more = (title, ...children) => el("details", {}, el("summary", {}, title), children);
