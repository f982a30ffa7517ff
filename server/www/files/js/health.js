// What is wrong with a vehicle, if anything. Pure: a vehicle and the time in, words out.
import { count, plural, t } from "./language.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A moving vehicle uploads every few minutes. */
const SILENT_MOVING = 15 * MINUTE;
/** A parked one says that it lives where it has heartbeats: hourly, unless it says how often. */
const HEARTBEAT = HOUR;
/** So many in a row may get lost. */
const LOST_HEARTBEATS = 3;
const SILENT_LONG = 24 * HOUR;
/** What waits so long in a vehicle does not get through. */
const BACKLOG_AGE = HOUR;
const BACKLOG_ROWS = 1000;
/** Tracking, heard of, moving, and yet no position. */
const BLIND = 15 * MINUTE;

export const receivers = {
    disconnected: t("gpsd does not answer"), no_device: t("no receiver is connected"), no_fix: t("the receiver has no fix"),
    unsettled: t("the receiver's time is not settled"), stale: t("the receiver has gone silent"),
};

/** From the most to the least urgent. */
export const levels = {
    bad: t("Failing"), warn: t("Attention"), moving: t("Moving"), parked: t("Parked"), off: t("Off"),
};
export const order = Object.keys(levels);
/** So many of a level. */
export const counted = {
    bad: (number) => t("{count} failing", { count: number }), warn: (number) => t("{count} attention", { count: number }), moving: (number) => t("{count} moving", { count: number }),
    parked: (number) => t("{count} parked", { count: number }), off: (number) => t("{count} off", { count: number }),
};

/** Of a vehicle that cannot be judged. */
export const unreadable = { level: "warn", word: levels.warn, why: [t("its status cannot be read")] };

/** `{level, word, why}`: `why` is a list of sentences, empty when nothing is wrong. */
export function judge(vehicle, now) {
    if (vehicle.revoked) return { level: "off", word: t("Retired"), why: [] };
    if (!vehicle.seen) return { level: "off", word: t("Never seen"), why: [] };
    const { latest, status } = vehicle;
    const silence = now - vehicle.seen;
    const isMoving = latest?.motion === "moving" && status?.state !== "stopped";
    const bad = [], warn = [];
    const quiet = duration(silence);
    // Without heartbeats a parked vehicle has nothing to say: it is silent, and well.
    const promised = status && status.heartbeat !== 0 ? LOST_HEARTBEATS * (status.heartbeat * 1000 || HEARTBEAT) : Infinity;
    if (silence > Math.max(promised, SILENT_LONG)) bad.push(t("silent for {time}", { time: quiet }));
    else if (silence > promised) warn.push(t("silent for {time}", { time: quiet }));
    else if (isMoving && silence > SILENT_MOVING) warn.push(t("silent for {time}, and was moving", { time: quiet }));
    const receiver = Object.hasOwn(receivers, status?.receiver ?? "") ? receivers[status.receiver] : "";
    if (status?.state === "tracking" && receiver) bad.push(receiver);
    const waits = status?.oldest ? vehicle.statusReceived - status.oldest : 0;
    if (waits > BACKLOG_AGE) warn.push(t("unsent data for {time}", { time: duration(waits) }));
    else if (status?.pending > BACKLOG_ROWS) warn.push(t("{count} rows not uploaded", { count: count(status.pending) }));
    if (status?.state === "tracking" && status.motion === "moving" && latest && vehicle.seen - latest.time > BLIND) {
        warn.push(t("no position for {time}", { time: duration(vehicle.seen - latest.time) }));
    }
    const why = [...bad, ...warn];
    if (why.length) {
        const level = bad.length ? "bad" : "warn";
        return { level, word: levels[level], why };
    }
    if (!status && !latest) return { level: "off", word: t("New"), why };
    if (status?.state === "stopped") return { level: "off", word: t("Stopped"), why };
    if (status?.state === "idle" && !latest) return { level: "off", word: t("Not started"), why };
    if (isMoving) return { level: "moving", word: t("Moving"), why };
    return { level: "parked", word: t("Parked"), why };
}

/** What is said in place of where a vehicle is that was heard of, and of which no location is there. */
export const placeless = ({ status }) => status ? t("no position kept") : t("no location yet: the first comes with its next upload");

function duration(milliseconds) {
    const value = milliseconds / MINUTE;
    if (value < 120) return `${Math.round(value)} min`;
    if (value < 48 * 60) return `${Math.round(value / 60)} h`;
    return plural(Math.round(value / 1440), "{count} day", "{count} days");
}
