// Suggestions for the word at the end of the search text. A datalist offers whole texts only, so each option is
// written anew with what stands before that word.
const field = document.querySelector("[data-terms]");
const list = field && document.getElementById(field.getAttribute("list"));
const all = list ? [...list.options].map((option) => [option.value, option.textContent]) : [];
let shown = "";

function suggest() {
  const text = field.value;
  const cut = text.lastIndexOf(" ") + 1;
  const [before, word] = [text.slice(0, cut), text.slice(cut).toLowerCase()];
  if (before === shown && list.children.length && !word.includes(":")) return;
  shown = before;
  const fitting = all.filter(([value]) => value.startsWith(word.split(":")[0]) && !before.includes(`${value} `));
  list.replaceChildren(...fitting.map(([value, meaning]) => new Option(meaning, before + value)));
}

field?.addEventListener("input", suggest);
