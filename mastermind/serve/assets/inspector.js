// The words of an element of a diagram, and their changes: the server makes each change in the text of the file.

import { choice, h, refill } from "./dom.js";

/** Milliseconds without a key after which an expression is checked. */
const PAUSE = 250;

/** Words that all expressions may use. */
const BUILTIN = ["process", "processes", "pid", "node", "nodes", "processors", "thread", "threads", "none", "any", "ms(", "us(", "ns(", "abs(", "floor(", "ceil(", "round(", "sqrt(", "exp(", "ln(", "log2(", "log10(",
  "min(", "max(", "div(", "xor(", "bits(", "chance("];

/** Words that name something, and are no expressions. */
const NAMES = new Set(["of", "variable", "lock", "sender", "label"]);

/**
 * `how`: `outline`, `kinds`, `item` (chosen, or null), `flow` (`{key, at, length}` of it), `problems` of it, `editable`, and functions to call:
 * `change(edits, then)`, `trial(edits)` (returns the problems after these), `close()`.
 */
export function inspect(place, how) {
  const { outline, item } = how;
  const kinds = new Map(how.kinds.map((one) => [one.kind, one]));
  const known = [...outline.declared.map((one) => (one.name.includes("(") ? `${one.name.split("(")[0]}(` : one.name)), ...BUILTIN];

  /** A field of an expression: completed and checked while one types, written when it loses the focus. */
  function field(label, text, write) {
    const wrong = h("small", { class: "bad", role: "status" });
    const offered = h("div", { class: "offered", role: "listbox", "aria-label": `Words for ${label}` });
    let timer = null;
    const input = h("input", { "aria-label": label, value: text, disabled: !how.editable, spellcheck: "false", autocomplete: "off", oninput: () => {
      offer();
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const problems = await how.trial(write(input.value)).catch((error) => [error.message]);
        if (input.isConnected) wrong.textContent = problems.join("; ");
      }, PAUSE);
    }, onchange: () => {
      clearTimeout(timer);
      if (input.value !== text) how.change(write(input.value));
    }, onkeydown: (event) => {
      const first = offered.firstElementChild;
      if (event.key === "ArrowDown" && first) first.focus();
      else if (event.key === "Escape" && first) offered.replaceChildren();
      else return;
      event.preventDefault();
    } });
    function offer() {
      const before = input.value.slice(0, input.selectionStart);
      const begun = /[A-Za-z_][A-Za-z0-9_]*$/.exec(before)?.[0] ?? "";
      const found = begun ? known.filter((one) => one.startsWith(begun) && one !== begun).slice(0, 6) : [];
      const take = (one) => {
        const at = before.length - begun.length;
        input.value = input.value.slice(0, at) + one + input.value.slice(before.length);
        offered.replaceChildren();
        input.focus();
        input.setSelectionRange(at + one.length, at + one.length);
        input.dispatchEvent(new Event("input"));
      };
      offered.replaceChildren(...found.map((one) => h("button", { type: "button", role: "option", "aria-selected": "false", onclick: () => take(one) }, one)));
    }
    input.addEventListener("blur", (event) => {
      if (!offered.contains(event.relatedTarget)) offered.replaceChildren();
    });
    return h("div", { class: "field" }, input, offered, wrong);
  }

  function words(key, said, wanted) {
    const names = [...new Set([...said.map((one) => one.word), ...wanted])];
    return names.map((word) => {
      const text = said.find((one) => one.word === word)?.text ?? "";
      const write = (now) => [{ edit: "set-word", key, word, text: now }];
      const input = NAMES.has(word) ? h("input", { "aria-label": word, value: text, disabled: !how.editable, onchange: (event) => how.change(write(event.target.value)) }) : field(word, text, write);
      return [h("dt", {}, word), h("dd", {}, input)];
    });
  }

  function adder(label, key, at, button = `Add ${label}`) {
    if (!outline.can_rearrange || !how.editable) return null;
    let kind = "action";
    const name = h("input", { "aria-label": `Name of the new element ${label}`, value: "", placeholder: "name", size: 10 });
    return h("form", { class: "bar", onsubmit: (event) => {
      event.preventDefault();
      const called = name.value.trim() || kind;
      how.change([{ edit: "insert", key, at, kind, name: called }], `${key}.${at}`);
    } }, choice(`New element ${label}`, [...kinds.keys()].map((one) => [one, `«${one}»`]), kind, (value) => { kind = value; }), name, h("button", {}, button));
  }

  function brancher() {
    const guard = h("input", { "aria-label": "Condition of the new branch", placeholder: "otherwise", size: 12 });
    return h("form", { class: "bar", onsubmit: (event) => {
      event.preventDefault();
      how.change([{ edit: "add-branch", key: item.key, guard: guard.value }]);
    } }, item.kind === "fork" ? null : guard, h("button", {}, "Add branch"));
  }

  function ofItem() {
    const wanted = (kinds.get(item.kind)?.words ?? []).map((one) => one.word);
    const { key, at, length } = how.flow;
    const move = (text, down, can) => h("button", { type: "button", disabled: !can, onclick: () => how.change([{ edit: "move", key: item.key, down }], `${key}.${at + (down ? 1 : -1)}`) }, text);
    const isCondition = item.kind === "decision" && outline.form === "plantuml" || ["fork", "repeat", "switch"].includes(item.kind) || item.words.some((one) => one.word === "condition" && outline.form === "plantuml");
    return [
      h("h3", {}, `«${item.kind}» ${item.name}`),
      h("p", { class: "faint" }, item.lines[0] === item.lines[1] ? (item.lines[0] ? `Line ${item.lines[0]} of the file.` : "") : `Lines ${item.lines[0]} to ${item.lines[1]} of the file.`),
      how.problems.length > 0 && h("ul", { class: "problems" }, how.problems.map((one) => h("li", {}, one))),
      h("dl", {}, !isCondition && [h("dt", {}, "name"), h("dd", {}, h("input", { "aria-label": "name", value: item.name, disabled: !how.editable, onchange: (event) => how.change([{ edit: "rename", key: item.key, to: event.target.value }]) }))],
        words(item.key, item.words, outline.form === "xmi" && item.kind === "action" && !item.words.some((one) => one.word === "hostDemand") ? ["cost"] : outline.form === "xmi" ? [] : wanted)),
      item.branches.map((branch, number) => [
        item.branches.length > 1 || branch.words.length > 0 ? h("h3", {}, `Branch ${number + 1}`) : null,
        h("dl", {}, words(branch.key, branch.words, item.kind === "decision" && outline.form === "toml" ? ["guard"] : [])),
        adder(item.branches.length > 1 ? `in branch ${number + 1}` : "inside", branch.key, branch.flow.length),
        outline.can_rearrange && how.editable && item.branches.length > 1 && number > 0 && h("div", { class: "bar" },
          h("button", { type: "button", onclick: () => how.change([{ edit: "remove-branch", key: branch.key }]) }, `Remove branch ${number + 1}`)),
      ]),
      outline.can_rearrange && how.editable && ["decision", "switch", "fork"].includes(item.kind) && brancher(),
      outline.can_rearrange && how.editable && h("div", { class: "bar" }, move("Move up", false, at > 0), move("Move down", true, at + 1 < length),
        h("button", { type: "button", onclick: () => how.change([{ edit: "remove", key: item.key }], null) }, "Remove")),
      adder("before", key, at), adder("after", key, at + 1),
      h("div", { class: "bar" }, h("button", { type: "button", onclick: how.close }, "Close")),
    ];
  }

  function activityAdder() {
    const name = h("input", { "aria-label": "Name of the new activity", size: 12 });
    return h("form", { class: "bar", onsubmit: (event) => {
      event.preventDefault();
      if (name.value.trim()) how.change([{ edit: "add-activity", name: name.value }]);
    } }, name, h("button", {}, "Add activity"));
  }

  function ofDiagram() {
    const declared = (section, title, example) => {
      const own = outline.declared.filter((one) => one.section === section);
      const name = h("input", { "aria-label": `New ${title}`, placeholder: example, size: 10 });
      const value = h("input", { "aria-label": `Value of the new ${title}`, placeholder: "value", size: 10 });
      return [h("h3", {}, `${title[0].toUpperCase()}${title.slice(1)}s`),
        h("dl", {}, own.map((one) => [h("dt", {}, one.name), h("dd", {}, field(`${title} ${one.name}`, one.value, (now) => [{ edit: "declare", section, name: one.name, value: now }]))])),
        how.editable && outline.form !== "xmi" && h("form", { class: "bar", onsubmit: (event) => {
          event.preventDefault();
          if (name.value.trim() && value.value.trim()) how.change([{ edit: "declare", section, name: name.value, value: value.value }]);
        } }, name, value, h("button", {}, `Add ${title}`))];
    };
    return [
      h("h3", {}, "Diagram"),
      h("p", { class: "faint" }, outline.can_rearrange ? "Choose an element to see and change what is said of it; the arrow keys go from one to the next." : "Names and values of this form are changed here; its elements are drawn in the tool that wrote it."),
      outline.form !== "xmi" && [declared("globals", "variable", "n"), declared("functions", "cost function", "f(n)")],
      outline.activities.map((activity) => [h("h3", {}, `Activity ${activity.name || "(without a name)"}`), adder(`at the end of ${activity.name || "it"}`, activity.key, activity.flow.length, "Add"),
        outline.can_rearrange && how.editable && outline.activities.length > 1 && h("div", { class: "bar" },
          h("button", { type: "button", onclick: () => how.change([{ edit: "remove-activity", key: activity.key }], null) }, `Remove activity ${activity.name}`))]),
      outline.can_rearrange && how.editable && activityAdder(),
    ];
  }

  // The text being typed is kept, although the elements around it are made anew.
  const typed = place.contains(document.activeElement) && document.activeElement.tagName === "INPUT" ? document.activeElement : null;
  const kept = typed && typed.value !== typed.defaultValue && place.dataset.key === (item?.key ?? "") ? [typed.getAttribute("aria-label"), typed.value, typed.selectionStart] : null;
  place.dataset.key = item?.key ?? "";
  refill(place, item ? ofItem() : ofDiagram());
  for (const input of place.querySelectorAll("input")) {
    input.defaultValue = input.value;
    if (kept && input.getAttribute("aria-label") === kept[0]) {
      input.value = kept[1];
      input.focus();
      input.setSelectionRange(kept[2], kept[2]);
    }
  }
}
