// What a person has written and the transcript does not show yet: it survives a
// reload, a lost connection and a restart of the bot.

import { storage } from "./dom.js";

const key = (conversation) => "clawbot.outbox." + conversation;
const keepFor = 24 * 3600e3;

// load returns the messages of a conversation that are on their way.
export function load(conversation) {
  try {
    const list = JSON.parse(storage.get(key(conversation)) ?? "[]");
    return Array.isArray(list) ? list.filter((m) => m && typeof m.id === "string" && typeof m.text === "string" && Date.now() - m.at < keepFor) : [];
  } catch {
    return [];
  }
}

export function save(conversation, messages) {
  storage.set(key(conversation), messages.length
    ? JSON.stringify(messages.map(({ id, text, at, state, problem, steers }) => ({ id, text, at, state, problem, steers })))
    : "");
}
