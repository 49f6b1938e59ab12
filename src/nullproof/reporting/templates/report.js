// Optional comfort for a page that works without it: sort by a heading, filter rows, open linked rows.
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
    const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  };

  const makeSortable = (table) => {
    for (const heading of table.tHead.rows[0].cells) {
      if (!heading.textContent.trim() || heading.querySelector("button")) continue;
      const button = Object.assign(document.createElement("button"), { type: "button" });
      button.textContent = heading.textContent;
      button.addEventListener("click", () => sortBy(table, heading));
      heading.replaceChildren(button);
    }
  };

  // 3,495 and 3495 are the same number, whichever way it is typed or shown.
  const plain = (text) => text.toLowerCase().replace(/(\d),(?=\d{3}\b)/g, "$1").trim();

  const makeFilter = (table) => {
    const box = table.closest(".scroll");
    if (box.previousElementSibling?.classList.contains("tools")) return;
    const rows = [...table.tBodies[0].rows];
    const tools = Object.assign(document.createElement("div"), { className: "tools" });
    const find = Object.assign(document.createElement("input"), { type: "search", placeholder: "find a row" });
    find.setAttribute("aria-label", "Find a row by its name or a value");
    const count = document.createElement("output");
    let wanted = "";
    const chips = ["", "open", "holds", "certain"].map((verdict) => {
      const n = rows.filter((row) => !verdict || row.dataset.verdict === verdict).length;
      const chip = Object.assign(document.createElement("button"), { type: "button" });
      chip.textContent = `${verdict || "all"} ${n}`;
      chip.addEventListener("click", () => {
        wanted = verdict;
        show();
      });
      return [verdict, chip];
    });
    const show = () => {
      const text = plain(find.value);
      let shown = 0;
      for (const row of rows) {
        const fits = (!wanted || row.dataset.verdict === wanted) && plain(row.textContent).includes(text);
        row.hidden = !fits;
        shown += fits;
      }
      for (const [verdict, chip] of chips) chip.setAttribute("aria-pressed", String(verdict === wanted));
      count.textContent = `${shown} of ${rows.length} shown`;
    };
    find.addEventListener("input", show);
    tools.append(...chips.map((pair) => pair[1]), find, count);
    box.before(tools);
    show();
  };

  const openPoint = (name) => {
    const point = /^point-\d+$/.test(name) && document.getElementById(name);
    if (!point) return false;
    for (const other of document.querySelectorAll(".point.chosen")) other.classList.remove("chosen");
    point.classList.add("chosen");
    point.scrollIntoView({ block: "start" });
    point.focus({ preventScroll: true });
    return true;
  };

  const improve = (root) => {
    root.querySelectorAll("table.sortable").forEach(makeSortable);
    root.querySelectorAll("table.filtered").forEach(makeFilter);
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#point-"]');
    if (link && openPoint(link.getAttribute("href").slice(1))) event.preventDefault();
  });
  addEventListener("hashchange", () => openPoint(location.hash.slice(1)));
  improve(document);
  openPoint(location.hash.slice(1));
  // A page that inserts parts later calls this on each of them.
  globalThis.nullproofReport = { improve, openPoint };
})();
