// The chat: a thread, a composer, and the conversation that is looked at.

import { $, h, newID, say } from "./dom.js";
import { api } from "./api.js";
import { Conversation } from "./conversation.js";
import { Thread } from "./thread.js";
import { Composer } from "./composer.js";

const examples = [
  ["Use a tool", "Read README.md and tell me its first heading"],
  ["A long answer", "Explain how a message travels, with a table and some code"],
  ["Something to steer", "Count to 30 slowly, one number per line"],
];

export class Chat {
  // on: created(id), changed(), running(bool)
  constructor(on) {
    this.on = on;
    this.id = "";
    this.info = { name: "clawbot", labels: {}, commands: [] };
    this.thread = new Thread($("thread"), $("latest"), {
      older: () => this.conversation?.older(),
      trimmed: (first) => this.conversation?.trimmed(first),
      full: (position) => api.entry(this.id, position),
      click: (notice, data) => api.click(this.id, notice, data).catch((err) => this.composer.hint(err.message, true)),
    });
    this.composer = new Composer({ send: (text, mode) => this.send(text, mode), stop: () => this.stop() });
  }

  setInfo(info) {
    this.info = { labels: {}, ...info };
    this.thread.setLabels(this.info.labels);
    this.composer.name = info.name;
    this.composer.commands = info.commands ?? [];
    this.composer.maxText = info.max_text ?? this.composer.maxText;
    this.composer.changed();
    if (!this.id) this.thread.empty(this.welcome());
  }

  // show opens a conversation; an empty id is one that does not exist yet.
  show(id, fresh = false) {
    this.conversation?.close();
    this.conversation = null;
    this.id = id;
    this.composer.setRunning(false);
    if (!fresh) this.composer.show(id);
    if (id) this.conversation = new Conversation(id, this.view(), fresh);
    else {
      this.thread.empty(this.welcome());
      this.link("idle");
    }
  }

  // view is what the conversation tells of.
  view() {
    const t = this.thread;
    return {
      loading: () => t.loading(),
      show: (entries, more) => {
        t.show(entries, more);
        if (!entries.length && !this.conversation?.pending.length) t.empty(this.welcome());
      },
      append: (entries) => t.append(entries),
      prepend: (entries, more) => t.prepend(entries, more),
      fail: (err) => t.fail(err),
      text: (run) => t.setText(run),
      delta: (text) => t.delta(text),
      tool: (call) => t.tool(call),
      notice: (n) => t.notice(n),
      outcome: (error, text) => {
        t.outcome(error, text);
        if (error) say("The answer failed: " + error);
      },
      said: (m) => t.said(m),
      run: (run) => {
        t.setRun(run);
        this.composer.setRunning(run !== null);
        if (this.wasRunning !== (run !== null)) this.on.changed();
        this.wasRunning = run !== null;
      },
      pending: (messages) => t.pending(messages, {
        edit: (m) => this.composer.offer(this.conversation.take(m)),
        discard: (m) => this.conversation.take(m),
        now: (m) => this.conversation.release(m),
      }),
      link: (state) => this.link(state),
      changed: () => this.on.changed(),
    };
  }

  send(text, mode = "steer") {
    if (!this.id) {
      const id = newID();
      this.composer.moveTo(id);
      this.show(id, true);
      this.on.created(id);
    }
    this.conversation.send(text, mode);
  }

  async stop() {
    if (!this.conversation) return;
    if (this.conversation.run) this.conversation.run.stopping = true;
    this.thread.showStatus();
    await this.conversation.stop();
  }

  link(state) {
    const words = { idle: "", open: "Connected", connecting: "Connecting", offline: "Offline" };
    const el = $("link");
    el.dataset.state = state;
    el.title = words[state];
    el.querySelector(".link-text").textContent = words[state];
    $("offline").hidden = state !== "offline";
    $("offline").textContent = state === "offline" ? "No connection to the bot. Reconnecting… What you write is kept and sent then." : "";
  }

  welcome() {
    const { name, model, demo } = this.info;
    const about = demo
      ? "The built-in demo model answers: it works offline, streams, and calls real tools. Set an API key to talk to a real one."
      : "It answers here, and uses tools while it works" + (model ? ", with " + model : "") + ". Write at any time to steer it.";
    return h("section", { class: "empty" },
      h("h1", null, name),
      h("p", { class: "quiet" }, "A chat bot with an agent inside. " + about),
      h("ul", { class: "examples" }, examples.map(([title, text]) =>
        h("li", null, h("button", { type: "button", onclick: () => this.send(text) }, h("b", null, title), h("span", null, text))))));
  }
}
