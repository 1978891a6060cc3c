"use strict";
(() => {
  const cases = [...document.querySelectorAll("details.case")];
  const form = document.querySelector("form.filters");
  const none = document.querySelector("p.none");
  const count = form.querySelector("output");
  document.querySelectorAll(".script, button.theme").forEach((part) => { part.hidden = false; });

  const texts = new Map(cases.map((one) => [one, (one.querySelector("summary").textContent + " " + one.dataset.clauses).toLowerCase()]));
  const apply = () => {
    const status = form.elements.status.value;
    const target = form.elements.target ? form.elements.target.value : "";
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const one of cases) {
      const fits = (status === "all" || one.classList.contains(status))
        && (!target || one.dataset.target === target)
        && words.every((word) => texts.get(one).includes(word));
      one.classList.toggle("off", !fits);
      if (fits) shown += 1;
    }
    none.hidden = shown > 0;
    const word = cases.length === 1 ? "case" : "cases";
    count.textContent = shown === cases.length ? `${shown} ${word}` : `${shown} of ${cases.length} ${word}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector(".expand").addEventListener("click", (event) => {
    const shown = visible();
    const open = shown.some((one) => !one.open);
    // So many at once that it can be read, and no more.
    shown.slice(0, 100).forEach((one) => { one.open = open; });
    event.currentTarget.textContent = open ? "Close all shown" : "Open all shown";
  });

  const visible = () => cases.filter((one) => !one.classList.contains("off"));
  const go = (one) => {
    if (!one) return;
    one.querySelector("summary").focus();
    one.scrollIntoView({ block: "nearest" });
  };
  const step = (by, wanted) => {
    const list = visible().filter(wanted);
    const here = document.activeElement ? document.activeElement.closest("details.case") : null;
    const all = visible();
    const from = here ? all.indexOf(here) : (by > 0 ? -1 : all.length);
    const next = by > 0
      ? list.find((one) => all.indexOf(one) > from) || list[0]
      : [...list].reverse().find((one) => all.indexOf(one) < from) || list[list.length - 1];
    go(next);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search], select, textarea");
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing) return;
    if (event.key === "/") { form.elements.text.focus(); event.preventDefault(); }
    else if (event.key === "j") step(1, () => true);
    else if (event.key === "k") step(-1, () => true);
    else if (event.key === "n") step(1, (one) => one.classList.contains("fail"));
  });

  document.querySelectorAll("a[data-group]").forEach((link) => {
    link.addEventListener("click", () => {
      form.elements.text.value = link.dataset.group + "/";
      apply();
    });
  });
  // On paper nobody can open what failed.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = visible().filter((one) => one.classList.contains("fail") && !one.open).slice(0, 100);
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
  document.querySelectorAll("p.again").forEach((line) => {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.textContent = "copy";
    copy.addEventListener("click", () => {
      navigator.clipboard.writeText(line.querySelector("code").textContent).then(() => { copy.textContent = "copied"; }, () => { copy.textContent = "not allowed"; });
    });
    line.append(copy);
  });
  document.querySelector("button.theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  const openHash = () => {
    const one = location.hash.startsWith("#case-") ? document.getElementById(location.hash.slice(1)) : null;
    if (one) { one.open = true; one.scrollIntoView(); }
  };
  addEventListener("hashchange", openHash);
  openHash();
  apply();
})();
