// Runs before the first paint, so that a chosen theme never flashes. "auto" follows the system.
"use strict";
(() => {
  const kept = localStorage.getItem("infra.theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  if (localStorage.getItem("infra.tray") === "open") document.documentElement.classList.add("tray-open");
})();
