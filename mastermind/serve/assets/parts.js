// Parts that several views share.

import { h } from "./dom.js";

/** The command line with the same result as a view. */
export function command(line) {
  return h("p", { class: "command" }, "The same in a terminal: ", h("code", {}, line));
}

/** Notes and warnings of an answer; the errors of a failed one. */
export function notes(answer) {
  if (!answer.notes.length) return null;
  const failed = answer.code !== 0;
  const lines = [];
  for (const line of answer.notes) {
    // Continuation lines are indented.
    if (/^\s/.test(line) && lines.length) lines[lines.length - 1] += ` ${line.trim()}`;
    else if (line.trim()) lines.push(line);
  }
  return h("ul", { class: failed ? "problems" : "notes" }, lines.map((line) => h("li", {}, line)));
}

/** A picture that a verb drew. */
export function picture(svg, alternative) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  return h("img", { class: "picture", src: address, alt: alternative, onload: () => URL.revokeObjectURL(address) });
}

/** An error in place of a view. */
export function failure(error) {
  return h("p", { class: "problems", role: "alert" }, error.message);
}
