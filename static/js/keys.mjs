// Single keys: move, open, claim, search. They do nothing in fields, with modifiers, or when switched off.
const GO = { q: "/queue/", h: "/handoffs/", a: "/audit/", p: "/policy/" };
const enabled = () => document.body.dataset.keys !== "off";

if (enabled()) {
  for (const line of document.querySelectorAll("[data-keys-line]")) line.hidden = false;
} else {
  for (const hint of document.querySelectorAll(".btn > kbd, .key-hint")) hint.hidden = true;
}
// A poll brings fresh markup; its hint is hidden until script says that keys work.
document.addEventListener("htmx:after:swap", () => {
  for (const line of document.querySelectorAll("[data-keys-line]")) line.hidden = !enabled();
});

const links = () => [...document.querySelectorAll("tr[data-row]:not(.gone) a[data-open]")];
const findings = () => [...document.querySelectorAll("[data-finding]")];

function step(elements, by) {
  if (!elements.length) return false;
  const here = elements.findIndex((element) => element.contains(document.activeElement) || element.closest("tr")?.contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : elements.length - 1) : Math.min(elements.length - 1, Math.max(0, here + by));
  elements[next].focus({ preventScroll: true });
  (elements[next].closest("tr") ?? elements[next]).scrollIntoView({ block: "nearest" });
  return true;
}

const rowForm = (selector) => document.activeElement?.closest?.("tr[data-row]")?.querySelector(selector) ?? document.querySelector(`#live.claimbar ${selector}`);
function submit(selector) {
  const form = rowForm(selector);
  form?.requestSubmit();
  return Boolean(form);
}
function follow(selector) {
  const link = document.querySelector(selector);
  link?.click();
  return Boolean(link);
}

const ACTIONS = {
  j: () => step(links(), 1) || step(findings(), 1),
  k: () => step(links(), -1) || step(findings(), -1),
  i: () => step(findings(), 1),
  c: () => submit("form[data-claim]"),
  u: () => submit("form[data-release]") || follow("a[data-back]"),
  e: () => follow("a[data-edit]"),
  x() {
    const box = document.activeElement?.closest?.("tr[data-row]")?.querySelector("[data-pick]");
    box?.click();
    return Boolean(box);
  },
  "."() {
    const button = document.querySelector("[data-density]");
    button?.click();
    return Boolean(button);
  },
  a() {
    const button = document.querySelector("[data-approve]:not([disabled])");
    button?.click();
    return Boolean(button);
  },
  "/"() {
    const field = document.querySelector("[data-search]");
    field?.focus();
    field?.select();
    return Boolean(field);
  },
  "?"() {
    document.getElementById("keymap")?.showModal();
    return true;
  },
};

let waitingForGo = 0;
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest?.("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (!enabled() || document.querySelector("dialog[open]")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (Date.now() - waitingForGo < 1500 && GO[key]) {
    event.preventDefault();
    location.assign(GO[key]);
    return;
  }
  waitingForGo = key === "g" ? Date.now() : 0;
  if (key === "Enter" && target.matches?.("[data-finding]")) {
    event.preventDefault();
    target.querySelector("[data-jump]")?.click();
    return;
  }
  if (ACTIONS[key]?.()) event.preventDefault();
});
