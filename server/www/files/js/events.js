// What vehicles tell of, and what rules have found, in words: each a whole sentence, of values that may be anything.
import { moment, speed } from "./format.js";
import { number, text, timeOf } from "./status.js";

const plain = {
    "ignition on": "Ignition on", "ignition off": "Ignition off", "power lost": "External power lost", "power back": "External power back",
    "trip started": "Trip started", "trip ended": "Trip ended", "odometer set": "Odometer set",
};

/** Of an event, as `/v1/events` has it. */
export function eventText(event) {
    const kind = text(event.kind) ?? "", type = text(event.type) ?? "", fence = text(event.geofence_id) ?? text(event.subject) ?? text(event.data?.geofence_id);
    if (kind === "geofence_enter") return `Entered ${fence}`;
    if (kind === "geofence_exit") return `Left ${fence}`;
    if (kind === "dwell") return `Stays in ${fence}`;
    const known = `${kind} ${type}`.trim();
    return Object.hasOwn(plain, known) ? plain[known] : known.replaceAll("_", " ");
}

/** Kinds of events that are asked for. */
export const eventKinds = {
    geofence_enter: "Geofence entered", geofence_exit: "Geofence left", dwell: "Stay in a geofence", ignition: "Ignition", power: "External power", trip: "Trip",
    odometer: "Odometer",
};

const receivers = {
    disconnected: "gpsd does not answer", no_device: "no receiver is connected", no_fix: "the receiver has no fix",
    unsettled: "the receiver's time is not settled", stale: "the receiver has gone silent",
};

/** Of an alert, as `/v1/alerts` has it; what is not understood is told in the server's words. */
export function alertText({ kind, text: told, data }) {
    const fence = text(data?.fence), type = text(data?.type);
    if (kind === "geofence" && fence) {
        if (type === "enter") return `Entered ${fence}`;
        if (type === "exit") return `Left ${fence}`;
        if (type === "dwell") return `Stays in ${fence}`;
    }
    const known = `${kind} ${type ?? ""}`;
    if (Object.hasOwn(plain, known)) return plain[known];
    const seen = timeOf(data?.seen), percent = number(data?.percent), fast = number(data?.kilometers_per_hour), receiver = text(data?.receiver) ?? "";
    if (kind === "silence" && seen) return `Not heard of since ${moment(seen)}`;
    if (kind === "battery" && percent !== undefined) return `Battery at ${percent} %`;
    if (kind === "speed" && fast !== undefined) return `Drives at ${speed(fast / 3.6)}`;
    if (kind === "failing" && Object.hasOwn(receivers, receiver)) return `Fails: ${receivers[receiver]}`;
    return text(told) ?? "";
}
