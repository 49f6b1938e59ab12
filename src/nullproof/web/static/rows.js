// The rows: how far each prediction holds at the bias of the slider, a list to filter and sort, and one row.

import { ask } from "./api.js";
import {
  button,
  choice,
  count,
  debounced,
  el,
  fill,
  help,
  many,
  name,
  problem,
  short,
  unique,
} from "./dom.js";

const SIZE = 20;
const KINDS = ["all", "certain", "holds", "open"];
// Columns of the list: heading, sort key, and the text of a line.
const COLUMNS = [
  ["row", "point", null],
  ["predicted", "predicted", (line) => line.predicted === null ? "a tie" : name(line.predicted, 30)],
  [
    "right?",
    null,
    (line) => line.truth === null ? "–" : line.right ? "right" : ["wrong: ", name(line.truth, 24)],
  ],
  ["verdict", null, (line) => tag(line.verdict)],
  ["holds up to", "tolerance", (line) => shownBias(line.tolerance)],
  ["rival", "rival", (line) => rival(line) === null ? "–" : name(rival(line), 24)],
];

// The label that catches up; if undecided even at a bias of 0, another possible label.
const rival = (line) => line.rival ?? line.others[0] ?? null;

const tag = (verdict) => el("span", { className: `tag ${verdict}` }, verdict);

// Rounded down, because a prediction does not hold beyond its tolerance.
function shownBias(number) {
  if (number === null) return "not even 0";
  if (number > 0 && number < 0.001) return "under 0.001";
  const [whole, decimals = ""] = String(number).split(".");
  return String(Number(`${whole}.${decimals.slice(0, 3)}`));
}

function meaning(bias) {
  if (bias === 0) return "as long as the missing cells are distributed like the known ones";
  if (bias === 1) return "whatever the missing cells hold";
  const points = Number((100 * bias).toPrecision(3));
  return `as long as the missing cells resemble the known ones, within ${points} percentage point${
    points === 1 ? "" : "s"
  }`;
}

export class Rows {
  constructor(result, told) {
    Object.assign(this, {
      result,
      turn: 0,
      chosen: null,
      offset: 0,
      sort: "tolerance",
      down: false,
    });
    this.judged = told.quality !== null;
    this.threshold = told.verdicts.threshold ?? 0.05;
    this.n_points = told.certain.n_points;
    const { bias, n_hold } = told.curve.drawn;
    Object.assign(this, { steps: bias, n_hold });
    this.listSoon = debounced(120, () => this.#changed());
    this.#controls();
    this.#histogram();
    this.body = el("div");
    this.panel = el("div", { className: "one-row", role: "region", "aria-label": "one row" });
    this.node = el(
      "section",
      { "aria-labelledby": "rows-title" },
      el("h2", { id: "rows-title" }, "Rows"),
      el("div", { className: "bias" }, this.said, this.slider, this.ends, this.drawn),
      this.tools,
      this.body,
      this.panel,
    );
  }

  #controls() {
    this.input = el("input", {
      type: "range",
      id: unique("bias"),
      min: 0,
      max: this.steps.length - 1,
      step: 1,
      oninput: () => {
        this.offset = 0;
        this.#say();
        this.listSoon();
      },
    });
    this.said = el("p", { className: "bias-words" });
    this.slider = el(
      "div",
      {},
      el("label", { for: this.input.id }, "Bias"),
      help("bias"),
      this.input,
    );
    this.ends = el(
      "p",
      { className: "ends", "aria-hidden": "true" },
      el("span", {}, "like the known cells"),
      el("span", {}, "any values"),
    );
    this.drawn = el("div", { className: "tolerances" });
    const again = () => {
      this.offset = 0;
      this.#changed();
    };
    this.chips = KINDS.map((kind) =>
      button(kind, () => {
        this.verdict = kind;
        again();
      })
    );
    this.find = el("input", {
      type: "search",
      placeholder: "find a row",
      "aria-label": "Find a row by its number, name or a value",
      oninput: () => {
        this.offset = 0;
        this.listSoon();
      },
      onkeydown: (event) => event.key === "Enter" && this.#openFirst(),
    });
    this.right = choice([["", "right or wrong"], ["true", "right"], ["false", "wrong"]], "", {
      "aria-label": "Right or wrong predictions",
      onchange: again,
    });
    this.file = el("a", { className: "button", download: "" }, "CSV of these rows");
    this.tools = el(
      "div",
      { className: "tools" },
      this.chips,
      help("verdict"),
      this.find,
      this.judged && this.right,
      this.file,
    );
  }

  get bias() {
    return this.steps[Number(this.input.value)];
  }

  // Apply the choices in the address, and list the rows.
  async load(named) {
    const place = this.steps.indexOf(Number(named.get("bias") ?? this.threshold));
    this.input.value = String(place < 0 ? this.steps.indexOf(this.threshold) : place);
    this.verdict = KINDS.includes(named.get("verdict")) ? named.get("verdict") : "all";
    this.find.value = named.get("find") ?? "";
    this.right.value = named.get("right") ?? "";
    this.sort = named.get("sort") ?? "tolerance";
    this.down = named.get("down") === "true";
    this.#say();
    const page = await this.#list();
    const wanted = named.get("row");
    const first = page?.points[0]?.point ?? null;
    if (wanted !== null || first !== null) await this.open(wanted === null ? first : Number(wanted), false);
  }

  #asked() {
    const asked = new URLSearchParams({ bias: this.bias, sort: this.sort, down: this.down });
    if (this.verdict !== "all") asked.set("verdict", this.verdict);
    if (this.find.value.trim()) asked.set("find", this.find.value.trim());
    if (this.right.value) asked.set("right", this.right.value);
    return asked;
  }

  #changed() {
    const asked = Object.fromEntries(this.#asked());
    this.result.address({ verdict: null, find: null, right: null, ...asked });
    return this.#list();
  }

  async #list() {
    const turn = ++this.turn;
    const asked = this.#asked();
    this.file.href = `/api/analyses/${this.result.id}/rows.csv?${asked}`;
    asked.set("offset", this.offset);
    asked.set("limit", SIZE);
    try {
      const page = await ask(`analyses/${this.result.id}/points?${asked}`);
      if (turn === this.turn) this.#show(page);
      return page;
    } catch (failed) {
      fill(this.body, problem(failed.message));
      return null;
    }
  }

  // Enter opens the typed row: by number or name, else the first match.
  async #openFirst() {
    this.offset = 0;
    const page = await this.#changed();
    if (page?.points.length) this.open(page.points[0].point);
  }

  #say() {
    const place = Number(this.input.value);
    const [all, hold, certain] = [this.n_points, this.n_hold[place], this.n_hold.at(-1)];
    fill(
      this.said,
      el(
        "b",
        {},
        `${count(hold)} of ${many(all, "prediction")} ${hold === 1 ? "holds" : "hold"}`,
      ),
      ` at a bias of ${this.bias}: the same label ${meaning(this.bias)}. ${count(certain)} certain, ${
        count(all - hold)
      } open.`,
    );
    this.input.setAttribute(
      "aria-valuetext",
      `${this.bias}: ${count(hold)} of ${many(all, "prediction")} hold`,
    );
    for (const [number, bar] of [...this.drawn.querySelectorAll("i")].entries()) {
      bar.classList.toggle("below", number <= place);
    }
  }

  // The predictions that stop holding between two steps of the slider; the last bar shows certain ones.
  #histogram() {
    const counts = [this.n_points, ...this.n_hold].map((hold, place) => hold - (this.n_hold[place] ?? 0));
    const most = Math.max(...counts, 1);
    const named = (place) => {
      if (place === 0) return "not even at 0";
      if (place === this.steps.length) return "certain";
      return `up to ${this.steps[place - 1]}, not to ${this.steps[place]}`;
    };
    fill(
      this.drawn,
      el(
        "div",
        {
          className: "bars",
          role: "img",
          "aria-label": `How far predictions hold: ${count(counts[0])} not even at a bias of 0, ${
            count(counts.at(-1))
          } certain`,
        },
        counts.map((number, place) =>
          el("i", {
            css: { height: `${number ? Math.max(4, 100 * number / most) : 0}%` },
            title: `${many(number, "row")}: ${named(place)}`,
          })
        ),
      ),
      el("small", {}, "rows by how far they hold ", help("tolerance")),
    );
  }

  #show(page) {
    const { n_of: counts } = page;
    const all = counts.certain + counts.holds + counts.open;
    KINDS.forEach((kind, place) => {
      this.chips[place].textContent = `${kind} ${count(kind === "all" ? all : counts[kind])}`;
      this.chips[place].setAttribute("aria-pressed", String(kind === this.verdict));
    });
    if (!page.n_points) return fill(this.body, el("p", {}, "There is no such row."));
    const columns = COLUMNS.filter(([title]) => title !== "right?" || this.judged);
    const last = Math.min(this.offset + SIZE, page.n_points);
    return fill(
      this.body,
      el(
        "div",
        { className: "scroll", tabindex: "0", role: "region", "aria-label": "rows and their predictions" },
        el(
          "table",
          { className: "list" },
          el("thead", {}, el("tr", {}, columns.map(([title, sort]) => this.#heading(title, sort)))),
          el("tbody", {}, page.points.map((line) => this.#line(line, columns))),
        ),
      ),
      el(
        "div",
        { className: "buttons paging" },
        this.#page("Previous", -SIZE, this.offset > 0),
        el("span", {}, `${count(this.offset + 1)} to ${count(last)} of ${many(page.n_points, "row")}`),
        this.#page("Next", SIZE, last < page.n_points),
      ),
    );
  }

  #heading(title, sort) {
    const sorted = sort !== null && sort === this.sort;
    return el(
      "th",
      { scope: "col", "aria-sort": sorted ? (this.down ? "descending" : "ascending") : null },
      sort === null ? title : button(title, () => {
        this.down = sorted && !this.down;
        this.sort = sort;
        this.offset = 0;
        this.#changed();
      }, ""),
    );
  }

  #line(line, columns) {
    const called = line.key ?? count(line.point);
    return el(
      "tr",
      {
        "data-point": line.point,
        className: line.point === this.chosen ? "chosen" : "",
        onclick: () => this.open(line.point),
      },
      el("th", { scope: "row" }, button(short(called, 30), () => null, "link")),
      columns.slice(1).map(([, , shown]) => el("td", {}, shown(line))),
    );
  }

  #page(text, step, possible) {
    const move = () => {
      this.offset += step;
      this.#list();
    };
    return el("button", { type: "button", className: "quiet", disabled: !possible, onclick: move }, text);
  }

  async open(place, focus = true) {
    this.chosen = place;
    for (const row of this.body.querySelectorAll("tr[data-point]")) {
      row.classList.toggle("chosen", Number(row.dataset.point) === place);
    }
    if (focus) this.result.address({ row: place });
    try {
      const row = await ask(`analyses/${this.result.id}/points/${place}`);
      if (place !== this.chosen) return;
      // Escaped by the server, which has put the data into it.
      this.panel.innerHTML = row.html;
      const drawn = this.panel.firstElementChild;
      drawn.classList.add("chosen");
      if (focus) drawn.focus();
    } catch (failed) {
      fill(this.panel, problem(failed.message));
    }
  }
}
