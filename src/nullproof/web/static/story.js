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

// A button that downloads one of the files of an analysis.
export const file = (id, own, title) =>
  el("a", {
    className: "button",
    href: `/api/analyses/${id}/files/${own}`,
    download: `nullproof-${own}`,
  }, title);

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
      files.map(([own, title, what]) => el("li", {}, file(id, own, title), el("small", {}, what))),
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
