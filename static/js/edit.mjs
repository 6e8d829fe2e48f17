// The edit page: the text is checked and kept as a draft whenever typing pauses; suggestions and fields change it.
const form = document.querySelector("[data-edit-form]");
const area = form?.elements.document;
const panel = form?.querySelector("[data-checked]");
const PAUSE = 600;
let timer = 0;
let running = null;
let checkedText = area?.value;
let editor = null; // the code editor, once it is there

const text = () => area.value;
function write(value) {
  area.value = value;
  editor?.write(value);
}

async function check(wanted) {
  clearTimeout(timer);
  running?.abort();
  const mine = (running = new AbortController());
  const body = new FormData(form);
  body.set("do", wanted);
  const sent = text();
  panel.toggleAttribute("aria-busy", true);
  try {
    const response = await fetch(form.dataset.check, { method: "POST", body, signal: mine.signal, headers: { "HX-Request": "true" } });
    if (response.status === 401) return say("You are signed out. What you typed is still here: sign in in another tab, then check again.");
    if (!response.ok) return say(`The text could not be checked (${response.status}). It is still here.`);
    show(await response.text(), sent);
  } catch (error) {
    if (error.name !== "AbortError") say("The server cannot be reached. What you typed is still here.");
  } finally {
    if (running === mine) panel.removeAttribute("aria-busy");
  }
}

function show(answer, sent) {
  const page = new DOMParser().parseFromString(answer, "text/html");
  const replaced = page.querySelector("template[data-text]");
  const focused = document.activeElement?.value;
  if (replaced && text() === sent) write(replaced.content.textContent);
  for (const template of page.querySelectorAll("template[data-field-value]")) {
    const name = template.dataset.fieldValue;
    const value = template.content.textContent;
    const field = form.elements[`set:${name}`];
    const was = form.elements[`was:${name}`];
    if (field && field.value === was.value) field.value = value;
    else if (field && replaced) field.value = value;
    if (was && (replaced || field?.value === value)) was.value = value;
  }
  for (const template of page.querySelectorAll("template")) template.remove();
  panel.replaceChildren(...[...page.body.childNodes].map((node) => document.importNode(node, true)));
  if (focused?.startsWith?.("apply:")) panel.querySelector("[data-apply], [data-check-now]")?.focus();
  checkedText = text();
  editor?.mark(panel.querySelector("[data-fault]")?.dataset.fault ?? null, panel.querySelector("[data-state=fault] .notice p")?.textContent ?? "");
}

function say(words) {
  const note = document.createElement("p");
  note.className = "notice care";
  note.setAttribute("role", "alert");
  note.textContent = words;
  panel.prepend(note);
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(() => (text() === checkedText ? null : check("check")), PAUSE);
}

form?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-apply], [data-check-now]");
  if (!button) return;
  event.preventDefault();
  check(button.value);
});
form?.addEventListener("change", (event) => {
  if (event.target.matches("[data-field]")) check("check");
});
form?.addEventListener("input", (event) => {
  if (event.target === area) later();
  if (event.target.name === "reason") {
    checkedText = null;
    later();
  }
});

// The editor is large: it comes only here, and the text area works without it.
const place = form?.querySelector("[data-code-editor]");
// Seen from outside of its shadow, typing there comes from a plain element: the page's single keys must not hear it.
place?.addEventListener("keydown", (event) => {
  if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
});
if (place && matchMedia("(min-width: 40rem)").matches) {
  import(form.dataset.editor)
    .then(({ open }) => {
      editor = open(place, {
        text: area.value,
        label: "Document, as JSON",
        changed(value) {
          area.value = value;
          later();
        },
      });
      place.hidden = false;
      area.hidden = true;
      area.required = false; // a hidden field cannot show what the browser says; the server checks it all the same
    })
    .catch(() => {});
}
