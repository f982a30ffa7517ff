// What is wrong with a vehicle, if anything. Pure: a vehicle and the time in, words out.

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

const receivers = {
    disconnected: "gpsd does not answer", no_device: "no receiver is connected", no_fix: "the receiver has no fix",
    unsettled: "the receiver's time is not settled", stale: "the receiver has gone silent",
};

/** From the most to the least urgent. */
export const levels = {
    bad: "Failing", warn: "Attention", moving: "Moving", parked: "Parked", off: "Off",
};
export const order = Object.keys(levels);

/** Of a vehicle that cannot be judged. */
export const unreadable = { level: "warn", word: levels.warn, why: ["its status cannot be read"] };

/** `{level, word, why}`: `why` is a list of sentences, empty when nothing is wrong. */
export function judge(vehicle, now) {
    if (vehicle.revoked) return { level: "off", word: "Revoked", why: [] };
    if (!vehicle.seen) return { level: "off", word: "Never heard", why: [] };
    const { latest, status } = vehicle;
    const silence = now - vehicle.seen;
    const isMoving = latest?.motion === "moving" && status?.state !== "stopped";
    const bad = [], warn = [];
    const quiet = duration(silence);
    // Without heartbeats a parked vehicle has nothing to say: it is silent, and well.
    const promised = status && status.heartbeat !== 0 ? LOST_HEARTBEATS * (status.heartbeat * 1000 || HEARTBEAT) : Infinity;
    if (silence > Math.max(promised, SILENT_LONG)) bad.push(`silent for ${quiet}`);
    else if (silence > promised) warn.push(`silent for ${quiet}`);
    else if (isMoving && silence > SILENT_MOVING) warn.push(`silent for ${quiet}, and was moving`);
    const receiver = Object.hasOwn(receivers, status?.receiver ?? "") ? receivers[status.receiver] : "";
    if (status?.state === "tracking" && receiver) bad.push(receiver);
    const waits = status?.oldest ? vehicle.statusReceived - status.oldest : 0;
    if (waits > BACKLOG_AGE) warn.push(`unsent data for ${duration(waits)}`);
    else if (status?.pending > BACKLOG_ROWS) warn.push(`${status.pending.toLocaleString()} rows not uploaded`);
    if (status?.state === "tracking" && status.motion === "moving" && latest && vehicle.seen - latest.time > BLIND) {
        warn.push(`no position for ${duration(vehicle.seen - latest.time)}`);
    }
    const why = [...bad, ...warn];
    if (why.length) {
        const level = bad.length ? "bad" : "warn";
        return { level, word: levels[level], why };
    }
    if (!status && !latest) return { level: "off", word: "New", why };
    if (status?.state === "stopped") return { level: "off", word: "Stopped", why };
    if (status?.state === "idle" && !latest) return { level: "off", word: "Not started", why };
    if (isMoving) return { level: "moving", word: "Moving", why };
    return { level: "parked", word: "Parked", why };
}

/** What is said in place of where a vehicle is that was heard of, and of which no location is there. */
export const placeless = ({ status }) => status ? "no position kept" : "no location yet: the first comes with its next upload";

function duration(milliseconds) {
    const value = milliseconds / MINUTE;
    if (value < 120) return `${Math.round(value)} min`;
    if (value < 48 * 60) return `${Math.round(value / 60)} h`;
    return `${Math.round(value / 1440)} days`;
}
