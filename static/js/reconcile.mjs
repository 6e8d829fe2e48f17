// Effects of unknown outcome: approving is possible once each is known. The server refuses it all the same.
const form = document.querySelector("[data-decide]");
const approve = form?.querySelector("[data-approve]");
const notice = form?.querySelector("[data-still-unknown]");

function isUnknown(effect) {
  const chosen = effect.querySelector("input[type=radio]:checked");
  return !chosen || chosen.value === "unknown";
}
function update() {
  const unknown = [...form.querySelectorAll("[data-effect]")].some(isUnknown);
  // Somebody else may have decided meanwhile: review.mjs has closed the form then, and it stays closed.
  if (unknown) approve.disabled = true;
  else if (approve.dataset.unknown === "yes") approve.disabled = document.getElementById("live")?.dataset.waits !== "yes";
  approve.dataset.unknown = unknown ? "yes" : "no";
  notice.hidden = !unknown;
  if (unknown) approve.setAttribute("aria-describedby", notice.id);
  else approve.removeAttribute("aria-describedby");
}
if (approve && notice) {
  update();
  form.addEventListener("change", update);
}
