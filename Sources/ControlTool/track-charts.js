// The charts ------------------------------------------------------------------------------------------------------
const charts = [
  {canvas: document.getElementById("speed"), value: i => speedAt(i) === null ? null : speedIn(speedAt(i)), floor: 0},
  {canvas: document.getElementById("altitude"), value: i => altitudeAt(i) === null ? null : altitudeAt(i) / short.meters, floor: null},
];
const left = 46, bottom = 20, top_ = 6, right = 8;
for (const chart of charts) {
  const values = [];
  for (let i = 0; i < count; i++) if (chart.value(i) !== null) values.push(chart.value(i));
  if (!values.length) { chart.canvas.closest("section").hidden = true; continue; }
  let [low, high] = bounds(values);
  chart.canvas.setAttribute("aria-label", "from " + low.toFixed(1) + " to " + high.toFixed(1));
  if (chart.floor !== null) low = Math.min(chart.floor, low);
  if (high - low < 10) { high += (10 - (high - low)) / 2; low = chart.floor === null ? high - 10 : low; }
  chart.low = low;
  chart.high = high;
  chart.canvas.addEventListener("pointermove", event => {
    const box = chart.canvas.getBoundingClientRect();
    const part = (event.offsetX - left) / Math.max(box.width - left - right, 1);
    hover(atTime(times[0] + part * (times[count - 1] - times[0])), event.clientX, event.clientY);
  });
  chart.canvas.addEventListener("pointerleave", () => hover(-1));
}
/** The location nearest in time. */
function atTime(time) {
  let low = 0, high = count - 1;
  while (low < high) { const half = (low + high) >> 1; if (times[half] < time) low = half + 1; else high = half; }
  return low > 0 && time - times[low - 1] < times[low] - time ? low - 1 : low;
}
const timeSteps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
function drawChart(chart) {
  if (chart.canvas.closest("section").hidden) return;
  const {context: pen, width, height} = prepare(chart.canvas);
  const first = times[0], span = Math.max(times[count - 1] - first, 1);
  const x = time => left + (time - first) / span * (width - left - right);
  const y = value => height - bottom - (value - chart.low) / (chart.high - chart.low) * (height - bottom - top_);
  pen.strokeStyle = colours.grid;
  pen.fillStyle = colours.soft;
  pen.lineWidth = 1;
  const step = round125((chart.high - chart.low) / 2);
  pen.textAlign = "right";
  for (let value = Math.ceil(chart.low / step) * step; value <= chart.high; value += step) {
    pen.fillText(String(Math.round(value * 100) / 100), left - 6, y(value) + 4);
    pen.beginPath(); pen.moveTo(left, Math.round(y(value)) + 0.5); pen.lineTo(width - right, Math.round(y(value)) + 0.5);
    pen.stroke();
  }
  pen.textAlign = "center";
  const seconds = timeSteps.find(step => span / 1000 / step <= width / 90) ?? span / 4000;
  const zone = new Date(first).getTimezoneOffset() * 60000;
  for (let tick = Math.ceil((first - zone) / seconds / 1000) * seconds * 1000 + zone; tick <= first + span;
    tick += seconds * 1000) {
    const text = seconds >= 43200 ? new Date(tick).toLocaleDateString() : seconds < 60
      ? new Date(tick).toLocaleTimeString() : onlyTime.format(tick);
    if (x(tick) > left + 12 && x(tick) < width - 24) pen.fillText(text, x(tick), height - 4);
  }
  drawLine(pen, chart, x, y);
  if (hovered >= 0) {
    pen.strokeStyle = colours.soft;
    pen.lineWidth = 1;
    pen.beginPath(); pen.moveTo(x(times[hovered]), top_); pen.lineTo(x(times[hovered]), height - bottom); pen.stroke();
    if (chart.value(hovered) !== null) dot(pen, x(times[hovered]), y(chart.value(hovered)), 4, colours.track);
  }
}
/** Milliseconds; anything longer is a gap, about which nothing is known. */
const longStep = (() => {
  const steps = Array.from(times.subarray(1), (time, i) => time - times[i]).sort((a, b) => a - b);
  return Math.max(60_000, 10 * (steps[steps.length >> 1] ?? 0));
})();
/** Per pixel column, the first, lowest, highest and last values suffice. */
function drawLine(pen, chart, x, y) {
  pen.strokeStyle = colours.track;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.beginPath();
  let column = -1, low = 0, high = 0, last = 0, isOpen = false;
  const close = () => {
    if (isOpen && low !== high) { pen.lineTo(column, y(low)); pen.lineTo(column, y(high)); pen.lineTo(column, y(last)); }
  };
  for (let i = 0; i < count; i++) {
    const value = chart.value(i);
    if (value === null || breaks(i) || times[i] - times[i - 1] > longStep) { close(); isOpen = false; }
    if (value === null) continue;
    const here = Math.round(x(times[i]));
    if (isOpen && here === column) { low = Math.min(low, value); high = Math.max(high, value); last = value; continue; }
    close();
    if (isOpen) pen.lineTo(here, y(value)); else { pen.moveTo(here, y(value)); pen.lineTo(here + 0.5, y(value)); }
    column = here; low = high = last = value; isOpen = true;
  }
  close();
  pen.stroke();
}

// Everything else --------------------------------------------------------------------------------------------------------
const tip = document.getElementById("tip");
function describe(i) {
  const lines = [fullTime(times[i])];
  const speed = speedAt(i), bearing = bearingAt(i), altitude = altitudeAt(i), accuracy = accuracyAt(i);
  lines.push(speed === null ? "speed unknown" : speedText(speed, 1)
    + (bearing === null ? "" : ", " + Math.round(bearing) + "°"));
  if (altitude !== null) lines.push((altitude / short.meters).toFixed(1) + " " + short.name + " high");
  lines.push(rows[i][1].toFixed(6) + ", " + rows[i][2].toFixed(6) + (accuracy === null ? "" : " ±" + near(accuracy)));
  return lines.join("\n");
}
function hover(index, x, y) {
  if (index < 0 && hovered < 0) return;
  hovered = index;
  tip.style.display = index < 0 ? "none" : "block";
  if (index >= 0) {
    tip.textContent = describe(index);
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
  }
  redraw();
}
let isDue = false;
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    for (const name of ["card", "ink", "soft", "grid", "track", "start", "end", "stop", "fence", "trip"])
      colours[name] = colour(name);
    drawMap();
    charts.forEach(drawChart);
    document.documentElement.dataset.drawn = count;
  });
}
function cell(row, text, className) {
  const found = row.insertCell();
  found.textContent = text;
  if (className) found.className = className;
}
function press(row, go) {
  row.tabIndex = 0;
  row.addEventListener("click", go);
  row.addEventListener("keydown", event => { if (event.key === "Enter") go(); });
}
function show(row, lat, lon) {
  press(row, () => { view.x = toX(lon); view.y = toY(lat); redraw(); map.scrollIntoView({block: "nearest"}); });
}
/** Draws the trip's part of the track in a colour of its own, and fits the map to it. */
function showTrip(from, to) {
  shown = [from, to];
  const inside = [];
  for (let i = 0; i < count; i++) if (times[i] >= from && times[i] <= to) inside.push(i);
  if (inside.length) {
    const [low, high] = bounds(inside.map(i => xs[i])), [below, above] = bounds(inside.map(i => ys[i]));
    fitTo((low + high) / 2, (below + above) / 2, high - low, above - below);
  }
  redraw();
  map.scrollIntoView({block: "nearest"});
}
document.getElementById("speed-unit").textContent = facts.units.speed;
document.getElementById("height-unit").textContent = short.name;
const total = facts.summary;
document.getElementById("title").textContent = document.title =
  count ? "Track of " + new Date(times[0]).toLocaleDateString(undefined, {dateStyle: "long"}) : "Track";
document.getElementById("summary").textContent = [
  count.toLocaleString("en") + (count === 1 ? " location" : " locations"), meters(total.distance_meters),
  count ? fullTime(times[0]) + " to " + fullTime(times[count - 1]) : "",
  count ? duration((times[count - 1] - times[0]) / 1000) : "",
  total.highest_speed === undefined ? "" : "at most " + speedText(total.highest_speed, 1),
  "times in " + Intl.DateTimeFormat().resolvedOptions().timeZone,
].filter(Boolean).join(" · ");
for (const trip of facts.trips) {
  const row = document.querySelector("#trips tbody").insertRow();
  const from = Date.parse(trip.started_at), to = trip.ended_at ? Date.parse(trip.ended_at) : times[count - 1];
  cell(row, fullTime(from));
  cell(row, trip.ended_at ? fullTime(to) : "under way");
  cell(row, meters(trip.distance_meters), "number");
  cell(row, duration(trip.duration_seconds), "number");
  cell(row, duration(trip.idle_seconds), "number");
  cell(row, trip.top_speed === undefined ? "" : speedText(trip.top_speed, 0), "number");
  press(row, () => showTrip(from, to));
}
for (const stop of total.stops) {
  const row = document.querySelector("#stops tbody").insertRow();
  cell(row, fullTime(Date.parse(stop.from)));
  cell(row, fullTime(Date.parse(stop.to)));
  cell(row, duration(stop.seconds), "number");
  show(row, stop.latitude, stop.longitude);
}
for (const fence of facts.fences) {
  const row = document.querySelector("#fences tbody").insertRow();
  cell(row, fence.id);
  cell(row, meters(fence.radius_meters), "number");
  show(row, fence.latitude, fence.longitude);
}
document.getElementById("trips").hidden = !facts.trips.length;
document.getElementById("stops").hidden = !total.stops.length;
document.getElementById("fences").hidden = !facts.fences.length;
let isFitted = false;
new ResizeObserver(() => { if (!isFitted) { fit(); isFitted = true; } redraw(); }).observe(map);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
