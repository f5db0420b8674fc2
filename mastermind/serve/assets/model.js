// A program model or a diagram: its picture, in which it is edited; its simulation, whose times are shown and played in the picture.

import * as api from "./api.js";
import { choice, figures, h, refill, table, time } from "./dom.js";
import { draw as drawDiagram, stepsOf } from "./drawing.js";
import { inspect } from "./inspector.js";
import { command, failure, notes, picture } from "./parts.js";
import { follow } from "./playback.js";
import { editor } from "./text.js";

/** Number of processes that are followed, and of events up to which a run is followed without a request. */
const FOLLOWED = 64;
const MAX_EVENTS = 300_000;

/** Files for which `graph` draws the author's own picture. */
const PICTURES = /\.(mmd|mermaid|md|markdown)$/;

export async function model(page, path, place) {
  const checked = h("div");
  const drawn = h("div", { class: "wiring" });
  const inspector = h("aside", { class: "inspector", "aria-label": "Element" });
  const below = h("div");
  const result = h("div", { "aria-live": "polite" });
  const following = h("div");
  const player = h("div");
  const asked = { machine: page.of("machine")[0] ?? "", models: "", ranks: "", set: "", sensitivity: false };
  const now = { outline: null, kinds: [], graph: null, steps: [], items: new Map(), problems: [], chosen: null, shares: new Map(), shown: null };
  let running = null;
  let playing = null;

  const setting = () => ({ machine: asked.machine, models: asked.models, ranks: asked.ranks === "" ? null : Number(asked.ranks), set: asked.set.split(/\s+/).filter(Boolean) });

  async function simulate() {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    const begin = performance.now();
    const passed = h("span", {}, "");
    const clock = setInterval(() => { passed.textContent = ` ${time((performance.now() - begin) / 1e3)}`; }, 200);
    result.replaceChildren(h("p", {}, "Simulating.", passed, " ", h("button", { type: "button", onclick: () => running.abort() }, "Stop")));
    stopPlaying();
    try {
      const answer = await text.ask({ ask: "simulate", ...setting(), sensitivity: asked.sensitivity }, signal);
      const found = answer.answer;
      refill(result, [notes(answer), found?.makespan_ns !== undefined && h("p", { class: "total" }, "Simulated time: ", h("strong", { id: "simulated" }, time(found.makespan_ns / 1e9))),
        found && processes(found), found && answered(Object.fromEntries(Object.entries(found).filter(([key]) => key !== "processes"))), command(answer.command)]);
      if (found?.elements) {
        share(found);
        drawPicture();
        const ask = () => followRun(found, signal);
        if (found.events <= MAX_EVENTS) await ask();
        else following.replaceChildren(h("p", {}, `${figures(found.events)} events. `, h("button", { type: "button", onclick: ask }, "Follow what each process does")));
      }
    } catch (error) {
      result.replaceChildren(error.name === "AbortError" ? h("p", {}, "Stopped.") : failure(error));
    } finally {
      clearInterval(clock);
    }
  }

  /** Shares of the time of all processes by step. A step that contains others has their sum. */
  function share(found) {
    const total = found.processes.reduce((sum, one) => sum + one.finish_ns, 0);
    if (total === 0) return;
    const by = new Map(found.elements.map((one) => [`${one.place}\n${one.name}`, one]));
    now.shares = new Map();
    const sum = (flow) => flow.reduce((all, step) => {
      const inner = sum((step.branches ?? []).flatMap((way) => way.flow));
      const own = by.get(`${step.place}\n${step.name}`);
      const total_ns = own ? own.total_ns : inner.total_ns;
      const wait_ns = own ? own.wait_ns ?? 0 : inner.wait_ns;
      if (own || step.branches) now.shares.set(step.id, { share: total_ns / total, wait: wait_ns / total, total_ns, wait_ns });
      return { total_ns: all.total_ns + total_ns, wait_ns: all.wait_ns + wait_ns };
    }, { total_ns: 0, wait_ns: 0 });
    now.graph?.activities.forEach((activity) => sum(activity.flow));
  }

  async function followRun(found, signal) {
    const most = Math.min(found.processes.length, FOLLOWED);
    following.replaceChildren(h("p", {}, "Following."));
    try {
      const answer = await text.ask({ ask: "simulate", ...setting(), timeline: `0-${most - 1}` }, signal);
      if (!answer.answer) {
        refill(following, [notes(answer), command(answer.command)]);
        return;
      }
      share(answer.answer);
      drawPicture();
      const steps = new Map(now.steps.map((step) => [`${step.place}\n${step.name}`, step.id]));
      playing = follow(answer.answer, (element) => steps.get(`${element.place}\n${element.name}`), (places, flights) => now.shown?.tokens(places, flights));
      player.replaceChildren(playing.bar);
      refill(following, [h("h3", {}, "What the processes do when"), most < found.processes.length && h("p", { class: "faint" }, `The first ${most} of ${found.processes.length} processes.`), playing.place, command(answer.command)]);
    } catch (error) {
      following.replaceChildren(error.name === "AbortError" ? "" : failure(error));
    }
  }

  function stopPlaying() {
    playing?.end();
    playing = null;
    following.replaceChildren();
    player.replaceChildren();
    now.shares = new Map();
    now.shown?.tokens(new Map(), []);
  }

  const form = h("form", { class: "bar", onsubmit: (event) => {
    event.preventDefault();
    simulate();
  } },
  h("label", {}, "Machine", choice("Machine", [["", "none"], ...page.of("machine")], asked.machine, (value) => { asked.machine = value; })),
  h("label", {}, "Ranks", h("input", { type: "number", min: 1, step: 1, size: 6, oninput: (event) => { asked.ranks = event.target.value; } })),
  h("label", {}, "Models", choice("Models", [["", "none"], ...page.of("models")], "", (value) => { asked.models = value; })),
  h("label", {}, "Variables", h("input", { placeholder: "n=100 m=2", oninput: (event) => { asked.set = event.target.value; } })),
  h("label", {}, h("input", { type: "checkbox", onchange: (event) => { asked.sensitivity = event.target.checked; } }), "what it depends on"),
  h("button", { class: "main" }, "Simulate"));

  /** The elements of the file, by their step in the picture. */
  function match() {
    now.items = new Map();
    if (!now.outline || !now.graph) return;
    const all = (flow) => flow.flatMap((item, at) => [{ item, flow, at }, ...item.branches.flatMap((branch) => all(branch.flow))]);
    const steps = (flow) => flow.flatMap((step) => [step, ...(step.branches ?? []).flatMap((way) => steps(way.flow))]);
    const same = { fork: "parallel", repeat: "while", switch: "decision", group: "loop" };
    now.outline.activities.forEach((activity, number) => {
      const graph = now.graph.activities.find((one) => one.name === activity.name) ?? (now.outline.activities.length === 1 ? now.graph.activities[0] : now.graph.activities.find((one) => one.name === `Activity ${number + 1}`));
      if (!graph) return;
      const left = steps(graph.flow);
      const open = all(activity.flow);
      // The same name in the same order; then, of the rest, the same type.
      const tests = [(step, item) => step.name === item.name, (step, item) => step.kind === (same[item.kind] ?? item.kind)];
      for (const test of tests) {
        for (const one of open) {
          if (one.step !== undefined) continue;
          const at = left.findIndex((step) => test(step, one.item));
          if (at < 0) continue;
          one.step = left.splice(at, 1)[0].id;
        }
      }
      for (const one of open) {
        const key = one.item.key.slice(0, one.item.key.lastIndexOf("."));
        now.items.set(one.item.key, { ...one, key });
      }
    });
  }

  /** The element of a finding. */
  function keyOf(problem) {
    const line = Number(/^line (\d+)$/.exec(problem.place ?? "")?.[1]);
    const found = [...now.items.values()].filter(({ item, step }) => {
      if (line) return item.lines[0] <= line && line <= item.lines[1];
      const own = now.steps.find((one) => one.id === step);
      return own ? own.place === problem.place && own.name === problem.element : item.name === problem.element;
    });
    return found.at(-1)?.item.key ?? null;
  }

  function drawPicture() {
    if (!now.graph) return;
    const stepOf = (key) => now.items.get(key)?.step;
    const problems = new Set(now.problems.map((one) => stepOf(keyOf(one))).filter((step) => step !== undefined));
    const focused = document.activeElement?.getAttribute?.("data-step");
    now.shown = drawDiagram(now.graph, {
      chosen: stepOf(now.chosen), problems, shares: now.shares,
      choose(step) {
        const found = [...now.items.values()].find((one) => one.step === step);
        choose(found?.item.key ?? null);
      },
    });
    drawn.replaceChildren(now.shown.picture);
    playing?.again();
    if (focused !== null && focused !== undefined) drawn.querySelector(`[data-step="${focused}"]`)?.focus();
  }

  function choose(key) {
    now.chosen = key;
    drawPicture();
    drawInspector();
  }

  async function change(edits, then = now.chosen) {
    try {
      const answer = await api.diagram(path, text.now(), edits);
      const moved = then !== now.chosen;
      now.chosen = then;
      await text.put(answer.text);
      if (moved) inspector.querySelector("input, button")?.focus();
    } catch (error) {
      page.say(error.message, true);
      drawInspector();
    }
  }

  /** Findings of the checker after some changes. */
  async function trial(edits) {
    const answer = await api.diagram(path, text.now(), edits);
    const check = await api.askDraft(path, answer.text, { ask: "check", models: asked.models });
    const before = new Set(now.problems.map(finding));
    const found = (check.answer?.problems ?? []).map(finding).filter((one) => !before.has(one) || keyOfText(one));
    return check.answer ? found : check.notes;
  }
  const keyOfText = (sentence) => now.problems.some((one) => finding(one) === sentence && keyOf(one) === now.chosen);

  function drawInspector() {
    if (!now.outline) {
      inspector.replaceChildren(h("p", { class: "faint" }, "This file is edited as text."));
      return;
    }
    const found = now.items.get(now.chosen);
    if (!found) now.chosen = null;
    inspect(inspector, {
      outline: now.outline, kinds: now.kinds, item: found?.item ?? null, flow: found && { key: found.key, at: found.at, length: found.flow.length },
      problems: now.problems.filter((one) => keyOf(one) === now.chosen && now.chosen !== null).map(finding), editable: text.editable?.() ?? false, change, trial,
      close() {
        const step = found?.step;
        choose(null);
        drawn.querySelector(`[data-step="${step}"]`)?.focus();
      },
    });
  }

  let looked = 0;
  async function draw() {
    const mine = ++looked;
    place.setAttribute("aria-busy", "true");
    try {
      const [check, graph, outline, author] = await Promise.all([text.ask({ ask: "check", models: asked.models }), text.ask({ ask: "diagram" }),
        text.now ? api.diagram(path, text.now(), []).catch(() => null) : null, PICTURES.test(path) ? text.ask({ ask: "picture" }) : null]);
      if (mine !== looked) return;
      now.problems = (check.answer?.problems ?? []).filter((one) => typeof one !== "string");
      now.outline = outline?.outline ?? null;
      now.kinds = outline?.kinds ?? [];
      // A text that is being edited has no picture at times: the last one stays.
      if (graph.answer) {
        now.graph = graph.answer;
        now.steps = stepsOf(now.graph);
        now.shares = new Map();
        stopPlaying();
      }
      match();
      const problems = check.answer?.problems ?? [];
      refill(checked, [problems.length > 0 && h("ul", { class: "problems", id: "problems" }, problems.map((one) => {
        const key = typeof one === "string" ? null : keyOf(one);
        return h("li", {}, finding(one), " ", key && h("button", { type: "button", onclick: () => choose(key) }, "Show it"));
      })), notes(check), command(check.command)]);
      drawPicture();
      refill(below, [author?.text && h("details", { open: true }, h("summary", {}, "As its author drew it"), picture(author.text, `Diagram of ${path}`)), command(graph.command)]);
      drawInspector();
    } catch (error) {
      checked.replaceChildren(failure(error));
    } finally {
      if (mine === looked) place.removeAttribute("aria-busy");
    }
  }

  // A schedule in LogGOPSim's bytes is no text.
  const text = await editor(page, path, draw).catch(() => ({
    place: "", dirty: () => false, leave: () => true, changed: async () => true, ask: (question, signal) => api.ask({ ...question, file: path }, signal), end: () => {},
  }));
  const words = text.area && h("details", {}, h("summary", {}, "Text"), text.area);
  if (words && !PICTURES.test(path) && !/\.goal$/.test(path)) words.open = false;
  else if (words) words.open = true;
  place.append(text.bar ?? "", checked, h("div", { class: "work" }, h("div", {}, drawn, player, below, words ?? ""), inspector), h("h3", {}, "Simulation"), form, result, following);
  await draw();
  return { dirty: text.dirty, leave: text.leave, changed: async () => { if (await text.changed()) await draw(); }, end() {
    running?.abort();
    playing?.end();
    text.end();
  } };
}

/** Findings of the checker: the position and the reason. */
function finding(one) {
  if (typeof one === "string") return one;
  return [one.place, one.element && `"${one.element}"`, one.reason].filter(Boolean).join(": ");
}

/** A bar for each process, of the first hundred: work, overhead of messages, waiting. */
function processes(found) {
  const shown = (found.processes ?? []).slice(0, 100);
  if (!shown.length || !found.makespan_ns) return null;
  const part = (name, ns) => {
    const bar = h("span", { class: `part ${name}`, title: `${name}: ${time(ns / 1e9)}` });
    bar.style.width = `${((100 * ns) / found.makespan_ns).toFixed(2)}%`;
    return bar;
  };
  return h("details", {}, h("summary", {}, `Processes${shown.length < found.processes.length ? `, the first ${shown.length} of ${found.processes.length}` : ""}`), h("ul", { class: "bars" }, shown.map((one) => h("li", {
    "aria-label": `process ${one.rank}: work ${time(one.work_ns / 1e9)}, messages' overhead ${time(one.overhead_ns / 1e9)}, waiting ${time(one.wait_ns / 1e9)}` },
  h("span", { class: "who" }, one.rank), part("work", one.work_ns), part("overhead", one.overhead_ns), part("waiting", one.wait_ns)))),
  h("p", { class: "faint" }, h("span", { class: "part work key" }), " work ", h("span", { class: "part overhead key" }), " messages' overhead ", h("span", { class: "part waiting key" }), " waiting"),
  table("processes", [["rank", (one) => one.rank, String], ...["finish", "work", "overhead", "wait"].map((name) => [name, (one) => one[`${name}_ns`], (ns) => time(ns / 1e9)])].map(([title, of, said]) => (
    { title, number: true, of, cell: (one) => said(of(one)) })), found.processes.slice(0, 1000)));
}

/** Answer of a verb: its numbers, and every list of rows in it. */
export function answered(answer) {
  const parts = [];
  const plain = Object.entries(answer).filter(([, value]) => value === null || typeof value !== "object");
  parts.push(h("p", { class: "faint" }, plain.map(([key, value]) => [`${titled(key)}: `,
    h("strong", {}, shown(key, value)), "  "])));
  for (const [key, value] of Object.entries(answer)) {
    const rows = Array.isArray(value) ? value : null;
    if (!rows?.length || typeof rows[0] !== "object" || rows[0] === null) continue;
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.some((row) => typeof row[name] !== "object"));
    const columns = names.map((name) => ({
      title: titled(name), number: typeof rows[0][name] === "number", of: (row) => row[name], cell: (row) => shown(name, row[name]),
    }));
    const title = key.replaceAll("_", " ");
    const many = rows.length > 12 && key !== "elements";
    parts.push(many ? h("details", {}, h("summary", {}, `${title} (${rows.length})`), table(key, columns, rows)) : [h("h3", {}, title), table(key, columns, rows)]);
  }
  return h("div", {}, parts);
}

const titled = (key) => key.replace(/_n?s$/, "").replaceAll("_", " ");

/** A value; one whose name ends in a unit of time as a time. */
function shown(key, value) {
  if (typeof value !== "number") return String(value ?? "–");
  if (key.endsWith("_ns")) return time(value / 1e9);
  return key.endsWith("_s") ? time(value) : figures(value);
}
