"use strict";
(() => {
  const items = [...document.querySelectorAll("[data-item]")];
  const form = document.querySelector("form.filters");
  const search = form.elements.text;
  const none = document.querySelector("p.none");
  document.querySelectorAll(".script, button.theme").forEach((part) => { part.hidden = false; });
  const texts = new Map(items.map((one) => [one, one.textContent.toLowerCase()]));
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of items) {
      const fits = words.every((word) => texts.get(one).includes(word));
      one.classList.toggle("off", !fits);
      if (fits) shown += 1;
    }
    none.hidden = shown > 0;
    form.querySelector("output").textContent = shown === items.length ? `${shown} in all` : `${shown} of ${items.length}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  let here = -1;
  const step = (by, wanted) => {
    const list = items.filter((one) => !one.classList.contains("off") && wanted(one));
    if (list.length === 0) return;
    const from = items[here];
    const at = list.findIndex((one) => one === from);
    const next = at < 0
      ? list.find((one) => items.indexOf(one) > here) || list[0]
      : list[(at + by + list.length) % list.length];
    here = items.indexOf(next);
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search]");
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing) return;
    if (event.key === "/") { search.focus(); event.preventDefault(); }
    else if (event.key === "j") step(1, () => true);
    else if (event.key === "k") step(-1, () => true);
    else if (event.key === "n") step(1, (one) => one.matches(".fail") || one.querySelector(".fail"));
    else if (event.key === "Enter") {
      const inner = event.target.matches("[data-item]") ? event.target.querySelector("details") : null;
      if (inner) inner.open = !inner.open;
    }
  });
  document.querySelector("button.theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  apply();
})();
