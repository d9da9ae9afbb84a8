"use strict";
// Shows what /run.json says of the workflow's run, once a second while it lasts.

// Each state has a sign besides its colour.
const signs = { waiting: "·", running: "▶", ready: "●", succeeded: "✓", cached: "≡", skipped: "–", omitted: "–",
  failed: "✗", errored: "✗", stopped: "■" };

function duration(seconds) {
  if (!(seconds > 0)) return "";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

let run = null;
let chosen = "";

// What it took; of one at work, until now.
function seconds(step) {
  const last = step.events[step.events.length - 1];
  if (last && (last.state === "running" || last.state === "ready") && !run.ended) {
    const started = step.events.filter((event) => event.state === "running").pop() || last;
    return Math.max(0, run.now - started.time);
  }
  return step.seconds;
}

// ---- the graph ------------------------------------------------------------------------------------------------

// Rows: each step below the lowest that it waits for.
function rowsOf(steps) {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const depth = new Map();
  const find = (step) => {
    if (!depth.has(step.name)) depth.set(step.name, 1 + Math.max(-1, ...step.needs.map((name) => find(byName.get(name)))));
    return depth.get(step.name);
  };
  const rows = [];
  for (const step of steps) (rows[find(step)] ||= []).push(step);
  return rows;
}

// Without those that it waits for anyway, since another one that it needs does.
function directNeeds(step) {
  const byName = new Map(run.steps.map((one) => [one.name, one]));
  const known = new Map();
  const waits = (name, target) => {
    const key = `${name} ${target}`;
    if (!known.has(key)) known.set(key, byName.get(name).needs.some((one) => one === target || waits(one, target)));
    return known.get(key);
  };
  return step.needs.filter((name) => !step.needs.some((other) => other !== name && waits(other, name)));
}

const box = { height: 46, gapX: 14, gapY: 34, most: 190 };

function placeSteps(rows, width) {
  const widest = Math.max(...rows.map((row) => row.length));
  const size = Math.min(box.most, (width - 4 - box.gapX * (widest - 1)) / widest);
  const places = new Map();
  rows.forEach((row, y) => row.forEach((step, x) => places.set(step.name, {
    x: width / 2 + (x - (row.length - 1) / 2) * (size + box.gapX) - size / 2,
    y: 2 + y * (box.height + box.gapY),
    width: size,
  })));
  return places;
}

function edge(from, to) {
  const [x1, y1, x2, y2] = [from.x + from.width / 2, from.y + box.height, to.x + to.width / 2, to.y];
  const bend = (y2 - y1) / 2;
  return svg("path", { d: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}` });
}

const cut = (text, width, size) => {
  const room = Math.max(3, Math.floor(width / size));
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
};

function node(step, place) {
  const group = svg("g", { class: `step ${step.state}`, tabindex: "0", role: "button", "data-step": step.name,
    "aria-pressed": String(step.name === chosen),
    "aria-label": [step.name, step.state, duration(seconds(step))].filter(Boolean).join(", ") });
  const time = duration(seconds(step));
  group.append(
    svg("rect", { x: place.x, y: place.y, width: place.width, height: box.height, rx: 8 }),
    svg("text", { x: place.x + 9, y: place.y + 19, class: "name" }, cut(step.name, place.width - 14, 8.2)),
    svg("text", { x: place.x + 9, y: place.y + 37 },
      cut(`${signs[step.state]} ${step.state}${time ? ` ${time}` : ""}`, place.width - 12, 6.6)));
  group.addEventListener("click", () => choose(step.name));
  group.addEventListener("keydown", (event) => move(event, step));
  return group;
}

function drawGraph() {
  const graph = $("graph");
  const width = Math.max(260, Math.floor(graph.parentElement.clientWidth - 34));
  const rows = rowsOf(run.steps);
  const places = placeSteps(rows, width);
  const height = rows.length * (box.height + box.gapY) - box.gapY + 4;
  graph.setAttribute("viewBox", `0 0 ${width} ${height}`);
  graph.setAttribute("width", width);
  graph.setAttribute("height", height);
  const focused = document.activeElement && document.activeElement.getAttribute("data-step");
  const edges = svg("g", { class: "edges" });
  for (const step of run.steps)
    for (const name of directNeeds(step)) edges.append(edge(places.get(name), places.get(step.name)));
  graph.replaceChildren(edges, ...run.steps.map((step) => node(step, places.get(step.name))));
  if (focused) focusStep(focused);
}

const focusStep = (name) => $("graph").querySelector(`[data-step="${CSS.escape(name)}"]`).focus();

// Left and right within a row, up and down between rows.
function move(event, step) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return choose(step.name);
  }
  const rows = rowsOf(run.steps);
  const y = rows.findIndex((row) => row.includes(step));
  const x = rows[y].indexOf(step);
  const near = (row, at) => row && row[Math.min(at, row.length - 1)];
  const next = { ArrowLeft: rows[y][x - 1], ArrowRight: rows[y][x + 1], ArrowUp: near(rows[y - 1], x),
    ArrowDown: near(rows[y + 1], x) }[event.key];
  if (!next) return;
  event.preventDefault();
  focusStep(next.name);
}

// ---- one step, and all ----------------------------------------------------------------------------------------

function showFacts(list, facts) {
  const parts = [];
  for (const [name, text] of facts) parts.push(element("dt", "", name), element("dd", "", text));
  list.replaceChildren(...parts);
}

const clock = (time) => new Date(1000 * time).toLocaleTimeString();

function showStep() {
  const step = run.steps.find((one) => one.name === chosen);
  $("step-title").textContent = step ? `Story of ${step.name}` : "Story";
  if (!step) return;
  const facts = [["state", step.state], ["kind", step.async ? `${step.kind}, asynchronous` : step.kind]];
  if (step.needs.length) facts.push(["waits for", step.needs.join(", ")]);
  for (const result of step.results) facts.push([result.name, result.text]);
  showFacts($("facts"), facts);
  $("events").replaceChildren(...step.events.map((event) => {
    const item = element("li");
    const time = element("time", "", `${clock(event.time)} (+${duration(event.time - run.began) || "0 s"})`);
    const attempt = event.state === "running" && event.attempt > 1 ? `, attempt ${event.attempt}` : "";
    item.append(time, ` ${event.state}${attempt}${event.message ? `: ${event.message}` : ""}`);
    return item;
  }));
}

function choose(name) {
  chosen = name;
  drawGraph();
  showStep();
}

function showTable() {
  $("steps").replaceChildren(...run.steps.map((step) => {
    const row = element("tr");
    const results = step.results.filter((result) => !result.place).map((result) => `${result.name} ${result.text}`).join("; ");
    const state = element("td", `state ${step.state}`, `${signs[step.state]} ${step.state}`);
    row.append(element("td", "", step.name), state, element("td", "", duration(seconds(step))), element("td", "", results));
    return row;
  }));
}

function showRun() {
  const facts = [["run", run.run], ["began", new Date(1000 * run.began).toLocaleString()],
    ["took", duration((run.ended || run.now) - run.began)]];
  for (const [name, value] of Object.entries(run.parameters)) facts.push([name, value]);
  showFacts($("run"), facts);
}

let shown = "";
async function poll() {
  try {
    const response = await ask("/run.json");
    const text = await response.text();
    if (asksForKey(response)) return showHealth(false, "give the API key on the first page");
    if (!response.ok) return showHealth(false, response.status === 404 ? "this server is no workflow's" : text);
    run = JSON.parse(text);
    showHealth(run.state !== "failed", `${run.run}, ${run.state}`);
    if (!chosen) chosen = (run.steps.find((step) => step.kind === "server") || run.steps[0]).name;
    drawGraph();
    showTable();
    showRun();
    // Said aloud by screen readers, so only when it is new.
    const story = JSON.stringify(run.steps.map((step) => step.events));
    if (story !== shown) showStep();
    shown = story;
  } catch (error) {
    showHealth(false, "the server does not answer");
  }
}

poll();
setInterval(() => { if (!document.hidden) poll(); }, 1000);
addEventListener("resize", () => { if (run) drawGraph(); });
