// The page: files, options, a job, and its result. The address names the analysis and the part shown.

import { ask, follow } from "./api.js";
import { Drop } from "./data.js";
import { $, button, el, fill, problem, short } from "./dom.js";
import { Options } from "./options.js";
import { Result } from "./result.js";

// `turn` counts requests; answers to older ones are dropped.
const state = { train: null, points: null, order: null, analysis: null, result: null, turn: 0 };
const forget = (id) => ask(`analyses/${id}`, { method: "DELETE" }).catch(() => null);

const train = new Drop($("drop-train"), {
  title: "Training table",
  hint: "Drop a CSV, Excel or Parquet file here: labelled rows with some missing cells.",
  onFile: (table) => {
    // A running analysis of another table is no longer shown.
    state.turn += 1;
    state.train = table;
    // A result for another table would be misleading.
    if (state.analysis) history.pushState(null, "", "/");
    leave();
    options.show(table);
  },
});
const points = new Drop($("drop-points"), {
  title: "Rows to predict",
  hint: "Optional: a second file with the same columns. Without it, the training rows are predicted.",
  optional: true,
  onFile: (table) => {
    state.points = table;
  },
});
const options = new Options($("options"), start);

// A file dropped outside a box must not replace the page.
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    if (kind === "drop" && event.dataTransfer.files.length && !event.target.closest?.(".drop")) {
      (state.train ? points : train).take(event.dataTransfer.files[0]);
    }
  });
}

$("example").addEventListener("click", async () => {
  try {
    const found = await ask("example", { method: "POST" });
    train.set(found.train);
    points.set(found.points);
    options.show(found.train, { label: found.label, key: found.key });
    options.submit();
  } catch (failed) {
    train.show(failed.message);
  }
});

const THEMES = ["system", "light", "dark"];
function theme(chosen) {
  document.documentElement.style.colorScheme = chosen === "system" ? "light dark" : chosen;
  $("theme").textContent = `Theme: ${chosen}`;
  localStorage.setItem("theme", chosen);
}
theme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system");
$("theme").addEventListener(
  "click",
  () => theme(THEMES[(THEMES.indexOf(localStorage.getItem("theme")) + 1) % THEMES.length]),
);

ask("limits").then((limits) => {
  $("version").textContent = limits.version;
}).catch(() => null);
addEventListener("popstate", () => visit());
visit();

// Shows what the address names: at the start, and after Back and Forward.
async function visit() {
  const named = new URLSearchParams(location.search);
  const id = named.get("analysis");
  const turn = ++state.turn;
  if (id !== null && id === state.analysis) return state.result.follow(named);
  if (id === null) return leave();
  try {
    const found = await ask(`analyses/${encodeURIComponent(id)}`);
    await restore(found.order);
    if (turn === state.turn) await attend(found, turn, named);
  } catch (failed) {
    if (turn !== state.turn) return;
    leave();
    jobView(() => null).fail(
      `${failed.message} Analyses are kept only while their server runs and has room for them.`,
    );
  }
}

function leave() {
  Object.assign(state, { analysis: null, result: null });
  document.title = "nullproof";
  $("result").hidden = true;
  $("job").hidden = true;
  $("files").classList.remove("small");
}

// Restore the forms as they were when an analysis was ordered.
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
  if (own) options.show(own, order);
  else train.show("The table of this analysis was deleted; choose it again to change the options.");
}

async function start(order) {
  const rows = "points" in order ? order.points : state.points?.id ?? null;
  const wanted = { ...order, points: rows };
  const turn = ++state.turn;
  const stop = new AbortController();
  const waiting = jobView(() => stop.abort());
  try {
    const made = await ask("analyses", { method: "POST", body: wanted });
    if (stop.signal.aborted) {
      forget(made.id);
      return cancelled(waiting);
    }
    history.pushState(null, "", `/?analysis=${made.id}`);
    await attend(made, turn, new URLSearchParams());
  } catch (failed) {
    if (turn === state.turn) waiting.fail(failed.message);
  }
}

// Wait for an analysis and show it, unless something else was requested meanwhile.
async function attend({ id, order }, turn, named) {
  const stop = new AbortController();
  const job = jobView(() => {
    stop.abort();
    forget(id);
  });
  const ended = await follow(id, job.show, stop.signal).catch((failed) => {
    if (!stop.signal.aborted) throw failed;
    return null;
  });
  if (turn !== state.turn) return;
  if (stop.signal.aborted || ended.state === "cancelled") return cancelled(job);
  if (ended.state === "failed") {
    // The page still shows the previous analysis.
    if (state.analysis) history.replaceState(null, "", `/?analysis=${state.analysis}`);
    return job.fail(ended.error);
  }
  const result = new Result(id, { ...order, compare: null }, { start });
  await result.load(named);
  if (turn !== state.turn) return;
  Object.assign(state, { analysis: id, order, result });
  $("files").classList.add("small");
  fill($("result"), ranWith(order, result), result.node);
  $("result").hidden = false;
  document.title = `${result.title} – nullproof`;
  job.done();
  result.begin();
}

// The form shrinks to a line once there is an answer.
function ranWith(order, result) {
  const { train: table, test } = result.document.asked;
  const what = [table, test].filter(Boolean).map((file) => short(file, 40)).join(" and ");
  return el(
    "div",
    { className: "ran" },
    el("h1", {}, el("b", {}, what || "a table"), `, predicting `, el("b", {}, short(order.label, 40))),
    button("Change data or options", () => {
      $("files").classList.remove("small");
      $("files").scrollIntoView();
    }),
  );
}

// The previous answer stays, and so does its address.
function cancelled(job) {
  history.replaceState(null, "", state.analysis ? `/?analysis=${state.analysis}` : "/");
  job.fail("The analysis was cancelled.");
}

function jobView(onCancel) {
  const bar = el("progress", { max: 1, value: 0, "aria-label": "progress of the analysis" });
  const word = el("span", {}, "starting …");
  fill($("job"), el("div", { className: "job" }, bar, word, button("Cancel", onCancel)));
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
      fill($("job"), problem(text));
      $("job").scrollIntoView({ block: "nearest" });
    },
  };
}
