// Where a person writes. It stays open while the agent works: Enter steers.

import { $, h, storage } from "./dom.js";

const draft = (id) => "clawbot.draft." + (id || "new");

export class Composer {
  // on: send(text, mode), stop()
  constructor(on) {
    this.on = on;
    this.box = $("box");
    this.id = "";
    this.running = false;
    this.maxText = 256 << 10;
    this.commands = [];
    $("composer").addEventListener("submit", (e) => {
      e.preventDefault();
      this.submit();
    });
    $("stop").addEventListener("click", () => this.stop());
    $("mode").addEventListener("change", () => {
      this.changed();
      this.box.focus();
    });
    this.box.addEventListener("keydown", (e) => this.key(e));
    // Some keyboards insert the line break although the key was handled.
    this.box.addEventListener("beforeinput", (e) => {
      if (this.entered && (e.inputType === "insertLineBreak" || e.inputType === "insertParagraph")) e.preventDefault();
    });
    this.box.addEventListener("keyup", () => (this.entered = false));
    this.box.addEventListener("input", () => this.changed());
    this.grows = CSS.supports("field-sizing", "content");
    this.changed();
  }

  // show switches to another conversation and what was begun there.
  show(id) {
    this.id = id;
    this.box.value = storage.get(draft(id)) ?? "";
    this.changed();
  }

  // moveTo keeps the text while a new conversation gets its id.
  moveTo(id) {
    storage.set(draft(this.id), "");
    this.id = id;
  }

  key(e) {
    if (this.choose(e)) return;
    // While an input method composes, Enter chooses a word.
    if (e.key !== "Enter" || e.shiftKey || e.isComposing || e.keyCode === 229) return;
    e.preventDefault();
    this.entered = true;
    this.submit();
  }

  submit() {
    const text = this.box.value.replace(/^\s*\n/, "").trimEnd();
    if (!text.trim()) return;
    const size = new TextEncoder().encode(text).length;
    if (size > this.maxText) {
      this.hint("Too long: " + Math.ceil(size / 1024) + " kB of at most " + (this.maxText >> 10) + " kB. Put the text into a file in the workspace and name the file.", true);
      return;
    }
    this.box.value = "";
    this.changed();
    this.on.send(text, this.running ? $("mode").value : "steer");
    this.box.focus();
  }

  // offer fills in a text to be sent or changed; what is there already stays.
  offer(text) {
    this.box.value = this.box.value.trim() ? this.box.value + "\n" + text : text;
    this.changed();
    this.box.focus();
  }

  async stop() {
    $("stop").disabled = true;
    try {
      await this.on.stop();
    } catch (err) {
      $("stop").disabled = false;
      this.hint("Not stopped: " + err.message, true);
    }
  }

  setRunning(running) {
    if (this.running === running) return;
    this.running = running;
    if (!running) $("mode").value = "steer";
    $("stop").disabled = false;
    const held = document.activeElement === $("stop");
    this.changed();
    if (held && !running) this.box.focus();
  }

  changed() {
    const text = this.box.value;
    storage.set(draft(this.id), text);
    if (!this.grows) {
      this.box.style.height = "auto";
      this.box.style.height = Math.min(this.box.scrollHeight, innerHeight * 0.4) + "px";
    }
    const empty = !text.trim();
    $("stop").hidden = !this.running;
    $("send").hidden = this.running && empty;
    $("send").disabled = empty;
    const mode = this.running ? $("mode").value : "send";
    const label = { send: "Send", steer: "Steer", after: "Send after this answer", interrupt: "Interrupt and send" }[mode];
    $("mode").hidden = !this.running;
    $("send").setAttribute("aria-label", label);
    $("send").title = label;
    this.box.placeholder = {
      send: "Message " + (this.name ?? "the bot"), steer: "Steer the agent", after: "Write a follow-up", interrupt: "Interrupt the agent",
    }[mode];
    this.hint({
      send: "Enter sends, Shift+Enter starts a new line",
      steer: "Your message reaches the agent after this step",
      after: "Your message is sent when this answer is finished",
      interrupt: "Your message stops this answer and begins the next",
    }[mode]);
    this.suggest();
  }

  hint(text, bad = false) {
    $("hint").textContent = text;
    $("hint").classList.toggle("idle", !bad && !this.running);
    $("hint").classList.toggle("bad", bad);
  }

  // suggest offers the commands that what is typed could become.
  suggest() {
    const m = /^\/(\w*)$/.exec(this.box.value);
    const fit = m ? this.commands.filter((c) => c.name.startsWith(m[1]) && c.name !== m[1]) : [];
    const list = $("commands");
    list.hidden = fit.length === 0;
    this.chosen = 0;
    list.replaceChildren(...fit.map((c, i) => h("li", {
      id: "command-" + c.name, role: "option", "aria-selected": String(i === 0),
      onmousedown: (e) => {
        e.preventDefault();
        this.take(c.name);
      },
    }, h("b", null, "/" + c.name), " ", h("span", { class: "quiet" }, c.description))));
    if (fit.length) this.box.setAttribute("aria-activedescendant", "command-" + fit[0].name);
    else this.box.removeAttribute("aria-activedescendant");
  }

  // choose handles a key while commands are offered and reports whether it did.
  choose(e) {
    const list = $("commands");
    if (list.hidden) return false;
    const options = [...list.children];
    if (e.key === "Escape") list.hidden = true;
    else if (e.key === "Tab" && !e.shiftKey) this.take(options[this.chosen].id.slice("command-".length));
    else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      this.chosen = (this.chosen + (e.key === "ArrowDown" ? 1 : options.length - 1)) % options.length;
      options.forEach((o, i) => o.setAttribute("aria-selected", String(i === this.chosen)));
      this.box.setAttribute("aria-activedescendant", options[this.chosen].id);
    } else return false;
    e.preventDefault();
    return true;
  }

  take(name) {
    this.box.value = "/" + name;
    this.changed();
  }
}
