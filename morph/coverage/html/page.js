"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const ABOUT = {
  same: "the vendor's, under the same name, or torch's own where its code is neutral of the device",
  renamed: "the vendor's, which has another name",
  adapted: "the vendor's, called so that it behaves as CUDA's",
  emulated: "what morph computes from what the vendor has",
  noop: "nothing is done, and nothing has to be",
  missing: "an error that names the name, the backend and the reason",
  hardware: "used, or seen to be refused, on the device itself",
  "vendor wheel": "used with the vendor's real package, over a software runtime",
  simulated: "used on the simulated device, with the vendor's recorded surface",
  recorded: "checked against the vendor's recorded surface only",
};
const FILTERS = { backend: "backends", status: "statuses", rung: "rungs" };
const $ = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function dots(rung) {
  const lit = data.rungs.length - data.rungs.indexOf(rung);
  const each = data.rungs.map((_, place) => element("i", { className: place < lit ? "on" : "" }));
  return element("span", { className: "rung", title: rung }, ...each);
}

function badge(cell) {
  return element("span", { className: `status ${cell.status}`, title: `${cell.status}, ${cell.rung}` }, cell.status, dots(cell.rung));
}

/* What the address says, and what it is to say: #q=stream&status=missing,noop&backend=npu&open=torch.cuda.Stream */
function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const listed = (key) => new Set((given.get(key) || "").split(",").filter(Boolean));
  return {
    q: given.get("q") || "",
    private: given.get("private") === "1",
    theme: given.get("theme") || "",
    open: given.get("open") || "",
    ...Object.fromEntries(Object.keys(FILTERS).map((key) => [key, listed(key)])),
  };
}

let opened = "";

function write() {
  const said = new URLSearchParams();
  if ($("search").value) said.set("q", $("search").value);
  for (const [key, id] of Object.entries(FILTERS)) {
    const chosen = [...$(id).querySelectorAll(":checked")].map((box) => box.value);
    if (chosen.length) said.set(key, chosen.join(","));
  }
  if ($("private").checked) said.set("private", "1");
  if (opened) said.set("open", opened);
  if (document.documentElement.dataset.chosen) said.set("theme", document.documentElement.dataset.theme);
  history.replaceState(null, "", `#${said.toString().replaceAll("%2C", ",")}`);
}

function change() {
  write();
  show();
}

function matches(row, wanted, backends) {
  if (row.private && !wanted.private) return false;
  const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  const cells = backends.map((backend) => row.backends[backend.name]);
  const text = [row.name, ...cells.flatMap((cell) => [cell.target, cell.note])].join(" ").toLowerCase();
  if (!words.every((word) => text.includes(word))) return false;
  const fits = (cell) =>
    (!wanted.status.size || wanted.status.has(cell.status)) && (!wanted.rung.size || wanted.rung.has(cell.rung));
  return cells.some(fits);
}

function nameRow(row, backends) {
  const name = element("code", {}, row.name.startsWith(`${row.module}.`) ? row.name.slice(row.module.length + 1) : row.name);
  const cells = backends.map((backend) => {
    const made = element("td", {}, badge(row.backends[backend.name]));
    made.dataset.backend = backend.name;
    return made;
  });
  const made = element("tr", { className: "name", tabIndex: 0, ariaExpanded: "false" }, element("td", {}, name), ...cells);
  made.dataset.name = row.name;
  const toggle = () => {
    const open = made.ariaExpanded === "false";
    if (open) made.after(details(row, backends));
    else made.nextSibling.remove();
    made.ariaExpanded = String(open);
    opened = open ? row.name : "";
    write();
  };
  made.addEventListener("click", () => getSelection().isCollapsed && toggle());
  made.addEventListener("keydown", (event) => event.key === "Enter" && toggle());
  if (row.name === opened) {
    made.ariaExpanded = "true";
    return [made, details(row, backends)];
  }
  return [made];
}

function details(row, backends) {
  const list = element("dl", {}, element("dt", {}, "name"), element("dd", {}, element("code", {}, row.name)));
  for (const backend of backends) {
    const cell = row.backends[backend.name];
    const told = element("dd", {}, badge(cell), ` ${cell.rung}`);
    if (cell.target) told.append(", ", element("code", {}, cell.target));
    if (cell.note) told.append(`: ${cell.note}`);
    list.append(element("dt", {}, backend.title), told);
  }
  return element("tr", { className: "details" }, element("td", { colSpan: backends.length + 1 }, list));
}

function show() {
  const wanted = read();
  const backends = data.backends.filter((backend) => !wanted.backend.size || wanted.backend.has(backend.name));
  const found = data.names.filter((row) => matches(row, wanted, backends));
  const heading = backends.map((backend) => element("th", { scope: "col", title: backend.title }, backend.name));
  $("heading").replaceChildren(element("th", { scope: "col" }, "name"), ...heading);
  const rows = [];
  let module = "";
  for (const row of [...found].sort((one, other) => (one.module < other.module ? -1 : one.module > other.module ? 1 : 0))) {
    if (row.module !== module) {
      module = row.module;
      const cell = element("td", { colSpan: backends.length + 1 }, element("code", {}, module));
      rows.push(element("tr", { className: "module" }, cell));
    }
    rows.push(...nameRow(row, backends));
  }
  $("rows").replaceChildren(...rows);
  $("table").hidden = !found.length;
  $("nothing").hidden = !!found.length;
  $("count").value = `${found.length} of ${data.names.filter((row) => !row.private || wanted.private).length} names`;
}

function summarise() {
  const publicRows = data.names.filter((row) => !row.private);
  for (const backend of data.backends) {
    const cells = publicRows.map((row) => row.backends[backend.name]);
    const count = (status) => cells.filter((cell) => cell.status === status).length;
    const bar = element("div", { className: "bar" });
    for (const status of data.statuses) {
      const part = element("i", { className: status, title: `${status}: ${count(status)}` });
      part.style.flex = count(status);
      if (count(status)) bar.append(part);
    }
    const served = `${cells.length - count("missing")} of ${cells.length} served`;
    const figures = element("div", { className: "figures" }, element("b", {}, backend.title), element("span", {}, served));
    const release = [backend.package, backend.releases].filter(Boolean).join(" ");
    $("summary").append(element("div", { className: "backend", title: release }, figures, bar));
  }
}

function chips(id, values) {
  for (const value of values) {
    const box = element("input", { type: "checkbox", value });
    $(id).append(element("label", { className: `chip ${value in ABOUT ? value.replace(" ", "-") : ""}`, title: ABOUT[value] || "" }, box, value));
  }
}

function paint(theme) {
  const root = document.documentElement;
  root.dataset.theme = theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.chosen = theme || "";
}

function restore() {
  const wanted = read();
  $("search").value = wanted.q;
  $("private").checked = wanted.private;
  for (const [key, id] of Object.entries(FILTERS)) {
    for (const box of $(id).querySelectorAll("input")) box.checked = wanted[key].has(box.value);
  }
  paint(wanted.theme);
  opened = wanted.open;
  show();
  if (opened) document.querySelector("tr.details")?.scrollIntoView({ block: "center" });
}

$("lead").textContent =
  `The names of torch.cuda and what belongs to it in torch ${data.torch}, how each backend serves them, and how that is known. ` +
  "A name's row opens with the reasons.";
const legend = element("dl");
for (const status of data.statuses) {
  legend.append(element("dt", {}, element("span", { className: `status ${status}` }, status)), element("dd", {}, ABOUT[status]));
}
for (const rung of data.rungs) legend.append(element("dt", {}, dots(rung), ` ${rung}`), element("dd", {}, ABOUT[rung]));
$("legend").append(legend);
summarise();
chips("backends", data.backends.map((backend) => backend.name));
chips("statuses", data.statuses);
chips("rungs", data.rungs);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("filters").addEventListener("input", change);
$("filters").addEventListener("reset", () => setTimeout(change));
$("theme").addEventListener("click", () => {
  paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  write();
});
addEventListener("hashchange", restore);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restore);
restore();
