// The search of the start page: it leads to the table, or with a number or an address of an item to that item in it.
"use strict";

const search = document.getElementById("search");
search.hidden = false;
search.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = new FormData(search).get("q").trim();
  const item = text.match(/^(?:https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(?:issues|pull)\/|[\w.-]+\/[\w.-]+#|#)?(\d+)(?:[?#].*)?$/);
  location.href = `items.html#${new URLSearchParams({ q: item ? `#${item[1]}` : text })}`;
});
