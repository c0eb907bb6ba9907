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
  // Tables wider than the page say that they scroll; those that are closed have no width yet.
  function mark() {
    for (const wide of document.querySelectorAll(".wide")) {
      const box = wide.querySelector(".scroll");
      wide.classList.toggle("cut", box.scrollWidth > box.clientWidth + 1);
    }
  }
  mark();
  window.addEventListener("resize", mark);
  document.addEventListener("toggle", mark, true);
  // Paper has no way to open what is closed.
  let closed = [];
  window.addEventListener("beforeprint", function () {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of closed) one.open = true;
  });
  window.addEventListener("afterprint", function () {
    for (const one of closed) one.open = false;
  });
  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", function () {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
