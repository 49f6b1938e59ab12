// Elements from plain values: data are always inserted as text, never as markup.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "css") {
      for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
    } else if (name in PROPERTIES) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

const PROPERTIES = { value: 1, checked: 1, disabled: 1, hidden: 1, selected: 1, className: 1 };

export const $ = (id) => document.getElementById(id);

export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return node;
}

// Names from the data keep their own direction and cannot disturb the text around them.
export const name = (text, limit = 60) =>
  el(
    "bdi",
    { className: "name", title: text.length > limit ? text.slice(0, 2000) : null },
    short(text, limit),
  );

// Cut long texts in the middle: names that begin alike often end differently.
export const short = (text, limit = 60) => {
  const [head, tail] = [Array.from(text.slice(0, limit * 2 + 2)), Array.from(text.slice(-limit * 2))];
  if (head.length <= limit) return text;
  const last = Math.floor(limit / 3);
  return `${head.slice(0, limit - last - 3).join("")} … ${tail.slice(-last).join("")}`;
};

export const count = (number) => number.toLocaleString("en");

export const many = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

export function percent(share) {
  if (share === null) return "–";
  if (share === 0 || share === 1) return `${share * 100} %`;
  if (share < 0.001) return "under 0.1 %";
  if (share > 0.999) return "over 99.9 %";
  return `${(100 * share).toFixed(1)} %`;
}

export function bytes(number) {
  if (number < 1000) return `${number} bytes`;
  return number < 1e6 ? `${(number / 1e3).toFixed(1)} kB` : `${(number / 1e6).toFixed(1)} MB`;
}

export function say(text) {
  $("live").textContent = text;
}

let numbers = 0;
export const unique = (start) => `${start}-${++numbers}`;

// Runs at most once per pause.
export function debounced(wait, run) {
  let timer = null;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), wait);
  };
}

export function field(label, control, hint = null) {
  const id = control.id || (control.id = unique("field"));
  const hinted = hint ? el("small", { id: `${id}-hint` }, hint) : null;
  if (hinted) control.setAttribute("aria-describedby", hinted.id);
  return el("div", { className: "field" }, el("label", { for: id }, label), control, hinted);
}

export function choice(options, chosen, attributes = {}) {
  return el(
    "select",
    attributes,
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, short(text, 80))),
  );
}

export const button = (text, onclick, className = "quiet") =>
  el("button", { type: "button", className, onclick }, text);

export const problem = (text) => el("p", { className: "problem", role: "alert" }, text);

// The terms of the page, each explained in a bubble beside the word.
const GLOSSARY = {
  bias:
    "How far missing cells may differ from the known ones. At 0.05, if 30 % of the known cells of a column and label hold a value, 25 to 35 % of its missing cells may. At 1 they may hold anything.",
  verdict:
    "Certain: the same label whatever the missing cells hold, for the bins and weights learned from the known cells. Holds: the same label up to the bias of the slider. Open: the missing cells may change it within that bias.",
  tolerance: "The largest bias up to which a prediction holds; 1 means certain.",
  radius:
    "The fewest training cells that must be blanked or wrong before a prediction is no longer certain.",
  weight: "How much a column counts, learned from the known cells; a column of weight 0 plays no part.",
};

export function help(word) {
  const id = unique("help");
  return el(
    "span",
    { className: "help" },
    el("button", { type: "button", popovertarget: id, "aria-label": `what ${word} means` }, "?"),
    el("span", { id, popover: true, role: "note" }, GLOSSARY[word]),
  );
}
