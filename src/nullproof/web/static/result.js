// One finished analysis: five parts as tabs, rendered by the server, plus interactive elements.

import { ask } from "./api.js";
import { Drop } from "./data.js";
import { button, el, many, name, say } from "./dom.js";
import { Rows } from "./rows.js";

const FILES = [
  ["report.html", "Report", "one HTML file to share"],
  ["certificates.csv", "Predictions", "CSV, one line per row"],
  ["document.json", "All numbers", "JSON, everything in the report"],
];
const SHEET = {
  to: "worksheets",
  accept: ".csv,.xlsx",
  heading: "h3",
  about: (sheet) => el("p", {}, name(sheet.name, 50), ` (${many(sheet.n_lines, "line")})`),
};

export class Result {
  constructor(id, order, { start }) {
    Object.assign(this, { id, order, start, parts: new Map(), tabs: new Map() });
  }

  async load(named) {
    const [document_, sections] = await Promise.all([
      ask(`analyses/${this.id}/document`),
      ask(`analyses/${this.id}/sections`),
    ]);
    Object.assign(this, { document: document_, title: document_.title });
    const drawn = new Map(sections.map((part) => [part.name, part]));
    this.rows = new Rows(this, document_);
    for (const [part, { title, html }] of drawn) {
      if (part === "asked") continue;
      const panel = el("div", {
        id: `part-${part}`,
        role: "tabpanel",
        tabindex: "0",
        "aria-labelledby": `tab-${part}`,
        hidden: true,
      });
      // Escaped by the server, which has put the data into it.
      if (part !== "rows") panel.innerHTML = html;
      this.parts.set(part, panel);
      this.tabs.set(part, this.#tab(part, title));
    }
    this.parts.get("rows")?.append(this.rows.node);
    this.#improveOverview(drawn.get("asked"));
    this.#improveCleaning();
    for (const panel of this.parts.values()) this.#copyButtons(panel);
    this.list = el("div", { role: "tablist", "aria-label": "Parts of the answer", className: "tabs" }, [
      ...this.tabs.values(),
    ]);
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.node = el("div", {}, this.list, [...this.parts.values()]);
    this.node.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#point-"]');
      if (!link) return;
      event.preventDefault();
      this.open(Number(link.hash.slice("#point-".length)));
    });
    this.show(named.get("part") ?? "overview", false);
    await this.rows.load(named);
  }

  begin() {
    for (const panel of this.parts.values()) globalThis.nullproofReport.improve(panel);
    this.list.scrollIntoView({ block: "nearest" });
    say(this.title);
  }

  // After Back and Forward: the same analysis, another part or row.
  follow(named) {
    this.show(named.get("part") ?? "overview", false);
    return this.rows.load(named);
  }

  // The address also holds the part, and the choices in Rows.
  address(change, push = false) {
    const named = new URLSearchParams(location.search);
    named.set("analysis", this.id);
    for (const [key, value] of Object.entries(change)) {
      if (value === null || value === "") named.delete(key);
      else named.set(key, value);
    }
    history[push ? "pushState" : "replaceState"](null, "", `/?${named}`);
  }

  show(part, push = true) {
    const shown = this.parts.has(part) ? part : "overview";
    for (const [other, panel] of this.parts) {
      panel.hidden = other !== shown;
      this.tabs.get(other).setAttribute("aria-selected", String(other === shown));
      this.tabs.get(other).tabIndex = other === shown ? 0 : -1;
    }
    if (push) this.address({ part: shown === "overview" ? null : shown }, true);
  }

  open(place) {
    this.show("rows");
    return this.rows.open(place);
  }

  #tab(part, title) {
    return el("button", {
      type: "button",
      role: "tab",
      id: `tab-${part}`,
      "aria-controls": `part-${part}`,
      onclick: () => this.show(part),
    }, title);
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...this.tabs.values()];
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }

  // The next step as a button, since its command is for the shell.
  #improveOverview(asked) {
    const panel = this.parts.get("overview");
    if (this.document.cleaning) {
      panel.querySelector(".next")?.append(el(
        "div",
        { className: "buttons" },
        this.#download("worksheet.csv", "Download the worksheet", "button main"),
        button("What to look up", () => this.show("clean")),
      ));
    }
    for (const entry of panel.querySelectorAll(".unused li code")) this.#undo(entry);
    panel.append(
      el(
        "section",
        { "aria-labelledby": "downloads-title", id: "downloads" },
        el("h2", { id: "downloads-title" }, "Downloads"),
        el(
          "ul",
          { className: "files" },
          FILES.map(([file, title, about]) =>
            el("li", {}, this.#download(file, title), el("small", {}, about))
          ),
        ),
      ),
    );
    if (asked) {
      const details = el("details", {}, el("summary", {}, "What was asked"));
      details.insertAdjacentHTML("beforeend", asked.html);
      panel.append(details);
    }
  }

  // One click adds back columns or values that were not used.
  #undo(code) {
    const [flag, ...typed] = code.textContent.trim().split(/\s+/);
    const entry = this.document.unused.find(({ undo }) => undo === code.textContent.trim());
    const again = {
      "--keep": { keep: [...this.order.keep, ...(entry?.columns ?? [])] },
      "--binning": { binning: typed[0] },
      "--weights": { weights: typed[0] },
      "--missing-is-value": {
        missing_is_value: [...this.order.missing_is_value, ...(entry?.columns ?? [])],
      },
    }[flag];
    if (!again) return;
    code.closest(".small").replaceWith(
      " ",
      button(
        entry?.columns.length > 1 ? "Use them" : "Use it",
        () => this.start({ ...this.order, ...again }),
        "quiet tiny",
      ),
    );
  }

  #improveCleaning() {
    const panel = this.parts.get("clean");
    if (!panel) return;
    const drop = el("div");
    new Drop(drop, {
      title: "Upload the answers",
      hint: "The filled-in worksheet: CSV or Excel. Lines without a value, or with ?, are ignored.",
      kind: SHEET,
      // Run the analysis again with the answers, and compare it with the current one.
      onFile: ({ id }) =>
        this.start({ ...this.order, answers: [...this.order.answers, id], compare: this.id }),
    });
    panel.append(el(
      "section",
      { "aria-labelledby": "sheet-title", id: "lookup" },
      el("h2", { id: "sheet-title" }, "Worksheet"),
      el(
        "p",
        {},
        "Look up the cells, enter them in the column “value”, and upload the file.",
      ),
      this.#download("worksheet.csv", "Download the worksheet", "button main"),
      drop,
      this.order.answers.length > 0 &&
        button("Remove the answers", () => this.start({ ...this.order, answers: [] })),
    ));
  }

  #download(file, title, className = "button") {
    return el("a", { className, href: `/api/analyses/${this.id}/files/${file}`, download: "" }, title);
  }

  #copyButtons(panel) {
    for (const block of panel.querySelectorAll("pre")) {
      const copy = button("Copy", async () => {
        await navigator.clipboard.writeText(block.textContent.trim());
        copy.textContent = "Copied";
      }, "quiet tiny");
      block.after(copy);
    }
  }
}
