// A text file that is edited as text: what is not typed stays as it was.

import * as api from "./api.js";
import { h, refill } from "./dom.js";

/** After so many milliseconds without a key the text is looked at. */
const PAUSE = 400;

/**
 * An editor of a file. `look()` is called when the text has been changed and typing pauses.
 * Gives `{place, ask, dirty, changed}`; `ask` asks a question about the text as it is.
 */
export async function editor(page, path, look) {
  let saved = await api.text(path);
  let timer = null;
  const area = h("textarea", { "aria-label": `Text of ${path}`, rows: Math.min(30, saved.split("\n").length + 2), spellcheck: "false", readonly: page.readOnly, oninput: () => {
    drawBar();
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  } });
  area.value = saved;
  // A browser keeps line ends as LF; a file that has others is shown and not written.
  const foreign = area.value !== saved;
  if (foreign) area.readOnly = true;
  const bar = h("div", { class: "bar" });
  const dirty = () => !foreign && area.value !== saved;

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
    refill(bar, [!page.readOnly && h("button", { type: "button", class: "main", disabled: !dirty(), onclick: save }, "Save"),
      dirty() && h("button", { type: "button", onclick: () => {
        area.value = saved;
        drawBar();
        look();
      } }, "Back to the file"),
      foreign && h("span", { class: "faint" }, "Lines of this file end with CR: it is not edited here.")]);
  }
  drawBar();
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      event.preventDefault();
      save();
    }
  });
  return {
    place: h("details", { open: true }, h("summary", {}, "Text"), bar, area),
    dirty,
    ask: (question, signal) => (dirty() ? api.askDraft(path, area.value, question, signal) : api.ask({ ...question, file: path }, signal)),
    async changed() {
      const now = await api.text(path).catch(() => null);
      if (now === null || now === saved) return false;
      if (dirty()) {
        page.say("The file has changed underneath: Save refuses to write over it.", true);
        return false;
      }
      saved = now;
      area.value = now;
      return true;
    },
    leave: () => !dirty() || confirm("The changes are not saved. Leave them?"),
  };
}
