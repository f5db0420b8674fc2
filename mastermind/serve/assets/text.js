// A text file that is edited as text: all parts that are not typed stay unchanged.

import * as api from "./api.js";
import { editingKeys, h, refill } from "./dom.js";

/** Milliseconds without a key after which the text is checked. */
const PAUSE = 400;

/**
 * An editor of a file. `look()` is called when the text has been changed and typing pauses.
 * Returns `{place, bar, ask, now, put, dirty, changed}`; `ask` runs a question about the present text, `put` changes it as a step that Undo reverts.
 */
export async function editor(page, path, look) {
  let saved = await api.text(path);
  let timer = null;
  // All versions since the text was opened, and the index of the present one.
  let texts = [saved];
  let at = 0;
  const area = h("textarea", { "aria-label": `Text of ${path}`, rows: Math.min(30, saved.split("\n").length + 2), spellcheck: "false", readonly: page.readOnly, oninput: () => {
    drawBar();
    clearTimeout(timer);
    timer = setTimeout(() => {
      remember();
      look();
    }, PAUSE);
  } });
  area.value = saved;
  // A browser keeps line ends as LF; a file with others is shown and not written.
  const foreign = area.value !== saved;
  if (foreign) area.readOnly = true;
  const bar = h("div", { class: "bar" });
  const dirty = () => !foreign && area.value !== saved;

  function remember() {
    if (area.value === texts[at]) return;
    texts.splice(at + 1, Infinity, area.value);
    at += 1;
    drawBar();
  }

  async function put(words) {
    if (page.readOnly || foreign) return;
    remember();
    area.value = words;
    remember();
    await look();
  }

  async function step(by) {
    remember();
    if (at + by < 0 || at + by >= texts.length) return;
    at += by;
    area.value = texts[at];
    drawBar();
    await look();
  }

  async function save() {
    const words = area.value;
    try {
      await api.save(path, saved, words);
      saved = words;
      page.say("Saved.");
      drawBar();
    } catch (error) {
      page.say(error.message, true);
    }
  }

  function drawBar() {
    refill(bar, [!page.readOnly && [h("button", { type: "button", class: "main", disabled: !dirty(), onclick: save }, "Save"),
      h("button", { type: "button", disabled: at === 0, onclick: () => step(-1) }, "Undo"),
      h("button", { type: "button", disabled: at + 1 >= texts.length, onclick: () => step(1) }, "Redo")],
    dirty() && h("button", { type: "button", onclick: () => put(saved) }, "Back to the file"),
    foreign && h("span", { class: "faint" }, "Lines of this file end with CR: it is not edited here.")]);
  }
  drawBar();
  const keys = editingKeys(page, save, step);
  document.addEventListener("keydown", keys);
  return {
    area, bar, put, dirty,
    place: h("div", {}, bar, area),
    now: () => (foreign ? saved : area.value),
    editable: () => !page.readOnly && !foreign,
    ask: (question, signal) => (dirty() && !page.readOnly ? api.askDraft(path, area.value, question, signal) : api.ask({ ...question, file: path }, signal)),
    async changed() {
      const now = await api.text(path).catch(() => null);
      if (now === null || now === saved) return false;
      if (dirty()) {
        page.say("The file has changed underneath: Save refuses to write over it.", true);
        return false;
      }
      saved = now;
      area.value = now;
      remember();
      return true;
    },
    leave: () => !dirty() || confirm("The changes are not saved. Leave them?"),
    end: () => document.removeEventListener("keydown", keys),
  };
}
