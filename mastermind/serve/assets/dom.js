// Makes elements. Text is only ever text: no string of a file becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** An element of HTML. */
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** An element of SVG. */
export const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

/** Replaces the children of an element; the one with the focus passes it to the one with the same name. */
export function refill(element, children) {
  const name = (one) => one.getAttribute("aria-label") ?? one.textContent;
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (!focused) return;
  const like = [...element.querySelectorAll(focused.tagName)].find((one) => name(one) === name(focused));
  like?.focus();
}

/** A choice; `options` are values or pairs of value and text. */
export function choice(label, options, value, change, more = {}) {
  const select = h("select", { "aria-label": label, onchange: (event) => change(event.target.value), ...more },
    options.map((option) => {
      const [given, text] = Array.isArray(option) ? option : [option, option];
      return h("option", { value: given, selected: given === value }, text);
    }));
  return select;
}

/** A time in a suitable unit. */
export function time(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  const size = Math.abs(seconds);
  for (const [limit, factor, unit] of [[1e-6, 1e9, "ns"], [1e-3, 1e6, "µs"], [1, 1e3, "ms"], [Infinity, 1, "s"]]) {
    if (size < limit) return `${figures(Number((seconds * factor).toPrecision(4)))} ${unit}`;
  }
  return `${seconds} s`;
}

/** Four significant digits; a whole number unchanged. */
export function figures(number) {
  if (!Number.isFinite(number) || (Number.isInteger(number) && Math.abs(number) < 1e7)) return String(number);
  if (number === 0) return "0";
  const digits = Math.floor(Math.log10(Math.abs(number)));
  if (digits >= 6 || digits < -4) return number.toExponential(3);
  return number.toFixed(Math.max(0, 3 - digits));
}

/** A table: columns are `{title, number, of, cell}`; a click on a head sorts. */
export function table(caption, columns, rows, options = {}) {
  let order = options.order ?? null;
  const body = h("tbody");
  const heads = columns.map((column, at) => h("th", { class: column.number && "number", scope: "col" },
    h("button", { type: "button", onclick: () => {
      order = order?.at === at ? { at, down: !order.down } : { at, down: Boolean(column.number) };
      draw();
    } }, column.title)));
  function draw() {
    const sorted = [...rows];
    if (order) {
      const { of } = columns[order.at];
      const sign = order.down ? -1 : 1;
      sorted.sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        if (typeof x === "number" || typeof y === "number") return sign * ((x ?? -Infinity) - (y ?? -Infinity));
        return sign * String(x).localeCompare(String(y));
      });
    }
    heads.forEach((head, at) => {
      if (order?.at === at) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...sorted.map((row) => h("tr", {}, columns.map((column) =>
      h("td", { class: column.number && "number" }, (column.cell ?? column.of)(row))))));
  }
  draw();
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("thead", {}, h("tr", {}, heads)), body));
}

/** Actions of Control with S, Z and Y in an editor; within a field Z and Y stay the field's own. */
export const editingKeys = (page, save, step) => (event) => {
  if (!(event.ctrlKey || event.metaKey) || page.readOnly) return;
  const key = event.key.toLowerCase();
  const typing = event.target.matches?.("input, textarea");
  if (key === "s") save();
  else if (key === "z" && !typing) step(event.shiftKey ? 1 : -1);
  else if (key === "y" && !typing) step(1);
  else return;
  event.preventDefault();
};
