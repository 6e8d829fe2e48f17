// One handoff: reports what was looked at, keeps the recommendation back, compares at once, copies pointers.
const detail = document.querySelector("[data-detail]");
const token = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value;

function report(fields, keepalive = false) {
  if (!detail || !token()) return Promise.resolve(false);
  const body = new URLSearchParams({ ...fields, revision: detail.dataset.revision, csrfmiddlewaretoken: token() });
  return fetch(detail.dataset.detail, { method: "POST", body, redirect: "manual", keepalive }).then((answer) => answer.status === 204, () => false);
}

// A finding counts as opened when it was reached by key, clicked, unfolded, or its place shown.
const reported = new Set();
async function open(finding) {
  const { number, code } = finding.dataset;
  if ("opened" in finding.dataset || reported.has(number)) return;
  reported.add(number);
  if (!(await report({ what: "finding", number, code }))) {
    reported.delete(number);
    return;
  }
  finding.dataset.opened = "";
  document.dispatchEvent(new CustomEvent("review:opened", { detail: { number: Number(number), code } }));
}
for (const finding of document.querySelectorAll("[data-finding]")) {
  finding.addEventListener("focusin", () => open(finding));
  finding.addEventListener("click", () => open(finding));
}

// The recommendation is read after the findings, so that it does not stand in their place.
const unopened = () => [...document.querySelectorAll("[data-finding]")].filter((finding) => !("opened" in finding.dataset));
for (const details of document.querySelectorAll("[data-recommendation]")) {
  const summary = details.querySelector("summary");
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.hidden = true;
  hint.setAttribute("role", "status");
  details.after(hint);
  summary.addEventListener("click", (event) => {
    const left = unopened();
    if (!left.length || details.open) return;
    event.preventDefault();
    hint.textContent = `Open the findings first: ${left.length} ${left.length === 1 ? "is" : "are"} left.`;
    hint.hidden = false;
  });
  document.addEventListener("review:opened", () => {
    if (!unopened().length) hint.hidden = true;
  });
}

// The comparison counts as opened when it stood in front for a second.
const changes = document.querySelector("[data-diff]");
let diffReported = false;
if (changes && detail) {
  let waiting = 0;
  new IntersectionObserver(([entry], observer) => {
    clearTimeout(waiting);
    if (!entry.isIntersecting || diffReported) return;
    waiting = setTimeout(async () => {
      diffReported = await report({ what: "diff" });
      if (diffReported) observer.disconnect();
    }, 1000);
  }, { threshold: 0.1 }).observe(changes);
}

// Time with the page in front, told when it goes away.
if (detail) {
  let since = document.hidden ? 0 : Date.now();
  report({ what: "dwell", seconds: 0 });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      since = Date.now();
      return;
    }
    const seconds = since ? Math.min(3600, Math.round((Date.now() - since) / 1000)) : 0;
    since = 0;
    if (seconds) report({ what: "dwell", seconds }, true);
  });
  // Whoever works on the page keeps their claim: told at most once a minute, and only after a hand moved.
  let told = Date.now();
  const active = () => {
    if (Date.now() - told < 60_000) return;
    told = Date.now();
    report({ what: "dwell", seconds: 0 });
  };
  for (const kind of ["keydown", "pointerdown", "wheel"]) {
    document.addEventListener(kind, active, { passive: true });
  }
}

// Another document is compared as soon as it is chosen.
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("[data-compare]");
  if (form && event.target.name === "against") form.requestSubmit();
});

// A line of the document shows its pointer, to copy it or to comment on it.
const bar = document.querySelector("[data-pointer-bar]");
if (bar) {
  const shown = bar.querySelector("[data-pointer]");
  const copy = bar.querySelector("[data-copy]");
  const comment = bar.querySelector("[data-comment-here]");
  bar.hidden = false;
  const choose = (event) => {
    const line = event.target.closest?.(".tree [id^='at']");
    if (!line) return;
    const pointer = decodeURIComponent(line.id.slice(2));
    shown.textContent = pointer || "whole document";
    copy.disabled = false;
    copy.dataset.value = pointer;
    comment.disabled = !pointer;
  };
  document.addEventListener("click", choose);
  document.addEventListener("focusin", choose);
  comment.addEventListener("click", () => {
    const field = document.getElementById("pointer");
    field.value = copy.dataset.value;
    field.closest("details").open = true;
    document.getElementById("comment").focus();
  });
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(copy.dataset.value);
    document.dispatchEvent(new CustomEvent("review:toast", { detail: { text: "Pointer copied." } }));
  });
}
