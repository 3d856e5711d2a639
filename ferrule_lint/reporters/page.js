"use strict";
(() => {
  const findings = [...document.querySelectorAll(".finding")];
  const chips = [...document.querySelectorAll(".chip")];
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  function apply() {
    const off = new Set(chips.filter((c) => c.getAttribute("aria-pressed") === "false")
      .map((c) => c.dataset.kind + " " + c.dataset.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const one of findings) {
      const hidden = off.has("code " + one.dataset.code) || off.has("confidence " + one.dataset.confidence)
        || !words.every((word) => one.dataset.text.includes(word));
      one.hidden = hidden;
      count += hidden ? 0 : 1;
    }
    shown.textContent = count === findings.length ? "" : count + " of " + findings.length + " shown";
  }
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") === "true" ? "false" : "true");
      apply();
    });
  }
  search.addEventListener("input", apply);
  function open() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") target.open = true;
  }
  addEventListener("hashchange", open);
  open();
})();
