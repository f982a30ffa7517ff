// What a vehicle says, member by member: each with its type, or not at all. It may say anything.
import { t } from "./language.js";

const TIME = /^\d{4}-\d\d-\d\dT/;
/** Metres per second that no vehicle has. */
const FASTEST = 10_000;

export const text = (value) => (typeof value === "string" ? value : undefined);
export const flag = (value) => (typeof value === "boolean" ? value : undefined);

const words = {
    tracking: t("tracking"), idle: t("idle"), stopped: t("stopped"), released: t("released"), disconnected: t("disconnected"), no_device: t("no device"),
    no_fix: t("no fix"), unsettled: t("unsettled"), stale: t("stale"), ok: t("ok"),
};

/** How its state, or its receiver's, is shown. */
export const wordOf = (value) => (Object.hasOwn(words, value ?? "") ? words[value] : value?.replaceAll("_", " "));

/** A number within bounds; beyond those that are told exactly, nothing is one. */
export const number = (value, least = 0, most = Number.MAX_SAFE_INTEGER) =>
    (typeof value === "number" && value >= least && value <= most ? value : undefined);

/** Metres per second. */
export const speedOf = (value) => number(value, 0, FASTEST);

/** Unix milliseconds; 0 for what is no time. */
export const timeOf = (value) => (TIME.test(text(value) ?? "") ? Date.parse(value) || 0 : 0);

/** Where it was, and when; undefined for what is no place. */
export function placeOf(value) {
    const time = timeOf(value?.timestamp), latitude = number(value?.latitude, -90, 90), longitude = number(value?.longitude, -180, 180);
    if (!time || latitude === undefined || longitude === undefined) return undefined;
    return { time, latitude, longitude, speed: speedOf(value.speed), bearing: number(value.bearing, 0, 360), motion: text(value.motion) };
}

/** Names, at most 64; undefined for what is no list of them. */
const namesOf = (value) => (Array.isArray(value) && value.length <= 64 && value.every((name) => typeof name === "string" && name.length <= 64) ? value : undefined);

/** What it said of its state last; undefined when it never did. */
export function statusOf(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return {
        state: text(value.state), motion: text(value.motion), receiver: text(value.receiver), ignition: flag(value.ignition),
        pending: number(value.pending), oldest: timeOf(value.oldest_pending), odometer: number(value.odometer_meters),
        uptime: number(value.uptime_seconds), heartbeat: number(value.heartbeat_seconds), version: text(value.version),
        battery: number(value.battery_level, 0, 1), commands: namesOf(value.commands),
    };
}
