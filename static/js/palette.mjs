// Ctrl K: go to any checkpoint, session, ticket or page. A combobox over what /search/ answers; the links are real.
const dialog = document.getElementById("palette");
const field = dialog?.querySelector("[role=combobox]");
const list = dialog?.querySelector("[role=listbox]");
const none = dialog?.querySelector("[data-palette-none]");
const status = dialog?.querySelector("[data-palette-status]");
const PAUSE = 120; // milliseconds after a keystroke

let asking = null;
let timer = 0;
let answered = null; // the question that the list answers
let goWhenAnswered = false;

const options = () => [...list.querySelectorAll("[role=option]")];
const current = () => list.querySelector("[aria-selected=true]");

function choose(option) {
  current()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  if (option) {
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else field.removeAttribute("aria-activedescendant");
}

function show(text) {
  list.innerHTML = text;
  const found = options();
  list.hidden = !found.length;
  none.hidden = Boolean(found.length);
  field.setAttribute("aria-expanded", String(Boolean(found.length)));
  choose(found[0]);
  say(found.length ? `${found.length} found` : "Nothing has a name that begins like this.");
}

function say(words) {
  none.textContent = words;
  status.textContent = words;
}

function fail(words) {
  show("");
  say(words);
}

async function ask() {
  asking?.abort();
  const mine = (asking = new AbortController());
  const wanted = field.value;
  list.setAttribute("aria-busy", "true");
  try {
    const address = new URL(field.form.action);
    address.searchParams.set("q", wanted);
    const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal: mine.signal, redirect: "error" });
    if (answer.status === 401) return fail("You are signed out. Reload the page to sign in again.");
    if (!answer.ok) return fail("The search does not answer now. Try again in a moment.");
    show(await answer.text());
    answered = wanted;
    if (goWhenAnswered) go();
  } catch (error) {
    if (error.name !== "AbortError") fail(navigator.onLine ? "The search cannot be reached." : "You are offline.");
  } finally {
    if (asking === mine) list.removeAttribute("aria-busy");
  }
}

// Enter before the answer came waits for it: it must not open what an older question found.
function go() {
  goWhenAnswered = answered !== field.value;
  if (!goWhenAnswered) current()?.click();
  else {
    clearTimeout(timer);
    ask();
  }
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  dialog.showModal();
  field.select();
  goWhenAnswered = false;
  ask();
}

const MOVES = {
  ArrowDown: (all, at) => all[(at + 1) % all.length],
  ArrowUp: (all, at) => all[(at - 1 + all.length) % all.length],
};

if (dialog) {
  for (const link of document.querySelectorAll("[data-palette]")) {
    link.setAttribute("aria-haspopup", "dialog");
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open();
    });
  }
  const apple = /Mac|iPhone|iPad/.test(navigator.platform);
  for (const hint of document.querySelectorAll("[data-palette-hint]")) {
    hint.textContent = apple ? "⌘ K" : "Ctrl K";
    hint.hidden = false;
  }
  dialog.querySelector("[data-palette-close]").addEventListener("click", () => dialog.close());
  field.addEventListener("input", () => {
    goWhenAnswered = false;
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  field.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    const all = options();
    if (!move || !all.length || event.isComposing) return;
    event.preventDefault();
    choose(move(all, all.indexOf(current())));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
}
