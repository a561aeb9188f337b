"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const ABOUT = {
  same: "the vendor's, under the same name, or torch's own where its code is device-independent",
  renamed: "the vendor's, which has another name",
  adapted: "the vendor's, called so that it behaves as CUDA's",
  emulated: "what morph computes from what the vendor has",
  noop: "nothing is done, and nothing has to be",
  missing: "an error that names the name, the backend and the reason",
  hardware: "tried on the device itself",
  "vendor wheel": "tried with the vendor's real package, over a software runtime",
  simulated: "tried on the simulated device, with the vendor's recorded surface",
  recorded: "checked against the vendor's recorded surface only",
};
const SEEN = { used: "used, and its result checked", refused: "seen to be refused", existing: "only seen to exist", "": "" };
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
  return element("span", { className: `status ${cell.status}`, title: [cell.status, cell.rung, cell.seen].filter(Boolean).join(", ") }, cell.status, dots(cell.rung));
}

/* An interface as it is shown: its rows with their cells, which the data has once each, in the order of modules. */
function unpacked(packed) {
  const row = ([short, place, isPrivate, cells]) => {
    const module = packed.modules[place];
    const of = data.backends.map((backend, column) => [backend.name, data.cells[data.rows[cells][column]]]);
    return { name: short ? `${module}.${short}` : module, module, private: !!isPrivate, backends: Object.fromEntries(of) };
  };
  const names = packed.names.map(row);
  names.sort((one, other) => (one.module < other.module ? -1 : one.module > other.module ? 1 : 0));
  return { ...packed, names };
}

const unpackedOf = {};
function current() {
  const found = data.interfaces.find((each) => each.interface === read().of) || data.interfaces[0];
  return (unpackedOf[found.interface] ??= unpacked(found));
}

/* Backends that answer alike for every name share a column. */
function columnsOf(backends, names) {
  const columns = [];
  for (const backend of backends) {
    const alike = ([first]) => names.every((row) => row.backends[first.name] === row.backends[backend.name]);
    const column = columns.find(alike);
    if (column) column.push(backend);
    else columns.push([backend]);
  }
  return columns;
}

const called = (column) => column.map((backend) => backend.name).join(", ");

/* What the address says, and what it is to say: #of=apex&q=stream&status=missing,noop&backend=npu&open=torch.cuda.Stream */
function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const listed = (key) => new Set((given.get(key) || "").split(",").filter(Boolean));
  return {
    of: given.get("of") || "",
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
  const of = $("interfaces").querySelector(":checked").value;
  if (of !== data.interfaces[0].interface) said.set("of", of);
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

function nameRow(row, columns) {
  const name = element("code", {}, row.name.startsWith(`${row.module}.`) ? row.name.slice(row.module.length + 1) : row.name);
  const cells = columns.map((column) => {
    const made = element("td", {}, badge(row.backends[column[0].name]));
    made.dataset.backend = called(column);
    return made;
  });
  const made = element("tr", { className: "name", tabIndex: 0, ariaExpanded: "false" }, element("td", {}, name), ...cells);
  made.dataset.name = row.name;
  const toggle = () => {
    const open = made.ariaExpanded === "false";
    if (open) made.after(details(row, columns));
    else made.nextSibling.remove();
    made.ariaExpanded = String(open);
    opened = open ? row.name : "";
    write();
  };
  made.addEventListener("click", () => getSelection().isCollapsed && toggle());
  made.addEventListener("keydown", (event) => event.key === "Enter" && toggle());
  if (row.name === opened) {
    made.ariaExpanded = "true";
    return [made, details(row, columns)];
  }
  return [made];
}

function details(row, columns) {
  const list = element("dl", {}, element("dt", {}, "name"), element("dd", {}, element("code", {}, row.name)));
  for (const column of columns) {
    const cell = row.backends[column[0].name];
    const told = element("dd", {}, badge(cell), ` ${[cell.rung, SEEN[cell.seen]].filter(Boolean).join(", ")}`);
    if (cell.target) told.append(", ", element("code", {}, cell.target));
    if (cell.note) told.append(`: ${cell.note}`);
    list.append(element("dt", {}, column.map((backend) => backend.title).join(", ")), told);
  }
  return element("tr", { className: "details" }, element("td", { colSpan: columns.length + 1 }, list));
}

function show() {
  const wanted = read();
  const names = current().names;
  const backends = data.backends.filter((backend) => !wanted.backend.size || wanted.backend.has(backend.name));
  const columns = columnsOf(backends, names);
  const found = names.filter((row) => matches(row, wanted, backends));
  const heading = columns.map((column) => {
    const titles = column.map((backend) => backend.title).join(", ");
    return element("th", { scope: "col", title: titles }, called(column));
  });
  $("heading").replaceChildren(element("th", { scope: "col" }, "name"), ...heading);
  const rows = [];
  let module = "";
  for (const row of found) {
    if (row.module !== module) {
      module = row.module;
      const cell = element("td", { colSpan: columns.length + 1 }, element("code", {}, module));
      rows.push(element("tr", { className: "module" }, cell));
    }
    rows.push(...nameRow(row, columns));
  }
  $("rows").replaceChildren(...rows);
  $("table").hidden = !found.length;
  $("nothing").hidden = !!found.length;
  $("count").value = `${found.length} of ${names.filter((row) => !row.private || wanted.private).length} names`;
  summarise(current());
}

let summarised;
function summarise(shown) {
  if (summarised === shown) return;
  summarised = shown;
  const matter = shown === unpackedOf["torch.cuda"] ? " and what belongs to it" : "";
  $("lead").textContent =
    `The names of ${shown.interface}${matter} in ${shown.release}, how each backend serves them, and how that is known. ` +
    "A name's row opens with the reasons.";
  const publicRows = shown.names.filter((row) => !row.private);
  $("summary").replaceChildren(...data.backends.map((backend) => card(backend, publicRows, shown.shares[backend.name])));
}

function card(backend, rows, share) {
  const cells = rows.map((row) => row.backends[backend.name]);
  const count = (status) => cells.filter((cell) => cell.status === status).length;
  const bar = element("div", { className: "bar" });
  for (const status of data.statuses) {
    const part = element("i", { className: status, title: `${status}: ${count(status)}` });
    part.style.flex = count(status);
    if (count(status)) bar.append(part);
  }
  const served = `${cells.length - count("missing")} of ${cells.length}, ${share} by use`;
  const about = "public names that are served, and the share of what 48 projects use that is, weighted by their files";
  const told = element("span", { title: about }, served);
  const figures = element("div", { className: "figures" }, element("b", {}, backend.title), told);
  const release = [backend.package, backend.releases].filter(Boolean).join(" ");
  return element("div", { className: "backend", title: release }, figures, bar);
}

function chips(id, values, type = "checkbox") {
  for (const value of values) {
    const box = element("input", { type, value, name: id });
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
  const of = current().interface;
  for (const box of $("interfaces").querySelectorAll("input")) box.checked = box.value === of;
  $("private").checked = wanted.private;
  for (const [key, id] of Object.entries(FILTERS)) {
    for (const box of $(id).querySelectorAll("input")) box.checked = wanted[key].has(box.value);
  }
  paint(wanted.theme);
  opened = wanted.open;
  show();
  if (opened) document.querySelector("tr.details")?.scrollIntoView({ block: "center" });
}

const legend = element("dl");
for (const status of data.statuses) {
  legend.append(element("dt", {}, element("span", { className: `status ${status}` }, status)), element("dd", {}, ABOUT[status]));
}
for (const rung of data.rungs) legend.append(element("dt", {}, dots(rung), ` ${rung}`), element("dd", {}, ABOUT[rung]));
$("legend").append(legend);
chips("interfaces", data.interfaces.map((each) => each.interface), "radio");
chips("backends", data.backends.map((backend) => backend.name));
chips("statuses", data.statuses);
chips("rungs", data.rungs);
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("filters").addEventListener("input", change);
$("filters").addEventListener("reset", () => setTimeout(() => {
  $("interfaces").querySelector("input").checked = true;
  change();
}));
$("theme").addEventListener("click", () => {
  paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  write();
});
addEventListener("hashchange", restore);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restore);
restore();
