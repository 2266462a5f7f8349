// Menus, dialogs, the navigation drawer, and buttons that copy.
export function openDialog(id) {
  const dialog = document.getElementById(id);
  if (dialog && !dialog.open) dialog.showModal();
  return dialog;
}

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
}

function setDrawer(open) {
  document.documentElement.classList.toggle("nav-open", open);
  document.querySelector("[data-drawer]")?.setAttribute("aria-expanded", String(open));
  if (open) document.querySelector(".side a")?.focus();
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent.trim());
  announce("Copied.");
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1500);
}

export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}

export function startMenus() {
  document.addEventListener("click", (event) => {
    const target = event.target;
    closeMenus(target.closest("details.menu"));
    const opener = target.closest("[data-open-dialog]");
    if (opener) openDialog(opener.dataset.openDialog);
    if (target.closest("[data-close-dialog]")) target.closest("dialog").close();
    if (target.matches("dialog")) target.close();
    const copier = target.closest("[data-copy]");
    if (copier) copy(copier);
    if (target.closest("[data-drawer]")) setDrawer(!document.documentElement.classList.contains("nav-open"));
    else if (!target.closest(".side")) setDrawer(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
    if (document.documentElement.classList.contains("nav-open")) {
      setDrawer(false);
      document.querySelector("[data-drawer]").focus();
    }
  });
}
