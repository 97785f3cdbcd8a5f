// A button that copies it beside each command and each piece of code; where `data-copy` has words, they are the button's, and it stands
// before what the text is folded in. Without JavaScript there is no button.
"use strict";

function copied(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done ? Promise.resolve() : Promise.reject(new Error("not copied"));
}

for (const place of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  const words = place.dataset.copy || "Copy";
  button.textContent = words;
  button.addEventListener("click", () => {
    copied(place.textContent).then(
      () => { button.textContent = "Copied"; },
      () => { button.textContent = "Not copied"; },
    ).then(() => setTimeout(() => { button.textContent = words; }, 2000));
  });
  (place.dataset.copy ? place.closest("details") : place).before(button);
}
