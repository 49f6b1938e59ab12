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

  const labelled = (text, control) => {
    const label = document.createElement("label");
    label.append(text, control);
    return label;
  };

  const choice = (options) => {
    const select = document.createElement("select");
    for (const [value, text] of options) select.add(new Option(text, value));
    return select;
  };

  const orders = {
    point: (point) => Number(point.dataset.point),
    weakest: (point) => {
      const radius = Number(point.dataset.radius);
      return radius < 0 ? Infinity : radius;
    },
    open: (point) => Number(point.dataset.best),
  };

  const makeTools = (list) => {
    if (list.previousElementSibling?.classList.contains("tools")) return;
    const points = [...list.children];
    const texts = new Map();
    const textOf = (point) => {
      if (!texts.has(point)) texts.set(point, point.textContent.toLowerCase());
      return texts.get(point);
    };
    const search = Object.assign(document.createElement("input"), { type: "search" });
    const verdict = choice([["", "all"], ["certain", "certain"], ["holds", "holds"], ["open", "open"]]);
    const order = choice([
      ["point", "position"],
      ["weakest", "radius, weakest first"],
      ["open", "odds, most open first"],
    ]);
    const count = document.createElement("output");
    const show = () => {
      const wanted = search.value.trim().toLowerCase();
      let shown = 0;
      for (const point of points) {
        const fits = (!verdict.value || point.dataset.verdict === verdict.value) &&
          (!wanted || textOf(point).includes(wanted));
        point.hidden = !fits;
        shown += fits;
      }
      count.textContent = `${shown} of ${points.length} shown`;
    };
    const arrange = () => {
      const by = orders[order.value];
      list.append(...[...points].sort((a, b) => by(a) - by(b)));
    };
    search.addEventListener("input", show);
    verdict.addEventListener("change", show);
    order.addEventListener("change", arrange);
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(
      labelled("Find", search),
      labelled("Verdict", verdict),
      labelled("Order", order),
      count,
    );
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
