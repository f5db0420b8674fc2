// A program model or a diagram: its picture, its simulation on a machine.

import * as api from "./api.js";
import { choice, figures, h, refill, table, time } from "./dom.js";
import { command, failure, notes, picture } from "./parts.js";
import { editor } from "./text.js";

export async function model(page, path, place) {
  const checked = h("div");
  const drawn = h("div");
  const result = h("div", { "aria-live": "polite" });
  const asked = { machine: page.of("machine")[0] ?? "", models: "", ranks: "", set: "", sensitivity: false };
  let running = null;

  async function simulate() {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    result.replaceChildren(h("p", {}, "Simulating. ", h("button", { type: "button", onclick: () => running.abort() }, "Stop")));
    try {
      const answer = await text.ask({
        ask: "simulate", machine: asked.machine, models: asked.models, ranks: asked.ranks === "" ? null : Number(asked.ranks),
        set: asked.set.split(/\s+/).filter(Boolean), sensitivity: asked.sensitivity,
      }, signal);
      refill(result, [notes(answer), answer.answer?.makespan_ns !== undefined && h("p", { class: "total" }, "Simulated time: ", h("strong", { id: "simulated" }, time(answer.answer.makespan_ns / 1e9))),
        answer.answer && answered(answer.answer), command(answer.command)]);
    } catch (error) {
      result.replaceChildren(error.name === "AbortError" ? h("p", {}, "Stopped.") : failure(error));
    }
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

  let looked = 0;
  async function draw() {
    const mine = ++looked;
    try {
      const [check, graph] = await Promise.all([text.ask({ ask: "check" }), text.ask({ ask: "picture" })]);
      if (mine !== looked) return;
      const problems = check.answer?.problems ?? [];
      refill(checked, [problems.length > 0 && h("ul", { class: "problems", id: "problems" }, problems.map((one) => h("li", {}, finding(one)))),
        notes(check), command(check.command)]);
      // A text that is being written has no picture now and then: the last one stays.
      if (graph.text) refill(drawn, [notes(graph), picture(graph.text, `Diagram of ${path}`), command(graph.command)]);
    } catch (error) {
      checked.replaceChildren(failure(error));
    }
  }

  // A schedule in LogGOPSim's bytes is no text.
  const text = await editor(page, path, draw).catch(() => ({
    place: "", dirty: () => false, leave: () => true, changed: async () => true, ask: (question, signal) => api.ask({ ...question, file: path }, signal),
  }));
  place.append(checked, h("div", { class: "pair" }, h("div", {}, text.place), h("div", {}, drawn)), h("h3", {}, "Simulation"), form, result);
  await draw();
  return { dirty: text.dirty, leave: text.leave, changed: async () => { if (await text.changed()) await draw(); }, end: () => running?.abort() };
}

/** What the checker found: the place and the reason. */
function finding(one) {
  if (typeof one === "string") return one;
  return [one.place, one.element && `"${one.element}"`, one.reason].filter(Boolean).join(": ");
}

/** What a verb answered: its numbers, and every list of rows in it. */
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
    parts.push(h("h3", {}, key.replaceAll("_", " ")), table(key, columns, rows));
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
