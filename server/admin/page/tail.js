// An event stream that is kept open while the page is seen, and goes on where it
// was: the id of the last event is the number to go on from.

import { signIn } from "/assets/api.js";

const silence = 40000; // the server says something every 15 s

export class Tail {
  // on has a function of the data for each kind of event, and state(text).
  constructor(address, from, on) {
    Object.assign(this, { address, from, on });
    this.seen = () => (document.hidden ? this.drop() : this.open());
    document.addEventListener("visibilitychange", this.seen);
    this.open();
  }

  open() {
    this.drop();
    if (this.closed) return;
    this.on.state?.("connecting");
    const source = (this.source = new EventSource(this.address + (this.address.includes("?") ? "&" : "?") + "from=" + this.from));
    source.onopen = () => {
      this.on.state?.("open");
      this.alive();
    };
    source.onerror = () => this.again(3000);
    for (const kind of [...Object.keys(this.on), "ping"]) {
      source.addEventListener(kind, (e) => {
        this.alive();
        if (e.lastEventId) this.from = Number(e.lastEventId);
        this.on[kind]?.(JSON.parse(e.data));
      });
    }
    this.alive();
  }

  alive() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), silence);
  }

  async again(ms) {
    this.drop();
    this.on.state?.("offline");
    this.timer = setTimeout(() => this.open(), ms);
    try {
      const answer = await fetch("/admin/api/state", { headers: { Accept: "application/json" } });
      if (answer.status === 401 && !this.closed) signIn();
    } catch { /* the bot is away; it is tried again */ }
  }

  drop() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  close() {
    this.closed = true;
    this.drop();
    document.removeEventListener("visibilitychange", this.seen);
  }
}
