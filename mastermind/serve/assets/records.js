// A run: the distribution of its time, its figures, its description. While it is being recorded the rows follow it.

import * as api from "./api.js";
import { choice, figures, h, refill, table, time } from "./dom.js";
import { command, failure, notes, picture } from "./parts.js";
import { timeline } from "./timeline.js";

/** Rows of a timeline that is not higher than a screen. */
const ROWS = 40;
/** Pixels that `plot` leaves around the rows, and of a row. */
const MARGIN = [150, 190];
const ROW_PIXELS = 14;

/** Largest part of the time that refreshing a view takes, so that a run that is watched loses no more. */
const SHARE = 0.01;
/** Processors that a refresh may keep busy. */
const PROCESSORS = navigator.hardwareConcurrency || 1;

const COLUMNS = [
  { title: "method", of: (row) => row.name },
  { title: "class", of: (row) => row.class },
  { title: "calls", number: true, of: (row) => row.calls, cell: (row) => figures(row.calls) },
  { title: "own time", number: true, of: (row) => row.exclusive_ns, cell: (row) => time(row.exclusive_ns / 1e9) },
  { title: "with what it calls", number: true, of: (row) => row.inclusive_ns, cell: (row) => time(row.inclusive_ns / 1e9) },
  { title: "in MPI", number: true, of: (row) => row.mpi_ns, cell: (row) => (row.mpi_ns === null ? "–" : time(row.mpi_ns / 1e9)) },
];

export async function records(page, path, place, aborted) {
  const profile = h("div");
  const figure = h("div");
  const compared = h("div");
  const decided = h("div");
  const calls = h("div");
  const what = h("div");
  const next = h("div", { class: "bar" });
  place.append(next, h("h3", {}, "Where the time went"), profile, decided, h("h3", {}, "What happened when"), calls, h("h3", {}, "Figures"), figure, h("h3", {}, "Against another run"), compared, h("h3", {}, "What it was"), what);
  let methods = [];
  let perRank = false;

  async function drawProfile() {
    const begin = performance.now();
    const answer = await api.ask({ ask: "profile", records: path, per_rank: perRank }, aborted.signal);
    drawRows(answer);
    return performance.now() - begin;
  }

  /** The rows of a run that has ended, at once: of a large one all records take longer, and come afterwards with what is to be said of them. */
  async function drawSummary() {
    const answer = await api.ask({ ask: "profile", records: path, summary: true }, aborted.signal);
    if (answer.answer) drawRows(answer);
  }

  function drawRows(answer) {
    const rows = answer.answer?.rows ?? [];
    const total = rows.reduce((sum, row) => sum + row.exclusive_ns, 0);
    methods = [...new Set(rows.map((row) => row.name))];
    const columns = [...COLUMNS];
    if (rows.some((row) => row.rank !== undefined)) columns.unshift({ title: "rank", number: true, of: (row) => row.rank });
    columns.push({ title: "share", of: (row) => row.exclusive_ns, number: true, cell: (row) => {
      const share = total ? row.exclusive_ns / total : 0;
      const bar = h("span", { class: "share" });
      bar.style.width = `${(6 * share).toFixed(2)}em`;
      return [`${(100 * share).toFixed(1)} % `, bar];
    } });
    const ranks = h("label", {}, h("input", { type: "checkbox", checked: perRank, onchange: (event) => {
      perRank = event.target.checked;
      drawProfile().catch(() => {});
    } }), "each rank");
    refill(profile, [notes(answer), h("div", { class: "bar" }, answer.answer && `${answer.answer.ranks} rank${answer.answer.ranks === 1 ? "" : "s"}`, ranks),
      table("Methods by own time", columns, rows), command(answer.command)]);
  }

  const shown = { kind: "scatter", method: "", models: "" };
  async function drawFigure() {
    const perMethod = ["scatter", "mean", "comm"].includes(shown.kind);
    if (perMethod && !methods.includes(shown.method)) [shown.method] = methods;
    const change = (name) => (value) => {
      shown[name] = value;
      drawFigure();
    };
    const bar = h("div", { class: "bar" },
      h("label", {}, "Figure", choice("Figure", [["scatter", "each call over a parameter"], ["mean", "mean and spread, with models"], ["comm", "time in MPI"],
        ["graph", "call graph"], ["matrix", "messages between ranks"]], shown.kind, change("kind"))),
      perMethod && h("label", {}, "Method", choice("Method", methods, shown.method, change("method"))),
      shown.kind === "mean" && h("label", {}, "Models", choice("Models", [["", "fitted to what is drawn"], ...page.of("models")], shown.models, change("models"))));
    const below = h("div", {}, "Drawing.");
    figure.replaceChildren(bar, below);
    try {
      const answer = await api.ask({ ask: "figure", records: path, kind: shown.kind, method: perMethod ? shown.method : "", models: shown.kind === "mean" ? shown.models : "" }, aborted.signal);
      refill(below, [notes(answer), answer.text && picture(answer.text, `${shown.kind} of ${shown.method || path}`), command(answer.command)]);
    } catch (error) {
      if (error.name !== "AbortError") below.replaceChildren(failure(error));
    }
  }

  const others = () => page.of("records").filter((other) => other !== path);
  const against = h("div", { "aria-live": "polite" });
  compared.append(h("label", {}, "Earlier run ", choice("Earlier run", [["", "none"], ...others()], "", drawCompared)), against);
  async function drawCompared(other) {
    if (!other) {
      against.replaceChildren();
      return;
    }
    try {
      const answer = await api.ask({ ask: "compare", first: other, second: path }, aborted.signal);
      const percent = (number) => (number === null || number === undefined ? "–" : `${number > 0 ? "+" : ""}${number.toFixed(1)} %`);
      const columns = [{ title: "method", of: (row) => row.name }, { title: "verdict", of: (row) => row.verdict },
        { title: "change", number: true, of: (row) => row.effect?.percent ?? row.difference_percent, cell: (row) => percent(row.effect?.percent) },
        { title: "between", of: (row) => row.effect?.lower_percent, cell: (row) => row.effect && (row.effect.lower_percent === null && row.effect.upper_percent === null ? "no interval" : `${percent(row.effect.lower_percent)} and ${percent(row.effect.upper_percent)}`) },
        { title: "own time before", number: true, of: (row) => row.first?.exclusive_ns, cell: (row) => (row.first ? time(row.first.exclusive_ns / 1e9) : "–") },
        { title: "own time now", number: true, of: (row) => row.second?.exclusive_ns, cell: (row) => (row.second ? time(row.second.exclusive_ns / 1e9) : "–") }];
      refill(against, [notes(answer), answer.answer && table("Methods of both runs", columns, answer.answer.methods), command(answer.command)]);
    } catch (error) {
      if (error.name !== "AbortError") against.replaceChildren(failure(error));
    }
  }

  /** Decisions of an adaptive run so far: its log, one per line; a last line that is being written is left out. */
  async function drawDecisions() {
    const file = `${path}/decisions.0.jsonl`;
    const log = await api.text(file).catch(() => "");
    const rows = log.split("\n").flatMap((line) => {
      try {
        return line ? [JSON.parse(line)] : [];
      } catch {
        return [];
      }
    }).filter((one) => one.act !== undefined);
    if (!rows.length) return;
    refill(decided, [h("h3", {}, "What it decided while it ran"), table("Decisions", [
      { title: "step", number: true, of: (row) => row.step },
      { title: "run done, %", number: true, of: (row) => row.fraction, cell: (row) => figures(Number((100 * row.fraction).toPrecision(3))) },
      { title: "instance", of: (row) => row.site },
      { title: "what", of: (row) => (row.from === row.to ? `${row.act} ${row.to}` : `${row.act} ${row.from} to ${row.to}`) + (row.calls ? `: ${row.calls}` : "") },
      { title: "why", of: (row) => row.reason },
      { title: "trials cost so far", number: true, of: (row) => row.spent_s, cell: (row) => time(row.spent_s) },
      { title: "and may cost", number: true, of: (row) => row.budget_s, cell: (row) => time(row.budget_s) },
    ], rows, { order: { at: 0, down: true } }), command(`cat ${file}`)]);
  }

  let chart = null;
  /** Each call of the run over its time. */
  async function drawCalls() {
    refill(calls, [h("p", {}, "Reading.")]);
    try {
      const ask = async (from, to, width) => {
        const size = `${Math.max(300, Math.min(10000, width + MARGIN[0]))}x${ROWS * ROW_PIXELS + MARGIN[1]}`;
        const part = from === undefined ? {} : { from: (from / 1e9).toFixed(9), to: (to / 1e9).toFixed(9) };
        return api.ask({ ask: "calls", records: path, size, ...part }, aborted.signal);
      };
      const answer = await ask(undefined, undefined, calls.clientWidth || 700);
      const found = answer.answer;
      const data = (of) => ({ ...of, end_ns: of.span_ns });
      const line = h("div", {}, command(answer.command));
      const closer = async (from, to, width) => {
        const closely = await ask(from, to, width);
        line.replaceChildren(command(closely.command));
        return closely.answer && data(closely.answer);
      };
      chart?.end();
      chart = found?.rows.length > 0 ? timeline("Calls over the time of the run", data(found), null, closer) : null;
      refill(calls, [notes(answer), chart && h("p", { class: "faint" }, "A row for each rank or thread, or for several ranks. Where calls are too many to be drawn, the share of each method; closer, each call. A call contains others: the innermost is shown."), chart?.place, line]);
    } catch (error) {
      if (error.name !== "AbortError") calls.replaceChildren(failure(error));
    }
  }
  calls.append(h("button", { type: "button", onclick: drawCalls }, "Show each call over time"));

  async function drawInfo() {
    const answer = await api.ask({ ask: "info", records: path }, aborted.signal);
    const rows = Object.entries(answer.answer ?? {}).flatMap(([key, value]) => {
      if (key === "parameters") return Object.entries(value).map(([name, set]) => [name.replace(".parameters.", "."), set]);
      if (value === null || typeof value === "object") return [];
      return [[key.replaceAll("_", " "), String(value)]];
    });
    refill(what, [notes(answer), table("What the run was", [{ title: "what", of: (row) => row[0] }, { title: "value", of: (row) => row[1] }], rows),
      command(answer.command)]);
  }

  if (!page.readOnly) {
    const output = h("input", { value: "models.json", "aria-label": "File for the models", size: 18 });
    const report = h("input", { value: `${path.replaceAll("/", "-")}.html`, "aria-label": "File for the report", size: 18 });
    next.append(h("button", { type: "button", onclick: async () => {
      const code = await page.jobs.start({ start: "fit", records: [path], output: output.value });
      if (code === 0) page.open(output.value);
    } }, "Fit models into"), output,
    h("button", { type: "button", onclick: () => page.jobs.start({ start: "report", records: path, output: report.value }) }, "Write a report into"), report);
  }
  await drawSummary();
  let cost = await drawProfile();
  await Promise.all([drawFigure(), drawInfo(), drawDecisions()]);
  let timer = null;
  return {
    end() {
      aborted.abort();
      chart?.end();
      clearTimeout(timer);
    },
    // While logs grow the rows are drawn again, as rarely as `SHARE` requires.
    changed() {
      if (timer !== null) return;
      timer = setTimeout(async () => {
        timer = null;
        try {
          cost = await drawProfile();
          await drawDecisions();
        } catch { /* The next change tries again. */ }
      }, Math.max(1000, (cost * PROCESSORS) / SHARE));
    },
  };
}
