// Living parts. The server says what changed; the parts that show it fetch themselves again and are
// morphed in place, so that scroll, focus and selection stay. Without the stream we ask now and then.
const QUIET_MS = 250;     // several changes in one breath are one refresh
const SPACING_MS = 1_000; // a busy fleet must not make every open page a load of its own
const POLL_MS = 10_000;   // while the stream is away
const RETRY_MS = 5_000;   // after the stream was refused for good
const TOPICS = ["operation", "resource", "node", "zone"];

const waiting = new Set();
let timer = null;
let last = 0;
let poller = null;

function refresh(topics) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const wanted = part.dataset.live.split(" ");
    if (!topics || wanted.some((topic) => topics.has(topic))) htmx.trigger(part, "live");
  }
}

function flush() {
  timer = null;
  last = Date.now();
  if (document.hidden) return; // asked for again when the page is looked at
  const topics = new Set(waiting);
  waiting.clear();
  refresh(topics);
}

function note(topic) {
  waiting.add(topic);
  timer ??= setTimeout(flush, Math.max(QUIET_MS, last + SPACING_MS - Date.now()));
}

function setState(state, words) {
  for (const element of document.querySelectorAll(".link-state")) {
    if (element.dataset.state === state) continue;
    element.dataset.state = state;
    element.textContent = words;
  }
}

function poll() {
  setState("polling", "Reconnecting; refreshed every 10 s");
  poller ??= setInterval(() => refresh(null), POLL_MS);
}

function stopPolling() {
  clearInterval(poller);
  poller = null;
}

function connect(url) {
  const source = new EventSource(url);
  let missed = false;
  source.addEventListener("open", () => {
    stopPolling();
    setState("live", "Live");
    if (missed) refresh(null);
    missed = false;
  });
  source.addEventListener("error", () => {
    missed = true;
    poll();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(url), RETRY_MS);
  });
  const listen = (event) => note(event.type);
  for (const name of TOPICS) source.addEventListener(name, listen);
  for (const name of ["resync", "cut"]) source.addEventListener(name, () => refresh(null));
  window.addEventListener("pagehide", () => source.close(), { once: true });
}

// What the person did to the page is not the server's to undo.
const THE_PERSONS = new Set(["open", "checked", "data-here", "data-selected"]);

export function startLive() {
  Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
    !THE_PERSONS.has(name) && !(name === "value" && element.type === "search");
  const url = document.body.dataset.events;
  if (!url) return;
  connect(url);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) connect(url); // brought back by the browser's "back"
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && waiting.size) flush();
  });
  document.addEventListener("htmx:afterSettle", showJournal);
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-journal-search]")) showJournal();
  });
  showJournal();
}

function showJournal() {
  const box = document.querySelector("[data-journal]");
  if (!box) return;
  const wanted = document.querySelector("[data-journal-search]").value.toLowerCase();
  for (const line of box.querySelectorAll("li")) {
    line.hidden = !line.textContent.toLowerCase().includes(wanted);
  }
  if (document.getElementById("journal-follow").checked) box.scrollTop = box.scrollHeight;
}
