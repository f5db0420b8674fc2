// Files that are edited as text: machines, networks, scripts; with the results of `check` and `queue`.

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
  const form = h("div");
  const text = await editor(page, path, async () => {
    drawForm();
    await look();
  });
  /** A machine as a form: each value on a line of its own; the rest of that line stays. */
  function drawForm() {
    if (kind !== "machine") return;
    const lines = text.now().split("\n");
    let section = "";
    const groups = new Map();
    lines.forEach((line, at) => {
      section = /^\s*\[+([^\]]+)\]/.exec(line)?.[1].trim() ?? section;
      const found = /^(\s*[A-Za-z_][A-Za-z0-9_]*\s*=\s*)("[^"]*"|[-+0-9.eE_]+|true|false)(\s*(?:#.*)?)$/.exec(line);
      if (!found) return;
      const [, before, value, behind] = found;
      const key = before.split("=")[0].trim();
      const shown = value.replace(/^"(.*)"$/, "$1");
      const write = (now) => {
        const number = /^[-+]?[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(now) || /^(true|false)$/.test(now);
        const changed = [...lines];
        changed[at] = before + (value.startsWith("\"") || !number ? JSON.stringify(now) : now) + behind;
        text.put(changed.join("\n"));
      };
      if (!groups.has(section)) groups.set(section, []);
      groups.get(section).push([h("dt", {}, key), h("dd", {}, h("input", { "aria-label": `${section}.${key}`, value: shown, disabled: !text.editable(), onchange: (event) => write(event.target.value.trim()) }),
        behind.includes("#") && h("small", {}, behind.replace(/^\s*#\s*/, "")))]);
    });
    refill(form, [...groups].map(([name, fields]) => h("section", {}, h("h3", {}, name), h("dl", {}, fields))));
  }
  form.className = "inspector form";
  if (kind === "machine") {
    place.append(text.bar, form, h("details", {}, h("summary", {}, "Text"), text.area), below);
    drawForm();
  } else place.append(text.place, below);
  await look();
  return { dirty: text.dirty, leave: text.leave, end: text.end, changed: async () => { if (!await text.changed()) return; drawForm(); await look(); } };
}
