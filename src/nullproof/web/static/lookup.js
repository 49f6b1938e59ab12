// Cells to look up: the worksheet out, and back in when it is filled in.

import { Drop } from "./data.js";
import { el, many, name } from "./dom.js";
import { file, section } from "./story.js";

const SHEET = {
  to: "worksheets",
  accept: ".csv,.xlsx",
  heading: "h3",
  about: (sheet) =>
    el("p", {}, name(sheet.name, 50), el("br"), el("small", {}, many(sheet.n_lines, "line"))),
};

// `onAnswers` is given the worksheet that came back.
export function lookup(id, onAnswers) {
  const place = el("div");
  new Drop(place, {
    title: "Back in",
    hint: "Drop the worksheet here, CSV or Excel. Lines without an answer, or with ?, are left out.",
    kind: SHEET,
    onFile: onAnswers,
  });
  return section(
    "lookup",
    "Look cells up",
    el(
      "p",
      {},
      "Take the worksheet, fill in its column “value”, and drop it here: everything is worked out again with the answers, beside the analysis from before. Your files stay as they are.",
    ),
    el(
      "div",
      { className: "drops" },
      el(
        "div",
        { className: "drop full" },
        el("h3", {}, "Out"),
        el(
          "p",
          {},
          el("small", {}, "The missing cells that matter, the most useful first, with what each may hold."),
        ),
        el("div", { className: "buttons" }, file(id, "worksheet.csv", "Worksheet, CSV")),
      ),
      place,
    ),
  );
}

// What an analysis with answers says on top, and the way back.
export const answersBefore = ({ answers }, onBack) =>
  answers.length
    ? [el(
      "div",
      { className: "note" },
      el(
        "p",
        {},
        `All of this is about your table with the answers of ${many(answers.length, "worksheet")}.`,
      ),
      el(
        "button",
        { type: "button", className: "quiet", onclick: onBack },
        "Back to the table without them",
      ),
    )]
    : [];
