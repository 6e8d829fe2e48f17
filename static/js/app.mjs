// What every page does once script runs: theme, times that move, the live mark, polls that cost nothing.
const root = document.documentElement;
const live = document.querySelector("[data-live]");
const SECOND = 1000;

// The server's clock decides; the browser's is only carried along.
const printed = live?.querySelector("time")?.dateTime;
const offset = printed ? Date.parse(printed) - Date.now() : 0;
const now = () => Date.now() + (Math.abs(offset) > 1500 ? offset : 0);

// Theme: at once, and remembered by the same form that works without script.
document.querySelector("[data-theme-form]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const theme = event.submitter.value;
  const data = new FormData(form, event.submitter);
  root.dataset.theme = theme;
  fetch(form.action, { method: "POST", body: data, redirect: "manual", keepalive: true });
  form.querySelector(theme === "dark" ? ".only-dark" : ".only-light")?.focus();
});

// Times
function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) {
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor((whole % 3600) / 60);
    return hours < 3 && minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  }
  return `${Math.floor(whole / 86400)} d`;
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const shortLocal = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

const writers = {
  due(element, at) {
    const left = (at - now()) / SECOND;
    const start = Date.parse(element.dataset.start);
    const used = start < at ? Math.min(1, Math.max(0, (now() - start) / (at - start))) : Number(left <= 0);
    const box = element.closest(".due");
    box?.classList.toggle("over", used >= 1);
    box?.classList.toggle("soon", used >= 0.8 && used < 1);
    const meter = box?.querySelector("meter");
    if (meter) meter.value = used;
    return left > 0 ? `${span(left)} left` : `overdue ${span(-left)}`;
  },
  span: (element, at) => span((now() - at) / SECOND),
  ago: (element, at) => `${span((now() - at) / SECOND)} ago`,
  left(element, at) {
    const left = Math.floor((at - now()) / SECOND);
    if (left <= 0) return "ran out";
    return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left`;
  },
  clock: (element, at) => (now() - at < 86400 * SECOND ? shortLocal : local).format(at),
};

export function writeTimes(within = document) {
  for (const element of within.querySelectorAll("time[data-time]")) {
    const at = Date.parse(element.dateTime);
    const write = writers[element.dataset.time];
    if (!write || Number.isNaN(at) || element.closest("[data-live]")) continue;
    const text = write(element, at);
    if (element.textContent !== text) element.textContent = text;
    if (!element.dataset.titled) {
      element.dataset.titled = "1";
      element.title = `${local.format(at)} · ${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    }
  }
}

// The live mark says how old the data is, and says so honestly when the server is away.
let heard = Date.now();
let lost = false;
function writeLive() {
  const text = live?.querySelector("[data-live-text]");
  if (!text || !document.querySelector("[data-poll]")) return;
  const age = span((Date.now() - heard) / SECOND);
  const away = lost || !navigator.onLine;
  live.dataset.state = away ? "lost" : "live";
  const words = away ? `${navigator.onLine ? "Reconnecting" : "Offline"} · data is ${age} old` : "Live";
  if (text.textContent !== words) text.textContent = words;
}

setInterval(() => {
  if (document.hidden) return;
  writeTimes();
  writeLive();
}, SECOND);
writeTimes();
writeLive();

// Polls carry the version they show; the server answers 304 while nothing changed.
const isPoll = (ctx) => ctx?.sourceElement?.matches?.("[data-poll]");
const versions = new Map();
let signedOut = false;
document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = event.detail;
  if (!isPoll(ctx)) return;
  if (document.hidden || signedOut || document.querySelector("dialog[open]")) return event.preventDefault();
  const version = versions.get(ctx.request.action);
  if (version) ctx.request.headers["If-None-Match"] = version;
});
document.addEventListener("htmx:after:request", (event) => {
  const { ctx } = event.detail;
  if (!isPoll(ctx)) return;
  const { status, headers } = ctx.response;
  lost = status >= 500;
  if (status === 200 || status === 304) heard = Date.now();
  if (status === 200 && headers.get("ETag")) versions.set(ctx.request.action, headers.get("ETag"));
  if (status === 401) {
    signedOut = true;
    toast("You are signed out. What you typed is still here.", "Sign in again", `/accounts/login/?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  writeLive();
});
document.addEventListener("htmx:error", (event) => {
  if (!isPoll(event.detail.ctx)) return;
  lost = true;
  writeLive();
});
document.addEventListener("htmx:after:swap", () => writeTimes());

// Offline nothing is sent, and nothing waits to be sent later: a late approval is dangerous.
addEventListener("offline", writeLive);
addEventListener("online", writeLive);
addEventListener("submit", (event) => {
  if (navigator.onLine || event.target.method === "dialog") return;
  event.preventDefault();
  event.stopImmediatePropagation();
  toast("You are offline. Nothing was sent, and nothing will be sent by itself later.");
}, { capture: true });

export function toast(text, link, href) {
  document.querySelector(".toast")?.remove();
  const box = document.createElement("div");
  box.className = "notice care toast";
  box.setAttribute("role", "status");
  const words = document.createElement("div");
  words.append(text);
  if (link) {
    const anchor = document.createElement("a");
    anchor.href = href;
    anchor.textContent = link;
    words.append(" ", anchor);
  }
  box.append(words);
  document.body.append(box);
}
document.addEventListener("review:toast", (event) => toast(event.detail.text));

// A decision that counted ends what was kept of its form, wherever the way led from there.
for (const { dataset } of document.querySelectorAll("[data-decided]")) {
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith(`kept:${dataset.decided}:`)) sessionStorage.removeItem(name);
  }
}

// What only makes sense with script
for (const element of document.querySelectorAll("[data-help]")) {
  element.hidden = false;
  element.addEventListener("click", () => document.getElementById("keymap").showModal());
}
// After a refused form the summary has the focus, so that a screen reader starts there.
document.querySelector("[autofocus][role=alert]")?.focus();
