// The page: files, options, a job, and its story. Which analysis is shown is in the address.

import { ask, follow } from "./api.js";
import { BiasSlider } from "./bias.js";
import { Drop } from "./data.js";
import { $, choice, el, field, fill, many, say } from "./dom.js";
import { asNumber, Options, OWN_HOLES, wrongBias } from "./options.js";
import { answersBefore, lookup } from "./lookup.js";
import { PointPanel } from "./point.js";
import { PointList } from "./points.js";
import * as story from "./story.js";
import { told as changeTold, WhatIf } from "./whatif.js";

// `turn` counts what was asked for; an answer to an older wish is dropped.
const state = { train: null, points: null, order: null, analysis: null, turn: 0 };
const forget = (id) => ask(`analyses/${id}`, { method: "DELETE" }).catch(() => null);

const train = new Drop($("drop-train"), {
  title: "Training table",
  hint: "Drop a CSV, Excel or Parquet file here: rows with a label, some cells missing.",
  onFile: (table) => {
    state.train = table;
    state.points || points.show();
    options.show(table);
  },
});
const points = new Drop($("drop-points"), {
  title: "Points to predict",
  hint: "Optional: a second file with the same columns. Without it the training rows are the points.",
  optional: true,
  onFile: (table) => {
    state.points = table;
    options.withPoints(table);
  },
});
const options = new Options($("options"), start);

$("example").addEventListener("click", async () => {
  try {
    const found = await ask("example", { method: "POST" });
    train.set(found.train);
    points.set(found.points);
    options.show(found.train, { label: found.label, ignore: found.ignore });
    options.submit();
  } catch (problem) {
    train.show(problem.message);
  }
});

ask("limits").then((limits) => {
  $("version").textContent = limits.version;
}).catch(() => null);
addEventListener("popstate", () => visit());
visit();

const address = (id, point = null) =>
  `/?${new URLSearchParams({ analysis: id, ...(point === null ? {} : { point }) })}`;

// Shows what the address names: at the start, and after Back and Forward.
async function visit() {
  const named = new URLSearchParams(location.search);
  const id = named.get("analysis");
  // Links within the page come here too.
  if (id === state.analysis) return;
  const turn = ++state.turn;
  if (id === null) return leave();
  try {
    const found = await ask(`analyses/${encodeURIComponent(id)}`);
    await restore(found.order);
    if (turn === state.turn) await attend(found, turn, named.get("point"));
  } catch (problem) {
    if (turn !== state.turn) return;
    leave();
    jobView(() => null).fail(
      `${problem.message} Analyses last as long as their server runs and has room for them.`,
    );
  }
}

function leave() {
  state.analysis = null;
  document.title = "nullproof";
  $("result").hidden = true;
  $("job").hidden = true;
}

// The forms as they were when an analysis was ordered.
async function restore(order) {
  const again = (own, id) =>
    own?.id === id || !id ? (id ? own : null) : ask(`tables/${id}`).catch(() => null);
  const [own, other] = await Promise.all([
    again(state.train, order.table),
    again(state.points, order.points),
  ]);
  Object.assign(state, { train: own, points: other });
  train.put(own);
  points.put(other);
  options.withPoints(other);
  if (own) options.show(own, order);
  else train.show("The table of this analysis is gone; choose it again to judge it otherwise.");
}

async function start(order) {
  // Browsers let hidden pages ask once a minute only.
  const wanted = { changes: [], ...order, points: state.points?.id ?? null, patience: 150 };
  const turn = ++state.turn;
  const stop = new AbortController();
  const waiting = jobView(() => stop.abort());
  try {
    const made = await ask("analyses", { method: "POST", body: wanted });
    if (stop.signal.aborted) {
      forget(made.id);
      return cancelled(waiting);
    }
    history.pushState(null, "", address(made.id));
    await attend(made, turn);
  } catch (problem) {
    if (turn === state.turn) waiting.fail(problem.message);
  }
}

// Waits for an analysis and shows it, unless something else was asked for meanwhile.
async function attend({ id, order }, turn, point = null) {
  const stop = new AbortController();
  const job = jobView(() => {
    stop.abort();
    forget(id);
  });
  const [ended, told] = await finished(id, job, stop.signal).catch((problem) => {
    if (!stop.signal.aborted) throw problem;
    return [];
  });
  if (turn !== state.turn) return;
  if (stop.signal.aborted || ended.state === "cancelled") return cancelled(job);
  if (ended.state === "failed") {
    // What is on the page is still the analysis from before.
    if (state.analysis) history.replaceState(null, "", address(state.analysis));
    return job.fail(ended.error);
  }
  Object.assign(state, { analysis: id, order: { ...order, compare: null } });
  await show(id, told, point, turn);
  if (turn === state.turn) job.done();
}

async function finished(id, job, signal) {
  const ended = await follow(id, job.show, signal);
  return [ended, ended.state === "done" ? await ask(`analyses/${id}/document`) : null];
}

// The answer that was shown before stays, and so does its address.
function cancelled(job) {
  history.replaceState(null, "", state.analysis ? address(state.analysis) : "/");
  job.fail("The analysis was cancelled.");
}

function jobView(onCancel) {
  const bar = el("progress", { max: 1, value: 0, "aria-label": "progress of the analysis" });
  const word = el("span", {}, "starting …");
  const cancel = el("button", { type: "button", className: "quiet", onclick: onCancel }, "Cancel");
  fill($("job"), el("div", { className: "job" }, bar, word, cancel));
  $("job").hidden = false;
  $("job").className = "at-work";
  const start = Date.now();
  return {
    show: (now) => {
      const seconds = Math.floor((Date.now() - start) / 1000);
      bar.value = now.share;
      word.textContent = `${now.doing} …${seconds > 2 ? ` ${seconds} s` : ""}`;
    },
    done: () => {
      $("job").hidden = true;
    },
    fail: (text) => {
      $("job").hidden = false;
      $("job").className = "";
      fill($("job"), el("p", { className: "problem", role: "alert" }, text));
      $("job").scrollIntoView({ block: "nearest" });
    },
  };
}

async function show(id, { title, cleaning }, point, turn) {
  const { order } = state;
  const [known, parts, held] = await Promise.all([
    ask(`analyses/${id}/features`),
    ask(`analyses/${id}/sections`),
    ask(`analyses/${id}/curve?${BiasSlider.asked(order.bias)}`),
  ]);
  const [headline, ...drawn] = parts.map((part) => ({ ...part, node: story.drawn(part.html) }));
  const panel = el("div", { className: "panel", hidden: true, role: "region", "aria-label": "one point" });
  const open = (place, focus = true) => {
    list.mark(place);
    history.replaceState(null, "", address(id, place) + location.hash);
    return onePoint.open(place, { focus });
  };
  const slider = new BiasSlider((bias) => {
    list.move(bias);
    onePoint.move(bias);
  });
  const bias = slider.show(held);
  const changed = el("div", { className: "note changed-table", hidden: true });
  const what = new WhatIf(id, known, {
    bias: held.bias,
    onPoint: (place) => open(place),
    onChange: () => {
      onePoint.refresh();
      tellChanges(changed, what);
    },
  });
  const onePoint = new PointPanel(panel, id, known.features, {
    changes: () => what.changes,
    bias: slider.bias,
    settings: held,
  });
  const list = new PointList(id, known.labels, {
    bias: slider.bias,
    ownMissing: held.own_missing,
    labelled: held.n_labelled > 0,
    named: order.key,
    onPoint: open,
  });
  const back = () => start({ ...order, answers: [] });
  headline.node.append(...answersBefore(order, back), ...changedBefore(order), settingsForm());
  const own = (id, title, ...children) => ({ name: id, title, node: story.section(id, ...children) });
  // The slider and the list of this page take the place of two sections of the report.
  const told = drawn.filter(({ name }) => !["tolerance", "points", "asked"].includes(name));
  const asked = drawn.filter(({ name }) => name === "asked");
  const sections = [
    own(
      "explore",
      "Points",
      "Point by point",
      intro(held),
      bias,
      el("div", { className: "two" }, list.node, panel),
    ),
    ...told,
    ...(cleaning === null || order.changes.length
      ? []
      : [{ name: "lookup", title: "Look up", node: lookup(id, taken) }]),
    own(
      "what-if",
      "What if",
      "What if …",
      el(
        "p",
        {},
        "Blank known training cells, as an attacker would, or fill missing ones, as a cleaner would, and see what becomes of certainty.",
      ),
      what.node,
    ),
    ...asked,
    {
      name: "downloads",
      title: "Downloads",
      node: story.downloads(id),
    },
  ];
  fill($("result"), headline.node, contents(sections), changed, sections.map(({ node }) => node));
  $("result").onclick = (event) => {
    const link = event.target.closest('a[href^="#point-"]');
    if (!link) return;
    event.preventDefault();
    open(Number(link.hash.slice("#point-".length)));
  };
  $("result").hidden = false;
  document.title = `${title} – nullproof`;
  const lines = (await list.load())?.points ?? [];
  // Who asked for something else meanwhile keeps its address.
  if (turn !== state.turn) return;
  const first = lines.find((line) => line.tolerance !== 1) ?? lines[0];
  if (point !== null || first) await open(point === null ? first.point : Number(point), false);
  headline.node.tabIndex = -1;
  headline.node.focus({ preventScroll: true });
  $("result").scrollIntoView({ block: "start" });
  say(title);
}

// A worksheet came back: all of it again with its answers, beside what is shown now.
const taken = ({ id }) =>
  start({ ...state.order, answers: [...state.order.answers, id], compare: state.analysis });

// What follows the changes of “What if”, what does not, and how it all would.
function tellChanges(node, what) {
  node.hidden = !what.changes.length;
  if (node.hidden) return;
  fill(
    node,
    el(
      "p",
      {},
      `${
        many(what.changes.length, "change")
      } of the table: the open point and “What if” show the changed table; headline, list, other sections and downloads show the original.`,
    ),
    el(
      "div",
      { className: "buttons" },
      el("button", {
        type: "button",
        className: "quiet",
        onclick: () => start({ ...state.order, changes: [...state.order.changes, ...what.changes] }),
      }, "Work all of it out on the changed table"),
      el("button", { type: "button", className: "quiet", onclick: () => what.clear() }, "Take all back"),
    ),
  );
}

function changedBefore({ changes }) {
  if (!changes.length) return [];
  return [el(
    "div",
    { className: "note" },
    el("p", {}, "All of this is about a changed table:"),
    el("ul", {}, changes.map((change) => el("li", {}, changeTold(change)))),
    el("button", {
      type: "button",
      className: "quiet",
      onclick: () => start({ ...state.order, changes: [] }),
    }, "Back to the original table"),
  )];
}

// The settings that may be tried again and again, beside the answer.
function settingsForm() {
  const { order } = state;
  const text = (value) =>
    el("input", { type: "text", value: String(value), inputmode: "decimal", autocomplete: "off", size: 6 });
  const [alpha, bias] = [text(order.alpha), text(order.bias)];
  const holes = choice(OWN_HOLES, order.own_missing);
  const problem = el("p", { className: "problem", role: "alert", hidden: true });
  const submit = (event) => {
    event.preventDefault();
    const wanted = {
      alpha: alpha.value.trim() || "1",
      own_missing: holes.value,
      bias: asNumber(bias.value),
    };
    problem.hidden = !wrongBias(wanted.bias);
    problem.textContent = wrongBias(wanted.bias) ?? "";
    if (!problem.hidden) return;
    for (const key of ["alpha", "own_missing", "bias"]) options[key].value = String(wanted[key]);
    start({ ...order, ...wanted });
  };
  return el(
    "form",
    { className: "again", onsubmit: submit },
    field("Smoothing α", alpha),
    field("A point's own holes", holes),
    field("Bias", bias),
    el("button", { type: "submit", className: "quiet" }, "Judge again"),
    problem,
  );
}

function intro(held) {
  const rest = held.n_points - held.n_certain;
  if (!rest) {
    return el(
      "p",
      {},
      "Every prediction is certain. Choose a point to see the support of each label over all worlds, from least to greatest: one bar lies clear of all others.",
    );
  }
  return el(
    "p",
    {},
    `${many(rest, "prediction")} ${
      rest === 1 ? "depends" : "depend"
    } on what the holes really hold. How much? Move the slider: it says how far the missing cells may differ from the known ones. Choose a point to see the support of each label, from least to greatest. The dashed line is what the strongest label has whatever the holes hold: a prediction holds if one bar alone reaches it.`,
  );
}

function contents(parts) {
  return el(
    "nav",
    { className: "contents", "aria-label": "Sections" },
    parts.map(({ name, title }) => el("a", { href: `#${name}` }, title)),
  );
}
