// Forms that ask for a name before they destroy, and buttons that fire once.
function checkName(field) {
  const named = document.getElementById(field.dataset.confirmButton ?? "");
  const button = named ?? field.form.querySelector("[type=submit]");
  button.disabled = field.value !== field.dataset.confirmName;
}

export function startForms() {
  for (const field of document.querySelectorAll("[data-confirm-name]")) checkName(field);
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-confirm-name]")) checkName(event.target);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });
}
