// Sections of the story: those that the report has too, and the files to take home.

import { count, el } from "./dom.js";

export function section(id, title, ...children) {
  return el(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    children,
  );
}

export function downloads(id, plan) {
  const files = [
    ["report.html", "Report", "one HTML file to send round"],
    ["certificates.csv", "Certificates, CSV", "every point, one row each"],
    ["certificates.json", "Certificates, JSON", "the same for programs"],
    ["document.json", "Document, JSON", "all that this page says"],
    ...(plan
      ? [["worksheet.csv", "Worksheet, CSV", "cells to look up; nullproof clean --answers takes it back"]]
      : []),
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
