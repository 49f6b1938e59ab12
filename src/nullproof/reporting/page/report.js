// Comfort on top of a page that is whole without it: sorting, filtering, opening a linked point.
"use strict";
(() => {
  const key = (row, column) => {
    const cell = row.children[column];
    const text = cell.dataset.key ?? cell.textContent.trim();
    const number = Number(text);
    return text !== "" && Number.isFinite(number) ? number : text;
  };

  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));

  const sortBy = (table, heading) => {
    const column = [...heading.parentNode.children].indexOf(heading);
    const direction = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  };

  const makeSortable = (table) => {
    for (const heading of table.tHead.rows[0].cells) {
      if (!heading.textContent.trim() || heading.querySelector("button")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = heading.textContent;
      button.addEventListener("click", () => sortBy(table, heading));
      heading.replaceChildren(button);
    }
  };

  // The options of a choice are no part of its name, so the label does not hold them.
  const labelled = (text, control) => {
    const [pair, label] = ["span", "label"].map((tag) => document.createElement(tag));
    control.id = `tool-${text.toLowerCase()}-${document.querySelectorAll(".tools").length}`;
    label.htmlFor = control.id;
    label.textContent = text;
    pair.append(label, control);
    return pair;
  };

  const choice = (options) => {
    const select = document.createElement("select");
    for (const [value, text] of options) select.add(new Option(text, value));
    return select;
  };

  const by = (name) => (point) => Number(point.dataset[name]);
  const orders = {
    point: by("point"),
    tolerance: by("tolerance"),
    odds: by("best"),
    radius: by("radius"),
    verdict: (point) => ["open", "holds", "certain"].indexOf(point.dataset.verdict),
  };

  // 3,495 and 3495 are the same number, whichever way it is typed or shown.
  const plain = (text) => text.toLowerCase().replace(/(\d),(?=\d{3}\b)/g, "$1").trim();

  const makeTools = (list) => {
    if (list.previousElementSibling?.classList.contains("tools")) return;
    const points = [...list.children];
    const texts = new Map();
    const textOf = (point) => {
      if (!texts.has(point)) texts.set(point, plain(point.textContent));
      return texts.get(point);
    };
    const search = Object.assign(document.createElement("input"), {
      type: "search",
      placeholder: "number, key or value",
    });
    const verdict = choice([["", "all"], ["certain", "certain"], ["holds", "holds"], ["open", "open"]]);
    const right = choice([["", "all"], ["right", "right"], ["wrong", "wrong"]]);
    const order = choice([
      ["point", "position"],
      ["verdict", "verdict, open first"],
      ["tolerance", "tolerance, least first"],
      ["odds", "odds, most open first"],
      ["radius", "radius, weakest first"],
    ]);
    const count = document.createElement("output");
    const numbered = () => points.find((point) => point.dataset.point === plain(search.value));
    const show = () => {
      const wanted = plain(search.value);
      let shown = 0;
      for (const point of points) {
        const fits = (!verdict.value || point.dataset.verdict === verdict.value) &&
          (!right.value || point.dataset.right === right.value) &&
          (!wanted || point.dataset.point === wanted || textOf(point).includes(wanted));
        point.hidden = !fits;
        shown += fits;
      }
      const lacks = /^\d+$/.test(wanted) && !numbered();
      count.textContent = `${shown} of ${points.length} shown${
        lacks ? `; point ${wanted} is not listed in this report` : ""
      }`;
      arrange();
    };
    const arrange = () => {
      const measure = orders[order.value];
      const first = numbered();
      list.append(...[...points].sort((a, b) => (b === first) - (a === first) || measure(a) - measure(b)));
    };
    const jump = (event) => {
      const found = event.key === "Enter" &&
        (numbered() ?? [...list.children].find((point) => !point.hidden));
      if (!found) return;
      // Else the same key would fold the point again, which has the focus by then.
      event.preventDefault();
      openPoint(`point-${found.dataset.point}`);
    };
    search.addEventListener("input", show);
    search.addEventListener("keydown", jump);
    for (const control of [verdict, right, order]) control.addEventListener("change", show);
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(labelled("Find", search), labelled("Verdict", verdict));
    if (points.some((point) => point.dataset.right !== "unknown")) {
      tools.append(labelled("Prediction", right));
    }
    tools.append(labelled("Order", order), count);
    list.before(tools);
    show();
  };

  const openPoint = (name) => {
    const inside = /^point-\d+$/.test(name) && document.getElementById(name);
    if (!inside) return false;
    const point = inside.closest("details");
    point.hidden = false;
    point.open = true;
    point.scrollIntoView({ block: "start" });
    point.querySelector("summary").focus({ preventScroll: true });
    return true;
  };

  const improve = (root) => {
    root.querySelectorAll("table.sortable").forEach(makeSortable);
    root.querySelectorAll(".points").forEach(makeTools);
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#point-"]');
    if (link && openPoint(link.getAttribute("href").slice(1))) event.preventDefault();
  });
  addEventListener("hashchange", () => openPoint(location.hash.slice(1)));
  improve(document);
  openPoint(location.hash.slice(1));
  // A page that puts in fragments later calls this on what it put in.
  globalThis.nullproofReport = { improve, openPoint };
})();
