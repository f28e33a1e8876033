// One conversation's event stream, kept open. EventSource can't tell a silent
// connection from a dead one, and gives up on some errors; this does neither.

import { api, signIn } from "./api.js";

const silence = 40000; // the server beats every 15 s
const hiddenFor = 30000; // browsers allow six connections per host: let go of unseen ones

export class Stream {
  // on has snapshot, live, notice: functions of the event's data; and state:
  // a function of "open", "connecting" or "offline".
  constructor(id, on) {
    this.id = id;
    this.on = on;
    this.last = "";
    this.tries = 0;
    this.online = () => this.connect();
    this.seen = () => this.visibility();
    addEventListener("online", this.online);
    document.addEventListener("visibilitychange", this.seen);
    this.connect();
  }

  connect() {
    this.drop();
    if (this.closed) return;
    if (this.tries > 1) this.on.state("offline");
    else this.on.state("connecting");
    const source = new EventSource(api.events(this.id, this.last));
    this.source = source;
    source.onopen = () => {
      this.tries = 0;
      this.alive();
      this.on.state("open");
    };
    source.onerror = () => this.retry();
    source.addEventListener("ping", () => this.alive());
    for (const kind of ["snapshot", "live", "notice"]) {
      source.addEventListener(kind, (event) => {
        this.alive();
        if (event.lastEventId) this.last = event.lastEventId;
        this.on[kind](JSON.parse(event.data));
      });
    }
    this.alive();
  }

  alive() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.retry(), silence);
  }

  retry() {
    this.drop();
    if (this.closed) return;
    this.tries++;
    this.on.state(this.tries > 1 ? "offline" : "connecting");
    const wait = Math.min(300 * 2 ** (this.tries - 1), 8000) * (0.75 + Math.random() / 2);
    this.timer = setTimeout(() => this.connect(), wait);
    if (this.tries === 2) this.why();
  }

  // why finds out whether it is the session that ended: an EventSource does not
  // show the status.
  async why() {
    try {
      const response = await fetch("/api/info", { headers: { Accept: "application/json" } });
      if (response.status === 401) signIn();
    } catch { /* really away */ }
  }

  visibility() {
    clearTimeout(this.hide);
    if (document.hidden) {
      this.hide = setTimeout(() => {
        this.drop();
        this.asleep = true;
      }, hiddenFor);
    } else if (this.asleep) {
      this.asleep = false;
      this.tries = 0;
      this.connect();
    }
  }

  drop() {
    clearTimeout(this.watchdog);
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  close() {
    this.closed = true;
    this.drop();
    clearTimeout(this.hide);
    removeEventListener("online", this.online);
    document.removeEventListener("visibilitychange", this.seen);
  }
}
