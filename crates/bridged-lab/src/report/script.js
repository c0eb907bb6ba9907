"use strict";
(function () {
  const tip = document.getElementById("tip");
  document.addEventListener("pointermove", function (event) {
    const mark = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (!mark) { tip.style.display = "none"; return; }
    tip.textContent = mark.getAttribute("data-tip");
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 12, window.innerWidth - box.width - 6);
    const below = event.clientY + 14 + box.height < window.innerHeight;
    tip.style.left = Math.max(6, x) + "px";
    tip.style.top = (below ? event.clientY + 14 : event.clientY - box.height - 10) + "px";
  });
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", function () {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
