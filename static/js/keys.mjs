// Single keys: read from the page's own data, by scope. They do nothing in fields, with modifiers, or switched off.
const data = JSON.parse(document.getElementById("keymap")?.dataset.keys ?? '{"on":false,"actions":{}}');
const scopes = new Set(["everywhere", document.body.dataset.scope]);
const PATIENCE = 1500; // milliseconds between two strokes of one key

// A poll brings fresh markup; its hint is hidden until script says that keys work.
const showLines = () => {
  for (const line of document.querySelectorAll("[data-keys-line]")) line.hidden = !data.on;
};
showLines();
document.addEventListener("htmx:after:swap", showLines);

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
function press(selector) {
  const target = document.querySelector(selector);
  target?.click();
  return Boolean(target);
}
function enter(selector) {
  const field = document.querySelector(selector);
  field?.focus();
  field?.select?.();
  return Boolean(field);
}

// What an action does; it says whether it did anything. Actions that go somewhere bring their address along.
const ACTIONS = {
  help: () => (document.getElementById("keymap")?.showModal(), true),
  search: () => enter("[data-search]"),
  next: () => step(links(), 1) || step(findings(), 1),
  previous: () => step(links(), -1) || step(findings(), -1),
  claim: () => submit("form[data-claim]"),
  release: () => submit("form[data-release]") || press("a[data-back]"),
  finding: () => step(findings(), 1),
  reason: () => enter("#reason"),
  decide: () => press("[data-approve]:not([disabled])"),
  edit: () => press("a[data-edit]"),
  choose() {
    const box = document.activeElement?.closest?.("tr[data-row]")?.querySelector("[data-pick]");
    box?.click();
    return Boolean(box);
  },
  density: () => press("[data-density]:is(button)"),
  leave: () => press("a[data-back]"),
};

const actions = Object.entries(data.actions).filter(([, action]) => action.strokes.length && action.scopes.some((scope) => scopes.has(scope)));
const found = (strokes) => actions.find(([, action]) => action.strokes.join(" ") === strokes.join(" "));
const begun = (strokes) => actions.some(([, action]) => action.strokes.length > strokes.length && action.strokes.slice(0, strokes.length).join(" ") === strokes.join(" "));

function act([name, action]) {
  if (!action.href) return ACTIONS[name]?.() ?? false;
  location.assign(action.href);
  return true;
}

let before = { stroke: "", at: 0 };
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest?.("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (!data.on || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && target.matches?.("[data-finding]")) {
    event.preventDefault();
    target.querySelector("[data-jump]")?.click();
    return;
  }
  if (event.key.length !== 1 || event.repeat && before.stroke) return;
  const stroke = event.key.toLowerCase();
  const two = Date.now() - before.at < PATIENCE ? found([before.stroke, stroke]) : null;
  before = !two && begun([stroke]) ? { stroke, at: Date.now() } : { stroke: "", at: 0 };
  const action = two ?? found([stroke]);
  if (action && act(action)) event.preventDefault();
});
