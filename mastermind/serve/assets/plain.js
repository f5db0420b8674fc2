// Files that are edited as text: machines, networks, scripts; with what `check` and `queue` say of them.

import { h, refill } from "./dom.js";
import { answered } from "./model.js";
import { command, failure, notes } from "./parts.js";
import { editor } from "./text.js";

export async function plain(page, path, place) {
  const { kind } = page.entries.find((entry) => entry.path === path);
  const question = { script: { ask: "check" }, network: { ask: "queue" } }[kind];
  const below = h("div", { "aria-live": "polite" });
  async function look() {
    if (!question) return;
    try {
      const answer = await text.ask(question);
      const problems = answer.answer?.problems ?? [];
      refill(below, [problems.length > 0 && h("ul", { class: "problems" }, problems.map((one) => h("li", {}, String(one)))), notes(answer),
        kind === "network" && answer.answer && answered(answer.answer), command(answer.command)]);
    } catch (error) {
      below.replaceChildren(failure(error));
    }
  }
  const text = await editor(page, path, look);
  place.append(text.place, below);
  await look();
  return { dirty: text.dirty, leave: text.leave, end: text.end, changed: async () => { if (await text.changed()) await look(); } };
}
