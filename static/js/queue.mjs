// The list never moves under the hand. Rows change in place; new ones wait behind a button; gone ones turn grey.
const list = () => document.getElementById("rows");
const rowsIn = (within) => [...within.querySelectorAll("tr[data-row]")];

function parse(text) {
  return new DOMParser().parseFromString(text, "text/html");
}

// Replace one row without losing the focus that stands in it.
function refresh(row, fresh) {
  if (row.dataset.version === fresh.dataset.version && !row.classList.contains("gone")) return;
  const held = row.contains(document.activeElement);
  const replacement = document.importNode(fresh, true);
  row.replaceWith(replacement);
  window.htmx?.process(replacement);
  if (held) replacement.querySelector("a[data-open]")?.focus({ preventScroll: true });
}

function grey(row) {
  if (row.classList.contains("gone")) return;
  row.classList.add("gone");
  const cell = row.querySelector(".c-who");
  cell.dataset.note = "no longer waits here";
  cell.querySelector("form")?.remove();
}

function announce(count) {
  const news = document.querySelector("[data-news]");
  if (!news) return;
  news.hidden = count === 0;
  const words = `${count} new · show`;
  if (count && news.textContent !== words) news.textContent = words;
}

function counts(page) {
  for (const link of page.querySelectorAll(".tabs a[id]")) {
    const shown = document.getElementById(link.id)?.querySelector(".n");
    if (shown) shown.textContent = link.querySelector(".n").textContent;
  }
}

function badge(value) {
  const count = document.getElementById("nav-count");
  if (!count || !value) return;
  count.textContent = value;
  document.title = document.title.replace(/^(\(\d+\+?\) )?/, value === "0" ? "" : `(${value}) `);
}

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  if (ctx?.sourceElement?.id !== "live" || ctx.response?.status !== 200) return;
  const page = parse(ctx.text);
  badge(page.getElementById("live")?.dataset.badge);
  const shown = list();
  const fresh = rowsIn(page);
  if (!shown || !rowsIn(shown).length) return; // an empty list may be replaced: nothing can jump
  event.preventDefault();
  counts(page);
  const byId = new Map(fresh.map((row) => [row.id, row]));
  for (const row of rowsIn(shown)) {
    const same = byId.get(row.id);
    if (same) refresh(row, same);
    else grey(row);
    byId.delete(row.id);
  }
  announce(byId.size);
});
badge(document.getElementById("live")?.dataset.badge);

// How many rows are ticked; the bar itself is shown by the stylesheet.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-pick]")) return;
  const count = document.querySelectorAll("[data-pick]:checked").length;
  document.querySelector("[data-picked]").textContent = `${count} chosen`;
});
// On a phone the tabs scroll sideways: the one shown here must be in sight.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
