// The vehicles as they are now: read once, then kept by the server's stream of changes.
import { read } from "./api.js";
import { judge } from "./health.js";

const motions = ["moving", "stationary", "unknown"];
/** Milliseconds before another try; a part of it is chance, so that pages do not come back together. */
const RETRY = 4000;
/** A page that nobody looks at lets go of its stream after so long. */
const HIDDEN = 30_000;

export const vehicles = new Map();
const listeners = new Set();
const changed = new Set();
let source = null;
let retry = 0;
let offset = 0;
let frame = 0;
let hidden = 0;
let wanted = false;
let everything = false;
export let state = "off";

/** The server's time: what is old is not judged by a clock that is wrong. */
export const now = () => Date.now() + offset;

/** `action(changed, all)` is called at most once for each frame. Returns what ends it. */
export function follow(action) {
    listeners.add(action);
    return () => listeners.delete(action);
}

function tell() {
    if (frame) return;
    // A hidden page has no frames.
    frame = (document.hidden ? setTimeout : requestAnimationFrame)(() => {
        frame = 0;
        const news = new Set(changed), all = everything;
        changed.clear();
        everything = false;
        for (const action of [...listeners]) action(news, all);
    }, document.hidden ? 1000 : undefined);
}

export function health(vehicle) {
    const time = now();
    // Nothing in it is finer than a minute.
    if (!vehicle.health || time - vehicle.judged > 20_000) {
        vehicle.health = judge(vehicle, time);
        vehicle.judged = time;
    }
    return vehicle.health;
}

function take(device) {
    const vehicle = vehicles.get(device.id) ?? { id: device.id, trail: [] };
    vehicle.name = device.name;
    vehicle.created = Date.parse(device.created);
    vehicle.revoked = device.revoked ? Date.parse(device.revoked) : 0;
    vehicle.shownAgain = device.token_shown_again ? Date.parse(device.token_shown_again) : 0;
    vehicle.other = device.other_installation;
    vehicle.seen = device.seen ? Date.parse(device.seen) : 0;
    vehicle.status = device.status;
    vehicle.statusReceived = Date.parse(device.status_received ?? "") || 0;
    vehicle.version = device.status?.version ?? device.sdk_version;
    vehicle.model = device.model;
    vehicle.platform = device.platform;
    if (device.latest) {
        const { latest } = device;
        move(vehicle, {
            time: Date.parse(latest.timestamp), latitude: latest.latitude, longitude: latest.longitude, speed: latest.speed,
            bearing: latest.bearing, motion: latest.motion,
        });
    }
    vehicle.health = null;
    vehicles.set(device.id, vehicle);
    changed.add(vehicle);
}

function move(vehicle, place) {
    if (vehicle.latest?.time === place.time) return;
    vehicle.latest = place;
    // Where it is on a map of the world of size 1, in Mercator's projection.
    place.x = place.longitude / 360 + 0.5;
    const sine = Math.sin(Math.max(-85.0511, Math.min(85.0511, place.latitude)) * Math.PI / 180);
    place.y = 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
    vehicle.trail.push(place);
    if (vehicle.trail.length > 60) vehicle.trail.shift();
}

function takeMoves({ at, moves }) {
    for (const [id, seen, time, latitude, longitude, speed, bearing, codes] of moves) {
        const vehicle = vehicles.get(id);
        if (!vehicle) continue;
        vehicle.seen = at + (seen ?? 0);
        if (time !== undefined) {
            move(vehicle, { time: at + time, latitude, longitude, speed, bearing, motion: motions[codes >> 3 & 3] });
        }
        vehicle.health = null;
        changed.add(vehicle);
    }
    tell();
}

/** All of them anew: at the start, and after a gap in the stream. */
export async function load() {
    const { devices } = await read("/v1/devices");
    const known = new Set(devices.map((device) => device.id));
    for (const id of vehicles.keys()) if (!known.has(id)) vehicles.delete(id);
    devices.forEach(take);
    everything = true;
    tell();
}

function become(next) {
    if (state === next) return;
    state = next;
    tell();
}

export function open() {
    wanted = true;
    if (source) return;
    clearTimeout(retry);
    source = new EventSource("/v1/live?form=compact");
    source.addEventListener("hello", async (event) => {
        offset = Date.parse(JSON.parse(event.data).time) - Date.now();
        try {
            // After the stream has begun, so that nothing falls between the two.
            await load();
            become("live");
        } catch {
            again();
        }
    });
    source.addEventListener("moves", (event) => takeMoves(JSON.parse(event.data)));
    source.addEventListener("device", (event) => {
        take(JSON.parse(event.data));
        tell();
    });
    source.addEventListener("error", again);
}

function again() {
    source?.close();
    source = null;
    if (!wanted) return;
    become("lost");
    clearTimeout(retry);
    retry = setTimeout(open, RETRY * (0.5 + Math.random()));
}

export function close() {
    wanted = false;
    clearTimeout(retry);
    source?.close();
    source = null;
    become("off");
}

document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) {
        if (wanted) hidden = setTimeout(() => { close(); wanted = true; }, HIDDEN);
    } else if (wanted) open();
});

// Ages grow although nothing is heard.
setInterval(() => {
    if (document.hidden || !wanted) return;
    everything = true;
    tell();
}, 20_000);
