"use strict";
// The page: a picture goes to /predict, /status is read once a second. No library, no other host.

// ---- the answer -----------------------------------------------------------------------------------------------

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function bars(title, note, guesses, best) {
  const box = element("div");
  const heading = element("h3", "", title);
  if (note) heading.append(" ", element("small", "", note));
  const list = element("ul", "bars");
  for (const guess of [...guesses].sort((a, b) => a.index - b.index)) {
    const row = element("li", guess.index === best ? "first" : "");
    const name = element("span", "name", guess.label);
    name.title = guess.label;
    const track = element("div", "track");
    const fill = element("div", "fill");
    fill.style.width = `${100 * guess.probability}%`;
    track.append(fill);
    row.append(name, track, element("span", "share", percent(guess.probability)));
    list.append(row);
  }
  box.append(heading, list);
  return box;
}

function showError(message) {
  $("verdict").textContent = message;
  $("verdict").className = "verdict bad";
  $("details").textContent = "";
  $("answers").replaceChildren();
}

function showAnswer(answer, milliseconds) {
  $("verdict").textContent = `${answer.label}, ${percent(answer.probability)}`;
  $("verdict").className = "verdict";
  const notes = [`${milliseconds.toFixed(1)} ms from here`];
  if (answer.timing_us) notes.push(`${answer.timing_us.compute} µs of computing`);
  if (answer.agreement !== undefined) notes.push(`${percent(answer.agreement)} of the models agree`);
  if (answer.inverted) notes.push("the picture was dark on light and was inverted");
  $("details").textContent = notes.join(" · ");
  const all = [];
  if (answer.members) all.push(bars(`${answer.model}`, "together", answer.probabilities, answer.index));
  for (const member of answer.members || [{ ...answer, outcome: "ok" }]) {
    if (member.outcome === "ok") {
      const time = typeof member.timing_us === "number" ? `, ${member.timing_us} µs` : "";
      all.push(bars(member.model, `version ${member.version}${time}`, member.probabilities, member.index));
    } else {
      const box = element("div");
      box.append(element("h3", "", member.model), element("p", "problems", `${member.outcome}: ${member.error}`));
      all.push(box);
    }
  }
  $("answers").replaceChildren(...all);
}

let asked = 0;
let shown = 0;
async function predict(blob) {
  const number = ++asked;
  const start = performance.now();
  try {
    const response = await ask("/predict", { method: "POST", body: blob });
    const answer = await response.json();
    if (number < shown) return; // a later one was quicker
    shown = number;
    $("key-form").hidden = !asksForKey(response);
    if (!response.ok) return showError(answer.error || `the server answered ${response.status}`);
    showAnswer(answer, performance.now() - start);
  } catch (error) {
    showError(`the server does not answer: ${error.message}`);
  }
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("api-key", $("key").value);
  if (lastPicture) predict(lastPicture);
  loadSamples();
  poll();
});

// ---- drawing --------------------------------------------------------------------------------------------------

const canvas = $("canvas");
const pen = canvas.getContext("2d");
const brush = { x: 140, y: 140, down: false, shown: false };
let lastPicture = null;
let timer = 0;

function clear() {
  pen.fillStyle = "#000";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  $("preview").hidden = true;
}

function stroke(fromX, fromY, toX, toY) {
  $("preview").hidden = true;
  pen.strokeStyle = "#fff";
  pen.lineWidth = 22;
  pen.lineCap = "round";
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX + 0.01, toY);
  pen.stroke();
  schedule();
}

// Not more often than the eye can follow.
function schedule() {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    canvas.toBlob((blob) => { lastPicture = blob; predict(blob); }, "image/png");
  }, 120);
}

function place(event) {
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  [brush.x, brush.y] = place(event);
  brush.down = true;
  stroke(brush.x, brush.y, brush.x, brush.y);
});
canvas.addEventListener("pointermove", (event) => {
  if (!brush.down) return;
  const [x, y] = place(event);
  stroke(brush.x, brush.y, x, y);
  [brush.x, brush.y] = [x, y];
});
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { brush.down = false; });

const held = new Set();
canvas.addEventListener("keydown", (event) => {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (["Delete", "Backspace", "Escape"].includes(event.key)) {
    event.preventDefault();
    return clear();
  }
  if (event.key === " ") {
    held.add(" ");
    stroke(brush.x, brush.y, brush.x, brush.y);
    event.preventDefault();
  }
  if (!moves[event.key]) return;
  event.preventDefault();
  const step = event.shiftKey ? 4 : 14;
  const x = Math.min(canvas.width, Math.max(0, brush.x + step * moves[event.key][0]));
  const y = Math.min(canvas.height, Math.max(0, brush.y + step * moves[event.key][1]));
  if (held.has(" ")) stroke(brush.x, brush.y, x, y);
  [brush.x, brush.y] = [x, y];
  $("hint").textContent = `Brush at ${Math.round(x / 2.8)} %, ${Math.round(y / 2.8)} %; space paints.`;
});
canvas.addEventListener("keyup", (event) => { held.delete(event.key); });
canvas.addEventListener("blur", () => held.clear());
$("clear").addEventListener("click", () => { clear(); canvas.focus(); });

// ---- pictures that are there ----------------------------------------------------------------------------------

function take(blob) {
  lastPicture = blob;
  const url = URL.createObjectURL(blob);
  const preview = $("preview");
  preview.onload = () => URL.revokeObjectURL(url);
  preview.src = url;
  preview.style.imageRendering = blob.size < 4096 ? "pixelated" : "auto";
  preview.hidden = false;
  predict(blob);
}

$("file").addEventListener("change", (event) => {
  if (event.target.files[0]) take(event.target.files[0]);
  event.target.value = "";
});
const pad = document.querySelector(".pad");
document.addEventListener("dragover", (event) => { event.preventDefault(); pad.classList.add("over"); });
document.addEventListener("dragleave", () => pad.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  pad.classList.remove("over");
  if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
});
document.addEventListener("paste", (event) => {
  const file = [...event.clipboardData.files].find((one) => one.type.startsWith("image/"));
  if (file) take(file);
});

async function loadSamples() {
  try {
    const response = await ask("/samples");
    if (!response.ok) return;
    const { samples } = await response.json();
    $("samples").replaceChildren(...await Promise.all(samples.map(async (sample) => {
      const blob = await (await ask(sample.url)).blob();
      const button = element("button");
      button.type = "button";
      const what = sample.label === null ? sample.source : sample.label;
      button.title = `${what} (${sample.source})`;
      button.setAttribute("aria-label", `Sample: ${what}`);
      const image = element("img");
      image.alt = "";
      image.src = URL.createObjectURL(blob);
      button.append(image);
      button.addEventListener("click", () => take(blob));
      return button;
    })));
  } catch { /* /status says that the server is gone */ }
}

// ---- traffic --------------------------------------------------------------------------------------------------

const kept = 120;
const series = new Map(); // name -> {rates, latencies, before}
let lastPoll = 0;

const color = (index) => `var(--s${index % 6})`;

// The value below which 99 of 100 of what was counted since the last look lie; null of nothing.
function quantile(counts, bounds, share) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return null;
  let below = 0;
  for (let i = 0; i < counts.length; ++i) {
    if (counts[i] && below + counts[i] >= share * total) {
      const low = i === 0 ? 0 : bounds[i - 1];
      const high = i < bounds.length ? bounds[i] : low;
      return low + (high - low) * (share * total - below) / counts[i];
    }
    below += counts[i];
  }
  return null;
}

function note(model, bounds, seconds) {
  const done = model.success + model.failures;
  let one = series.get(model.name);
  if (!one) series.set(model.name, one = { rates: [], latencies: [], done, counts: model.latency_counts });
  else {
    const fresh = model.latency_counts.map((count, i) => Math.max(0, count - one.counts[i]));
    const late = quantile(fresh, bounds, 0.99);
    one.rates.push(Math.max(0, done - one.done) / seconds);
    one.latencies.push(late === null ? null : 1000 * late);
    if (one.rates.length > kept) { one.rates.shift(); one.latencies.shift(); }
  }
  one.done = done;
  one.counts = model.latency_counts;
}

function draw(chart, values) {
  const [left, right, top, bottom] = [52, 594, 10, 160];
  const highest = Math.max(...[...values.values()].flat().filter((value) => value !== null), 0);
  const magnitude = 10 ** Math.floor(Math.log10(highest || 1));
  const limit = [1, 2, 5, 10].map((n) => n * magnitude).find((n) => n >= highest) || 1;
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const y = bottom - share * (bottom - top);
    parts.push(svg("line", { x1: left, x2: right, y1: y, y2: y }));
    parts.push(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, `${+(share * limit).toPrecision(3)}`));
  }
  [...values.values()].forEach((line, index) => {
    const x = (i) => right - (line.length - 1 - i) * (right - left) / (kept - 1);
    const y = (value) => bottom - value / limit * (bottom - top);
    const points = line.map((value, i) => value === null ? "" : `${x(i).toFixed(1)},${y(value).toFixed(1)}`);
    const drawn = svg("polyline", { points: points.filter(Boolean).join(" ") });
    drawn.style.stroke = color(index);
    parts.push(drawn);
  });
  parts.push(svg("text", { x: left, y: 176 }, "2 minutes ago"));
  parts.push(svg("text", { x: right, y: 176, "text-anchor": "end" }, "now"));
  chart.replaceChildren(...parts);
}

function showModels(status) {
  $("models").replaceChildren(...status.models.map((model) => {
    const row = element("tr");
    const accuracy = model.metrics.val_accuracy;
    const kind = model.architecture || `${model.platform} of ${model.members.map((member) => member.name).join(", ")}`;
    const milliseconds = (value) => `${value.toFixed(2)} ms`;
    const cells = [model.name, model.versions.join(", "), kind, accuracy === undefined ? "" : percent(accuracy),
      model.replicas || "", model.queued, model.success, model.failures, milliseconds(model.p50_ms),
      milliseconds(model.p99_ms)];
    row.append(...cells.map((text) => element("td", "", text)));
    return row;
  }));
  $("problems").textContent = status.problems
    .map((row) => `${row.name}${row.version ? ` version ${row.version}` : ""}: ${row.reason}`).join("; ");
  $("legend").replaceChildren(...status.models.map((model, index) => {
    const item = element("li");
    const mark = element("i");
    mark.style.background = color(index);
    item.append(mark, model.name);
    return item;
  }));
}

async function poll() {
  try {
    const response = await ask("/status");
    if (!response.ok) {
      $("key-form").hidden = !asksForKey(response);
      return showHealth(false, `the server answered ${response.status}`);
    }
    const status = await response.json();
    const now = performance.now();
    for (const model of status.models) note(model, status.latency_bounds, Math.max(0.2, (now - lastPoll) / 1000));
    lastPoll = now;
    showModels(status);
    $("run").hidden = !status.workflow_run;
    draw($("rate"), new Map([...series].map(([name, one]) => [name, one.rates])));
    draw($("latency"), new Map([...series].map(([name, one]) => [name, one.latencies])));
    showHealth(status.ready, status.ready ? `ready, version ${status.version}` : "not ready");
  } catch {
    showHealth(false, "the server does not answer");
  }
}

clear();
loadSamples();
poll();
setInterval(() => { if (!document.hidden) poll(); }, 1000);
