"use strict";
const read = id => JSON.parse(document.getElementById(id).textContent);
const facts = read("facts"), rows = read("rows"), count = rows.length;
const degree = 6371008.8 * Math.PI / 180;
const wrap = degrees => ((degrees + 180) % 360 + 360) % 360 - 180;
// Columns of plain numbers, compact enough for a hundred thousand locations.
const times = new Float64Array(count), lats = new Float64Array(count), lons = new Float64Array(count);
for (let i = 0; i < count; i++) {
  times[i] = facts.origin + rows[i][0];
  lats[i] = rows[i][1];
  // Unwrapped at the antimeridian.
  lons[i] = i ? lons[i - 1] + wrap(rows[i][2] - lons[i - 1]) : rows[i][2];
}
const speedAt = i => rows[i][3], bearingAt = i => rows[i][4], altitudeAt = i => rows[i][5], accuracyAt = i => rows[i][6],
  sessionAt = i => rows[i][7];
const breaks = i => i === 0 || sessionAt(i) !== sessionAt(i - 1);
const bounds = values => {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return [low, high];
};
const [south, north] = bounds(lats), [west, east] = bounds(lons);
const middle = {lat: (south + north) / 2, lon: (west + east) / 2};
const shrink = Math.max(Math.cos(middle.lat * Math.PI / 180), 0.01);
// Metres east and north of the centre.
const toX = lon => (middle.lon + wrap(lon - middle.lon) - middle.lon) * degree * shrink;
const toY = lat => (lat - middle.lat) * degree;
const xs = lons.map(lon => (lon - middle.lon) * degree * shrink), ys = lats.map(toY);

const dayTime = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "medium"});
const onlyTime = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit"});
const fullTime = ms => dayTime.format(ms);
const {long, short} = facts.units;
const near = value => Math.round(value / short.meters) + " " + short.name;
const meters = value => {
  if (value / short.meters < 1000) return near(value);
  const far = value / long.meters;
  return far.toFixed(far < 100 && far % 1 ? 1 : 0) + " " + long.name;
};
const speedIn = value => value * 3600 / long.meters, speedText = (value, digits) => speedIn(value).toFixed(digits) + " " + facts.units.speed;
const duration = seconds => {
  const minutes = Math.round(seconds / 60);
  if (seconds < 60) return Math.round(seconds) + " s";
  if (minutes < 60) return minutes + " min";
  if (minutes < 1440) return Math.floor(minutes / 60) + " h " + String(minutes % 60).padStart(2, "0") + " min";
  return Math.floor(minutes / 1440) + " d " + Math.floor(minutes % 1440 / 60) + " h";
};
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
let colours = {};
let hovered = -1;
let shown = null;  // first and last time of the chosen trip

/** Matches a canvas to the screen's resolution; its context uses CSS pixels. */
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  context.font = "12px system-ui, sans-serif";
  return {context, width: box.width, height: box.height};
}
/** 1, 2 or 5 times a power of ten, at most `most`. */
function round125(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return most >= 5 * power ? 5 * power : most >= 2 * power ? 2 * power : power;
}

// The map ---------------------------------------------------------------------------------------------------------
const map = document.querySelector("#map canvas");
const view = {x: 0, y: 0, scale: 1};  // the centre in metres, and pixels per metre
function fitTo(x, y, width, height) {
  const box = map.getBoundingClientRect();
  view.x = x;
  view.y = y;
  view.scale = Math.min(Math.max(box.width - 90, 40) / Math.max(width, 20), Math.max(box.height - 90, 40) / Math.max(height, 20));
}
function fit() { fitTo(0, 0, (east - west) * degree * shrink, (north - south) * degree); }
const screenX = (x, width) => (x - view.x) * view.scale + width / 2;
const screenY = (y, height) => height / 2 - (y - view.y) * view.scale;

function drawMap() {
  const {context: pen, width, height} = prepare(map);
  drawGrid(pen, width, height);
  for (const fence of facts.fences) drawFence(pen, fence, width, height);
  drawTrack(pen, 0, count, colours.track, 2.5, width, height);
  if (shown) {
    const first = times.findIndex(time => time >= shown[0]), last = times.findLastIndex(time => time <= shown[1]);
    if (first >= 0) drawTrack(pen, first, last + 1, colours.trip, 4, width, height);
  }
  for (const stop of facts.summary.stops)
    dot(pen, screenX(toX(stop.longitude), width), screenY(toY(stop.latitude), height), 6, colours.stop);
  // The end below the start, like the labels, so that a round trip shows both.
  if (count) label(pen, xs[count - 1], ys[count - 1], "End", colours.end, width, height, 16);
  if (count) label(pen, xs[0], ys[0], "Start", colours.start, width, height, -9);
  if (hovered >= 0) dot(pen, screenX(xs[hovered], width), screenY(ys[hovered], height), 6, colours.ink);
  drawScale(pen, height);
}
function drawTrack(pen, first, end, colour, thickness, width, height) {
  pen.strokeStyle = colour;
  pen.lineWidth = thickness;
  pen.lineJoin = pen.lineCap = "round";
  pen.beginPath();
  let lastX = 0, lastY = 0;
  for (let i = first; i < end; i++) {
    const x = screenX(xs[i], width), y = screenY(ys[i], height);
    if (i === first || breaks(i)) pen.moveTo(x, y);
    // Points within a pixel of the last one drawn only cost time.
    else if (i < end - 1 && !breaks(i + 1) && Math.abs(x - lastX) < 0.7 && Math.abs(y - lastY) < 0.7) continue;
    else pen.lineTo(x, y);
    lastX = x; lastY = y;
  }
  pen.stroke();
}
function drawGrid(pen, width, height) {
  const step = round125(140 / view.scale);
  pen.strokeStyle = colours.grid;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let x = Math.ceil((view.x - width / 2 / view.scale) / step) * step; screenX(x, width) < width; x += step) {
    pen.moveTo(Math.round(screenX(x, width)) + 0.5, 0);
    pen.lineTo(Math.round(screenX(x, width)) + 0.5, height);
  }
  for (let y = Math.ceil((view.y - height / 2 / view.scale) / step) * step; screenY(y, height) > 0; y += step) {
    pen.moveTo(0, Math.round(screenY(y, height)) + 0.5);
    pen.lineTo(width, Math.round(screenY(y, height)) + 0.5);
  }
  pen.stroke();
}
function drawFence(pen, fence, width, height) {
  const x = screenX(toX(fence.longitude), width), y = screenY(toY(fence.latitude), height);
  const radius = fence.radius_meters * view.scale;
  if (!fence.polygon && (x + radius < 0 || x - radius > width || y + radius < 0 || y - radius > height)) return;
  pen.beginPath();
  let top = y - radius;
  if (fence.polygon) {
    // Corners lie as far from the centre as their longitudes say, also across the antimeridian.
    const corners = fence.polygon.map(([lon, lat]) =>
      [screenX(toX(fence.longitude) + wrap(lon - fence.longitude) * degree * shrink, width), screenY(toY(lat), height)]);
    corners.forEach(([cornerX, cornerY]) => pen.lineTo(cornerX, cornerY));
    pen.closePath();
    top = Math.min(...corners.map(corner => corner[1]));
  } else pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.globalAlpha = 0.12;
  pen.fillStyle = pen.strokeStyle = colours.fence;
  pen.fill();
  pen.globalAlpha = 1;
  pen.lineWidth = 1.5;
  pen.setLineDash([6, 4]);
  pen.stroke();
  pen.setLineDash([]);
  pen.textAlign = "center";
  pen.fillText(fence.id.length > 24 ? fence.id.slice(0, 23) + "…" : fence.id, x, Math.max(top - 6, 14));
  pen.textAlign = "left";
}
function dot(pen, x, y, radius, fill) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = fill;
  pen.fill();
  pen.lineWidth = 2;
  pen.strokeStyle = colours.card;
  pen.stroke();
}
function label(pen, mx, my, text, fill, width, height, offset) {
  const x = screenX(mx, width), y = screenY(my, height);
  dot(pen, x, y, 7, fill);
  pen.font = "600 13px system-ui, sans-serif";
  pen.lineWidth = 4;
  pen.strokeStyle = colours.card;
  pen.strokeText(text, x + 9, y + offset);
  pen.fillText(text, x + 9, y + offset);
  pen.font = "12px system-ui, sans-serif";
}
function drawScale(pen, height) {
  const most = 140 / view.scale, unit = most < Math.min(long.meters, short.meters * 1000) ? short : long;
  const length = round125(most / unit.meters), pixels = length * unit.meters * view.scale;
  pen.strokeStyle = pen.fillStyle = colours.ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(14, height - 20); pen.lineTo(14, height - 14); pen.lineTo(14 + pixels, height - 14);
  pen.lineTo(14 + pixels, height - 20);
  pen.stroke();
  pen.fillText((length >= 1 ? length : length.toFixed(2)) + " " + unit.name, 20, height - 20);
}
function zoom(factor, x, y) {
  const box = map.getBoundingClientRect();
  const dx = x - box.width / 2, dy = box.height / 2 - y;
  const scale = Math.min(Math.max(view.scale * factor, 1e-6), 200);
  view.x += dx / view.scale - dx / scale;
  view.y += dy / view.scale - dy / scale;
  view.scale = scale;
  redraw();
}
function nearest(px, py) {
  const box = map.getBoundingClientRect();
  let best = -1, least = 24 * 24;
  for (let i = 0; i < count; i++) {
    const dx = screenX(xs[i], box.width) - px, dy = screenY(ys[i], box.height) - py, far = dx * dx + dy * dy;
    if (far < least) { least = far; best = i; }
  }
  return best;
}
const fingers = new Map();
map.addEventListener("pointerdown", event => {
  map.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, {x: event.offsetX, y: event.offsetY});
  map.classList.add("dragging");
});
map.addEventListener("pointermove", event => {
  const before = fingers.get(event.pointerId);
  if (!before) return hover(nearest(event.offsetX, event.offsetY), event.clientX, event.clientY);
  const now = {x: event.offsetX, y: event.offsetY};
  const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) {
    const far = (a, b) => Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1);
    zoom(far(now, other) / far(before, other), (now.x + other.x) / 2, (now.y + other.y) / 2);
  } else {
    view.x -= (now.x - before.x) / view.scale;
    view.y += (now.y - before.y) / view.scale;
    redraw();
  }
  fingers.set(event.pointerId, now);
});
for (const name of ["pointerup", "pointercancel"]) map.addEventListener(name, event => {
  fingers.delete(event.pointerId);
  if (!fingers.size) map.classList.remove("dragging");
});
map.addEventListener("pointerleave", () => hover(-1));
map.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
}, {passive: false});
map.addEventListener("dblclick", event => zoom(2, event.offsetX, event.offsetY));
function act(name) {
  const box = map.getBoundingClientRect();
  if (name === "fit") { shown = null; fit(); redraw(); } else zoom(name === "in" ? 1.5 : 1 / 1.5, box.width / 2, box.height / 2);
}
document.getElementById("buttons").addEventListener("click", event => {
  if (event.target.dataset.act) act(event.target.dataset.act);
});
map.addEventListener("keydown", event => {
  const step = 60 / view.scale;
  const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step]};
  const acts = {"+": "in", "=": "in", "-": "out", "0": "fit"};
  if (moves[event.key]) { view.x += moves[event.key][0]; view.y += moves[event.key][1]; redraw(); }
  else if (acts[event.key]) act(acts[event.key]);
  else return;
  event.preventDefault();
});
