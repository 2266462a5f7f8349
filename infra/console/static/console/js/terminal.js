// The serial console: bytes to and from the guest over a WebSocket, drawn by xterm.js.
const place = document.getElementById("terminal");
const state = document.getElementById("terminal-state");

// xterm.js writes style elements of its own; this page's policy allows those that carry its nonce.
const nonce = place.dataset.styleNonce;
const createElement = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = createElement(name, options);
  if (name.toLowerCase() === "style") element.nonce = nonce;
  return element;
};

const terminal = new Terminal({
  cursorBlink: true,
  fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
  fontSize: 13,
  scrollback: 5000,
  screenReaderMode: true,
  theme: { background: "#0b0f14", foreground: "#e3e8ee", cursor: "#56bcd3", selectionBackground: "#1d5463" },
});
const fit = new FitAddon.FitAddon();
terminal.loadAddon(fit);
terminal.open(place);
fit.fit();
new ResizeObserver(() => fit.fit()).observe(place);

terminal.attachCustomKeyEventHandler((event) => {
  if (event.ctrlKey && event.shiftKey && event.key === "F6") {
    document.querySelector("[data-terminal-reconnect]").focus();
    return false;
  }
  return true;
});

let socket = null;
const encoder = new TextEncoder();

function say(text) {
  state.textContent = text;
}

function onNotice({ kind, message }) {
  say(kind === "open" ? `${message} If nothing shows, press Enter.` : message);
  if (kind === "open") terminal.focus();
  return kind === "closed" ? message : "";
}

function connect() {
  socket?.close();
  const url = new URL(place.dataset.socket, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const mine = new WebSocket(url);
  mine.binaryType = "arraybuffer";
  socket = mine;
  let why = "";
  mine.addEventListener("message", ({ data }) => {
    // Words of the relay are text; bytes of the guest are binary.
    if (typeof data === "string") why = onNotice(JSON.parse(data));
    else terminal.write(new Uint8Array(data));
  });
  mine.addEventListener("close", () => {
    if (socket !== mine) return;
    say(`${why || "The connection ended."} The guest goes on. Connect again when you like.`);
  });
}

terminal.onData((text) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(encoder.encode(text));
});
terminal.onBinary((text) => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(Uint8Array.from(text, (c) => c.charCodeAt(0)));
});
document.querySelector("[data-terminal-reconnect]").addEventListener("click", connect);
connect();
