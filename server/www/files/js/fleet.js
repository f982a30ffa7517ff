// The vehicles as they are now: read once, then kept by the server's stream of changes.
import { read } from "./api.js";
import { judge, unreadable } from "./health.js";
import { t } from "./language.js";
import { number, placeOf, speedOf, statusOf, text, timeOf } from "./status.js";

const motions = ["moving", "stationary", "unknown"];
/** Milliseconds before another try; a part of it is chance, so that pages do not come back together. */
const RETRY = 4000;
/** A page that nobody looks at lets go of its stream after so long. */
const HIDDEN = 30_000;
/** The server says every 15 seconds that it is there; a path that says nothing for so long is dead, whatever TCP thinks. */
const SILENCE = 40_000;
/** Milliseconds between two locations that a trail connects. */
const TRAIL_GAP = 60_000;

export const vehicles = new Map();
/** Names of vehicles of which something cannot be shown, by number, until something is heard of them again. */
export const broken = new Map();
const listeners = new Set();
const changed = new Set();
let source = null;
let retry = 0;
let watchdog = 0;
let offset = 0;
let frame = 0;
let hidden = 0;
let wanted = false;
let everything = false;
export let state = "off";
/** How often all has been read: whoever shows more of the fleet than vehicles then reads it anew. */
export let loads = 0;

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

/** What an action makes of a vehicle. One that breaks it is named, and the others are shown all the same. */
export function safely(vehicle, action, otherwise) {
    try {
        return action(vehicle);
    } catch (error) {
        if (!broken.has(vehicle.id)) {
            console.warn(`vehicle ${vehicle.id}:`, error);
            broken.set(vehicle.id, vehicle.name);
            tell();
        }
        return otherwise;
    }
}

/** Whether what people call it has all words of a search in it: its name, plate or note; and of `more`, what else is looked at. */
export function isFound({ name, plate, note }, query, ...more) {
    const text = [name, plate, note, ...more].filter((part) => part !== undefined).join("\n").toLowerCase();
    return query.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Those that are somewhere. */
export const placed = () => [...vehicles.values()].filter((vehicle) => safely(vehicle, ({ latest, revoked }) => latest && !revoked));

export function health(vehicle) {
    const time = now();
    // Nothing in it is finer than a minute.
    if (!vehicle.health || time - vehicle.judged > 20_000) {
        vehicle.health = safely(vehicle, () => judge(vehicle, time), unreadable);
        vehicle.judged = time;
    }
    return vehicle.health;
}

/** A device as the server describes it; what it is told by vehicles may be anything. */
function take(device) {
    const vehicle = vehicles.get(device.id) ?? { id: device.id, trail: [] };
    vehicle.name = text(device.name) ?? t("Vehicle {id}", { id: device.id });
    broken.delete(device.id);
    vehicles.set(device.id, vehicle);
    changed.add(vehicle);
    safely(vehicle, () => describe(vehicle, device));
}

function describe(vehicle, device) {
    vehicle.health = null;
    vehicle.created = timeOf(device.created);
    vehicle.revoked = timeOf(device.revoked);
    vehicle.shownAgain = timeOf(device.token_shown_again);
    vehicle.other = text(device.other_installation);
    [vehicle.plate, vehicle.note, vehicle.group] = [text(device.plate), text(device.note), text(device.group)];
    vehicle.seen = timeOf(device.seen);
    vehicle.status = statusOf(device.status);
    vehicle.statusReceived = timeOf(device.status_received);
    vehicle.version = vehicle.status?.version ?? text(device.sdk_version);
    vehicle.model = text(device.model);
    vehicle.platform = text(device.platform);
    const place = placeOf(device.latest);
    if (place) move(vehicle, place);
}

function move(vehicle, place) {
    if (vehicle.latest?.time === place.time) return;
    vehicle.latest = place;
    // Where it is on a map of the world of size 1, in Mercator's projection.
    place.x = place.longitude / 360 + 0.5;
    const sine = Math.sin(Math.max(-85.0511, Math.min(85.0511, place.latitude)) * Math.PI / 180);
    place.y = 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
    // Of an upload, the page learns the newest alone: a line over more than a moment would be no way that was driven.
    if (vehicle.trail.length && place.time - vehicle.trail.at(-1).time > TRAIL_GAP) vehicle.trail.length = 0;
    vehicle.trail.push(place);
    if (vehicle.trail.length > 60) vehicle.trail.shift();
}

function takeMoves({ at, moves }) {
    for (const [id, seen, time, latitude, longitude, speed, bearing, codes] of moves) {
        const vehicle = vehicles.get(id);
        if (!vehicle) continue;
        safely(vehicle, () => {
            vehicle.health = null;
            vehicle.seen = at + (seen ?? 0);
            if (time === undefined) return;
            move(vehicle, {
                time: at + time, latitude, longitude, speed: speedOf(speed), bearing: number(bearing, 0, 360), motion: motions[codes >> 3 & 3],
            });
        });
        changed.add(vehicle);
    }
    tell();
}

/** All of them anew: at the start, and after a gap in the stream. */
export async function load() {
    const { devices } = await read("/v1/devices");
    const known = new Set(devices.map((device) => device.id));
    for (const id of vehicles.keys()) if (!known.has(id)) vehicles.delete(id);
    for (const id of broken.keys()) if (!known.has(id)) broken.delete(id);
    devices.forEach(take);
    loads += 1;
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
    const stream = source = new EventSource("/v1/live?form=compact");
    const on = (name, action) => stream.addEventListener(name, (event) => {
        if (stream !== source) return;
        listen();
        action(event);
    });
    listen();
    on("hello", async (event) => {
        offset = Date.parse(JSON.parse(event.data).time) - Date.now();
        try {
            // After the stream has begun, so that nothing falls between the two.
            await load();
            if (stream === source) become("live");
        } catch {
            if (stream === source) again();
        }
    });
    on("moves", (event) => takeMoves(JSON.parse(event.data)));
    on("device", (event) => {
        take(JSON.parse(event.data));
        tell();
    });
    // An admin has changed names, groups or rights, or deleted a vehicle.
    on("reload", () => load().catch(() => stream === source && again()));
    on("alive", () => {});
    stream.addEventListener("error", () => stream === source && again());
}

/** Something has been heard, or is to be heard now. */
function listen() {
    clearTimeout(watchdog);
    watchdog = setTimeout(again, SILENCE);
}

function hangUp() {
    clearTimeout(watchdog);
    clearTimeout(retry);
    source?.close();
    source = null;
}

function again() {
    hangUp();
    if (!wanted) return;
    become("lost");
    retry = setTimeout(open, RETRY * (0.5 + Math.random()));
}

export function close() {
    wanted = false;
    hangUp();
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
