// Requests to the server of this page. The token comes with the address and stays in this tab.

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname);
}
const token = sessionStorage.getItem("token") ?? "";

/** An error, in the server's words. */
export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, body, signal) {
  const options = { headers: { "x-mastermind-token": token }, signal };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "error: the server does not answer: mastermind serve has ended");
  }
  if (response.ok) return response;
  const refusal = await response.json().catch(() => ({}));
  throw new Failure(response.status, refusal.error ?? `error: ${response.status}`);
}

const json = async (path, body, signal) => (await request(path, body, signal)).json();

export const folder = () => json("folder");
export const jobs = () => json("jobs");
export const text = async (file) => (await json(`text?file=${encodeURIComponent(file)}`)).text;
export const edit = (words, edits) => json("edit", { text: words, edits });
export const diagram = (file, words, edits) => json("diagram", { file, text: words, edits });
export const save = (file, was, words) => json("save", { file, was, text: words });
export const start = (job) => json("start", job);
export const swap = (id, instance, to) => json("swap", { id, instance, class: to });
export const stop = (id) => json("stop", { id });

/** Runs a question and returns `{command, code, answer, text, notes}`. Optional values that are empty are left out. */
export function ask(question, signal) {
  return json("ask", kept(question), signal);
}

/** The same for a text that is not saved. */
export function askDraft(file, words, question, signal) {
  return json("check", { file, text: words, question: kept(question) }, signal);
}

const kept = (question) => Object.fromEntries(Object.entries(question).filter(([, value]) => value !== "" && value !== null && value !== undefined));

/** Calls `hear` with each event, as long as the server runs; `lost` when it does not. */
export async function news(hear, lost) {
  for (;;) {
    try {
      const response = await request("news");
      lost(null);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const blocks = rest.split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
          if (data) hear(JSON.parse(data));
        }
      }
    } catch (error) {
      lost(error.message);
      if (error.status === 401) return;
    }
    await new Promise((resume) => setTimeout(resume, 1000));
    hear({ news: "again" });
  }
}
