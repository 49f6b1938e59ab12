// The page: files, options, a job, and its story.

import { ask, follow } from "./api.js";
import { BiasSlider } from "./bias.js";
import { asNumber, Drop, forget, Options, OWN_HOLES, wrongBias } from "./data.js";
import { $, choice, el, field, fill, many, say } from "./dom.js";
import { PointPanel } from "./point.js";
import { PointList } from "./points.js";
import * as story from "./story.js";
import { WhatIf } from "./whatif.js";

const state = { train: null, points: null, order: null, analysis: null, running: null };

const train = new Drop($("drop-train"), {
  title: "Training table",
  hint: "Drop a CSV, Excel or Parquet file here: rows with a label, some cells missing.",
  onTable: (table) => {
    state.train = table;
    state.points || points.show();
    options.show(table);
  },
});
const points = new Drop($("drop-points"), {
  title: "Points to predict",
  hint: "Optional: a second file with the same columns. Without it the training rows are the points.",
  optional: true,
  onTable: (table) => {
    state.points = table;
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
addEventListener(
  "pagehide",
  () => state.running && fetch(`/api/analyses/${state.running}`, { method: "DELETE", keepalive: true }),
);

async function start(order) {
  if (state.running) await forget(state.running);
  // Browsers let hidden pages ask once a minute only.
  const wanted = { ...order, points: state.points?.id ?? null, patience: 150 };
  const job = jobView();
  try {
    const made = await ask("analyses", { method: "POST", body: wanted });
    state.running = made.id;
    job.cancel.addEventListener("click", () => forget(made.id));
    const ended = await follow(made.id, job.show).catch((problem) => {
      if (state.running === made.id && !job.cancelled) throw problem;
      return { state: "cancelled" };
    });
    if (state.running !== made.id) return;
    state.running = null;
    if (ended.state === "failed") return job.fail(ended.error);
    if (ended.state === "cancelled") return job.fail("The analysis was cancelled.");
    const told = await ask(`analyses/${made.id}/document`);
    if (state.analysis) forget(state.analysis);
    Object.assign(state, { analysis: made.id, order });
    await show(made.id, told);
    job.done();
  } catch (problem) {
    state.running = null;
    job.fail(problem.message);
  }
}

function jobView() {
  const bar = el("progress", { max: 1, value: 0, "aria-label": "progress of the analysis" });
  const word = el("span", {}, "starting …");
  const cancel = el("button", { type: "button", className: "quiet" }, "Cancel");
  const view = { cancel, cancelled: false };
  cancel.addEventListener("click", () => {
    view.cancelled = true;
  });
  fill($("job"), el("div", { className: "job" }, bar, word, cancel));
  $("job").hidden = false;
  $("job").scrollIntoView({ block: "nearest" });
  const start = Date.now();
  view.show = (now) => {
    const seconds = Math.floor((Date.now() - start) / 1000);
    bar.value = now.share;
    word.textContent = `${now.doing} …${seconds > 2 ? ` ${seconds} s` : ""}`;
  };
  view.done = () => {
    $("job").hidden = true;
  };
  view.fail = (text) => {
    fill($("job"), el("p", { className: "problem", role: "alert" }, text));
    $("job").scrollIntoView({ block: "nearest" });
  };
  return view;
}

async function show(id, told) {
  const [known, parts, held] = await Promise.all([
    ask(`analyses/${id}/features`),
    ask(`analyses/${id}/sections`),
    ask(`analyses/${id}/curve?${BiasSlider.asked(state.order.bias)}`),
  ]);
  const drawn = Object.fromEntries(Object.entries(parts).map(([key, html]) => [key, story.drawn(html)]));
  const panel = el("div", { className: "panel", hidden: true, role: "region", "aria-label": "one point" });
  const open = (point, focus = true) => {
    list.mark(point);
    return onePoint.open(point, { focus });
  };
  const slider = new BiasSlider((bias) => {
    list.move(bias);
    onePoint.move(bias);
  });
  const bias = slider.show(held);
  const what = new WhatIf(id, known, {
    bias: held.bias,
    onPoint: (point) => open(point),
    onChange: () => onePoint.refresh(),
  });
  const onePoint = new PointPanel(panel, id, known.features, {
    changes: () => what.changes,
    bias: slider.bias,
    settings: held,
  });
  const list = new PointList(id, known.labels, {
    bias: slider.bias,
    ownHoles: held.own_holes,
    onPoint: open,
  });
  drawn.headline.append(settingsForm());
  const sections = [
    story.section(
      "explore",
      "Point by point",
      intro(held),
      bias,
      el("div", { className: "two" }, list.node, panel),
    ),
    story.holes(told),
    drawn.features,
    story.fragility(told, open),
    drawn.attack,
    story.section(
      "what-if",
      "What if …",
      el(
        "p",
        {},
        "Blank known training cells, as an attacker would, or fill missing ones, as a cleaner would, and see what becomes of certainty.",
      ),
      what.node,
    ),
    drawn.cleaning,
    story.downloads(id),
  ].filter(Boolean);
  fill($("result"), drawn.headline, contents(sections), sections);
  $("result").onclick = (event) => {
    const link = event.target.closest('a[href^="#point-"]');
    if (!link) return;
    event.preventDefault();
    open(Number(link.hash.slice("#point-".length)));
  };
  $("result").hidden = false;
  const lines = (await list.load())?.points ?? [];
  const first = lines.find((line) => line.tolerance !== 1) ?? lines[0];
  if (first) await open(first.point, false);
  drawn.headline.tabIndex = -1;
  drawn.headline.focus({ preventScroll: true });
  $("result").scrollIntoView({ block: "start" });
  say(told.title);
}

// The settings that may be tried again and again, beside the answer.
function settingsForm() {
  const { order } = state;
  const text = (value) =>
    el("input", { type: "text", value: String(value), inputmode: "decimal", autocomplete: "off", size: 6 });
  const [alpha, bias] = [text(order.alpha), text(order.bias)];
  const holes = choice(OWN_HOLES, order.own_holes);
  const problem = el("p", { className: "problem", role: "alert", hidden: true });
  const submit = (event) => {
    event.preventDefault();
    const wanted = {
      alpha: alpha.value.trim() || "1",
      own_holes: holes.value,
      bias: asNumber(bias.value),
    };
    problem.hidden = !wrongBias(wanted.bias);
    problem.textContent = wrongBias(wanted.bias) ?? "";
    if (!problem.hidden) return;
    for (const key of ["alpha", "own_holes", "bias"]) options[key].value = String(wanted[key]);
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

const SHORT = {
  explore: "Points",
  holes: "Holes",
  features: "Features",
  fragility: "Fragility",
  attack: "Attack",
  "what-if": "What if",
  cleaning: "Cleaning",
  downloads: "Downloads",
};

function contents(parts) {
  return el(
    "nav",
    { className: "contents", "aria-label": "Sections" },
    parts.map((part) => el("a", { href: `#${part.id}` }, SHORT[part.id])),
  );
}
