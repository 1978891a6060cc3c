"use strict";
(() => {
  const items = [...document.querySelectorAll("[data-item]")];
  const form = document.querySelector("form.filters");
  const search = form.elements.text;
  const none = document.querySelector("p.none");
  document.querySelectorAll(".script, button.theme").forEach((part) => { part.hidden = false; });
  const texts = new Map();
  const textOf = (one) => { if (!texts.has(one)) texts.set(one, one.textContent.toLowerCase()); return texts.get(one); };
  const notes = [...document.querySelectorAll("textarea[data-run]")];
  const hasNote = (one) => [...one.querySelectorAll("textarea[data-run]")].some((note) => note.value.trim());
  const kinds = {
    all: () => true,
    fail: (one) => one.dataset.status.includes("fail"),
    skipped: (one) => one.dataset.status.includes("skipped"),
    differ: (one) => new Set(one.dataset.status.split(" ")).size > 1,
    pass: (one) => one.dataset.status.split(" ")[0] === "pass",
    note: hasNote,
  };
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = kinds[form.elements.show.value] || kinds.all;
    let shown = 0;
    for (const one of items) {
      const fits = wanted(one) && words.every((word) => textOf(one).includes(word));
      one.classList.toggle("off", !fits);
      if (fits) shown += 1;
    }
    none.hidden = shown > 0;
    form.querySelector("output").textContent = shown === items.length ? `${shown} in all` : `${shown} of ${items.length}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  // Notes stay in this browser until they are saved beside the page.
  const key = "clawgate-notes:" + document.body.dataset.page;
  const store = { get: () => { try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; } },
    set: (kept) => { try { localStorage.setItem(key, JSON.stringify(kept)); } catch { /* a browser that keeps nothing */ } } };
  const kept = store.get();
  const state = document.querySelector(".notes-state");
  const count = () => {
    const written = notes.filter((note) => note.value.trim()).length;
    state.textContent = written === 1 ? "1 note" : `${written} notes`;
  };
  for (const note of notes) {
    if (typeof kept[note.dataset.run] === "string") note.value = kept[note.dataset.run];
    note.addEventListener("input", () => { kept[note.dataset.run] = note.value; store.set(kept); count(); });
  }
  const feedback = () => {
    const timestamp = new Date().toISOString();
    const reviews = notes.map((note) => ({ run_id: note.dataset.run, feedback: note.value, timestamp }));
    return JSON.stringify({ reviews: reviews.filter((review) => review.feedback.trim()), status: "complete" }, null, 2);
  };
  document.querySelector("button.save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([feedback()], { type: "application/json" }));
    link.download = "feedback.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  window.clawgateFeedback = feedback;
  let here = -1;
  const step = (by, wanted) => {
    const list = items.filter((one) => !one.classList.contains("off") && wanted(one));
    if (list.length === 0) return;
    const at = list.indexOf(items[here]);
    const next = at < 0
      ? list.find((one) => items.indexOf(one) > here) || list[0]
      : list[(at + by + list.length) % list.length];
    here = items.indexOf(next);
    next.focus();
    next.scrollIntoView({ block: "start" });
  };
  document.addEventListener("focusin", (event) => {
    const item = event.target.closest("[data-item]");
    if (item) here = items.indexOf(item);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search], textarea");
    if (event.key === "Escape" && typing) {
      const item = event.target.closest("[data-item]");
      if (item) item.focus(); else event.target.blur();
      return;
    }
    if (typing) return;
    const item = event.target.closest && event.target.closest("[data-item]");
    if (event.key === "/") { search.focus(); event.preventDefault(); }
    else if (event.key === "j" || event.key === "ArrowRight") step(1, () => true);
    else if (event.key === "k" || event.key === "ArrowLeft") step(-1, () => true);
    else if (event.key === "n") step(1, kinds.fail);
    else if (event.key === "m" && item) { item.querySelector("textarea").focus(); event.preventDefault(); }
    else if ((event.key === "Enter" || event.key === "t") && item && !event.target.matches("summary")) {
      const inner = [...item.querySelectorAll("details.transcript-of")];
      const open = !inner.every((one) => one.open);
      inner.forEach((one) => { one.open = open; });
    }
  });
  document.querySelector("button.theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  count();
  apply();
})();
