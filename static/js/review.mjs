// One handoff: jump to the place of a finding, confirm an approval, keep what was typed, notice what others do.
const form = document.querySelector("[data-decide]");
const dialog = document.getElementById("confirm");

// Findings lead to their place: unfolded, outlined, focused.
function reveal(id) {
  const place = document.getElementById(id);
  if (!place) return false;
  document.querySelector(".tree .found")?.classList.remove("found");
  for (let outer = place.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
  place.classList.add("found");
  place.scrollIntoView({ block: "center" });
  (place.querySelector(":scope > summary") ?? place).focus({ preventScroll: true });
  return true;
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-jump]");
  if (!link) return;
  const id = link.getAttribute("href").slice(1);
  if (!reveal(id)) return;
  event.preventDefault();
  history.replaceState(history.state, "", link.href);
});
if (location.hash.startsWith("#at")) reveal(location.hash.slice(1));

// High findings are opened before an approval. The server counts them; what was opened leaves the list at once.
const unopened = document.querySelector("[data-unopened]");
document.addEventListener("review:opened", (event) => {
  unopened?.querySelector(`[data-number="${event.detail.number}"]`)?.remove();
  if (unopened && !unopened.querySelector("[data-number]")) unopened.hidden = true;
});

// Approving takes two acts: the button opens a confirmation, which says again what will happen.
let confirmed = false;
form?.addEventListener("submit", (event) => {
  if (event.submitter?.value === "approve" && !confirmed && dialog) {
    event.preventDefault();
    confirmApproval();
  }
});
function confirmApproval() {
  if (unopened && !unopened.hidden && !unopened.querySelector("[name=unopened]").checked) unopened.querySelector("a").focus();
  else dialog.showModal();
}
function approve() {
  confirmed = true;
  dialog.close();
  form.requestSubmit(form.querySelector("[data-approve]"));
}
dialog?.querySelector("[data-confirm]").addEventListener("click", approve);
dialog?.querySelector("[data-cancel]").addEventListener("click", () => dialog.close());
document.addEventListener("keydown", (event) => {
  if (dialog?.open && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    approve();
  }
});

// Back from confirming who they are, people find the same confirmation again. The server asked for nothing else.
const resumed = document.querySelector("[data-resumed]");
if (resumed && form?.querySelector("[data-approve]:not([disabled])")) addEventListener("load", () => setTimeout(confirmApproval)); // after the fragment took the focus

// Text survives a reload, a claim and a session that ended; a decision that counted ends it (app.mjs).
// After a refusal the page has the address of the act: the form says whose text it is.
const keyOf = (field) => `kept:${form.dataset.page}:${field.name}`;
for (const field of form?.querySelectorAll("[data-keep]") ?? []) {
  const kept = sessionStorage.getItem(keyOf(field));
  if (kept && (!field.value || resumed)) field.value = kept; // this tab's text is never older than the server's
  field.addEventListener("input", () => sessionStorage.setItem(keyOf(field), field.value));
}

// A written answer and a chosen one exclude each other.
for (const group of form?.querySelectorAll("fieldset") ?? []) {
  const other = group.querySelector("[data-other]");
  const choices = group.querySelectorAll("input[type=radio]");
  other?.addEventListener("input", () => {
    if (other.value.trim()) for (const choice of choices) choice.checked = false;
  });
  for (const choice of choices) choice.addEventListener("change", () => { if (other) other.value = ""; });
}

// Work on an item that one has claimed extends the claim, at most once a minute.
let extended = Date.now();
function extend() {
  const held = document.querySelector("#live form[data-release]");
  const token = form?.querySelector("[name=csrfmiddlewaretoken]");
  if (!held || !token || Date.now() - extended < 60_000) return;
  extended = Date.now();
  const body = new FormData();
  body.append("csrfmiddlewaretoken", token.value);
  fetch(form.dataset.extend, { method: "POST", body, redirect: "manual" });
}
for (const type of ["input", "pointerdown", "keydown"]) document.addEventListener(type, extend, { passive: true });

// Others act too. The form stays as it is; a notice says what happened, and the server refuses what is stale.
const opened = document.getElementById("live")?.dataset.version;
document.addEventListener("htmx:after:swap", () => {
  const live = document.getElementById("live");
  const notice = document.getElementById("changed");
  if (!live || !notice || live.dataset.version === opened) return;
  const title = notice.querySelector("[data-changed-title]");
  const words = live.dataset.last ? `${live.dataset.last} while you were reading` : "This handoff changed while you were reading";
  if (title.textContent !== words) title.textContent = words;
  notice.hidden = false;
  const over = live.dataset.waits !== "yes";
  for (const button of form?.querySelectorAll("button[name=action]") ?? []) button.disabled = button.disabled || over;
  const edit = form?.querySelector("[data-edit]");
  if (edit && over) edit.hidden = true;
});
