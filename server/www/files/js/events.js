// What vehicles tell of, and what rules have found, in words: each a whole sentence, of values that may be anything.
import { distance, duration, mileage, moment, speed } from "./format.js";
import { receivers } from "./health.js";
import { t } from "./language.js";
import { number, speedOf, text, timeOf } from "./status.js";

const plain = {
    "ignition on": t("Ignition on"), "ignition off": t("Ignition off"), "power lost": t("External power lost"), "power back": t("External power back"),
    "trip started": t("Trip started"), "trip ended": t("Trip ended"), "odometer set": t("Odometer set"),
};

/** Of an event, as `/v1/events` has it. */
export function eventText(event) {
    const kind = text(event.kind) ?? "", type = text(event.type) ?? "", fence = text(event.geofence_id) ?? text(event.subject) ?? text(event.data?.geofence_id);
    if (kind === "geofence_enter") return t("Entered {fence}", { fence });
    if (kind === "geofence_exit") return t("Left {fence}", { fence });
    if (kind === "dwell") return t("Stays in {fence}", { fence });
    const known = `${kind} ${type}`.trim().replaceAll("_", " ");
    return Object.hasOwn(plain, known) ? plain[known] : known;
}

const sources = { gpio: t("by a GPIO line"), power_supply: t("by the power supply"), manual: t("set by beekonctl") };

/** What an event tells besides, where there are words for it. */
export function eventDetail({ kind, data }) {
    const source = text(data?.source) ?? "", meters = number(data?.distance_meters), idle = number(data?.idle_seconds), top = speedOf(data?.top_speed);
    const stay = number(data?.dwell_seconds), odometer = number(data?.odometer_meters), before = number(data?.previous_meters);
    if (kind === "dwell" && stay !== undefined) return duration(stay);
    if (kind === "odometer" && odometer !== undefined) return [before, odometer].filter((value) => value !== undefined).map(mileage).join(" → ");
    if (kind !== "trip") return Object.hasOwn(sources, source) ? sources[source] : "";
    return [
        meters === undefined ? "" : distance(meters), number(data?.duration_seconds) === undefined ? "" : duration(data.duration_seconds),
        idle ? t("{time} of it standing", { time: duration(idle) }) : "", top === undefined ? "" : t("up to {speed}", { speed: speed(top) }),
    ].filter(Boolean).join(", ");
}

/** Kinds of events that are asked for. */
export const eventKinds = {
    geofence_enter: t("Geofence entered"), geofence_exit: t("Geofence left"), dwell: t("Stay in a geofence"), ignition: t("Ignition"), power: t("External power"), trip: t("Trip"),
    odometer: t("Odometer"),
};

/** Of an alert, as `/v1/alerts` has it; what is not understood is told in the server's words. */
export function alertText({ kind, text: told, data }) {
    const fence = text(data?.fence), type = text(data?.type);
    if (kind === "geofence" && fence) {
        if (type === "enter") return t("Entered {fence}", { fence });
        if (type === "exit") return t("Left {fence}", { fence });
        if (type === "dwell") return t("Stays in {fence}", { fence });
    }
    const known = `${kind} ${type ?? ""}`;
    if (Object.hasOwn(plain, known)) return plain[known];
    const seen = timeOf(data?.seen), percent = number(data?.percent), fast = number(data?.kilometers_per_hour), receiver = text(data?.receiver) ?? "";
    if (kind === "silence" && seen) return t("Not heard of since {time}", { time: moment(seen) });
    if (kind === "battery" && percent !== undefined) return t("Battery at {percent} %", { percent });
    if (kind === "speed" && fast !== undefined) return t("Drives at {speed}", { speed: speed(fast / 3.6) });
    if (kind === "failing" && Object.hasOwn(receivers, receiver)) return t("Fails: {reason}", { reason: receivers[receiver] });
    return text(told) ?? "";
}
