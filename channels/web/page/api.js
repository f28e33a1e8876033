// The HTTP interface of the bot.

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }

  // passing problems go away by themselves; the same request may be sent again.
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

// ask sends a request and returns the answer; what went wrong is a Problem.
export async function ask(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(30000),
    });
  } catch {
    throw new Problem("The bot can’t be reached.", 0);
  }
  if (response.status === 401) signIn();
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new Problem("The bot gave an answer that is not from this program (HTTP " + response.status + ").", response.ok ? 502 : response.status);
  }
  if (!response.ok) throw new Problem(answer?.error?.message ?? "HTTP " + response.status, response.status);
  return answer;
}

// signIn leads to the login form and back. What was typed is kept.
export function signIn() {
  location.assign("/login?next=" + encodeURIComponent(location.pathname));
}

const at = (id) => "/api/conversations/" + encodeURIComponent(id);

export const api = {
  info: () => ask("GET", "/api/info"),
  conversations: (after = "") => ask("GET", "/api/conversations?limit=50&after=" + encodeURIComponent(after)),
  tail: (id, limit) => ask("GET", at(id) + "/messages?limit=" + limit),
  before: (id, position, limit) => ask("GET", at(id) + "/messages?before=" + position + "&limit=" + limit),
  from: (id, position) => ask("GET", at(id) + "/messages?limit=500&from=" + position),
  entry: (id, position) => ask("GET", at(id) + "/messages/" + position),
  send: (id, message, text) => ask("POST", at(id) + "/messages", { id: message, text }),
  stop: (id) => ask("POST", at(id) + "/stop", {}),
  click: (id, message, data) => ask("POST", at(id) + "/click", { message, data }),
  events: (id, after) => at(id) + "/events" + (after ? "?after=" + encodeURIComponent(after) : ""),
};
