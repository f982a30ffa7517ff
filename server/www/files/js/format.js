// Values as people read them, in their own language and time zone.
import { count, locale, plural, t } from "./language.js";
import { speedOf } from "./status.js";
import { units } from "./units.js";

/** Milliseconds of uploads without a status, after which it is not that of now. */
const STATUS_AGE = 120_000;
const dayTime = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const calendar = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const minutes = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dated = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const datedClock = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const date = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const names = new Intl.Collator(locale, { numeric: true });
/** Van 2 before van 10. One comparer for all: to make one takes longer than to compare. */
export const byName = (a, b) => names.compare(a.name, b.name);

export const moment = (time) => dayTime.format(time);
export const timeOfDay = (time) => clock.format(time);
export const hourMinute = (time) => minutes.format(time);
/** The same with their date, for what is of more than a day. */
export const datedTimeOfDay = (time) => datedClock.format(time);
export const datedHourMinute = (time) => dated.format(time);
export const dateOf = (time) => date.format(time);
export { count };

/** Seconds as `3 s`, `12 min`, `4 h 5 min`, `2 d 3 h`. */
export function duration(seconds) {
    const value = Math.max(0, Math.round(seconds));
    if (value < 60) return `${value} s`;
    if (value < 3600) return `${Math.floor(value / 60)} min`;
    if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.floor(value % 3600 / 60)} min`;
    if (value < 172800) return t("{days} d {hours} h", { days: 1, hours: Math.floor(value % 86400 / 3600) });
    return t("{count} d", { count: count(Math.floor(value / 86400)) });
}

/** How old a vehicle's status is, where its uploads have gone on without one; else nothing. */
export function asOf({ seen, status, statusReceived: time }, now) {
    if (!status || !time || seen - time <= STATUS_AGE) return "";
    return t("as of {time}", { time: isOneDay(time, now) ? hourMinute(time) : datedHourMinute(time) });
}

export const ago = (seconds) => seconds < 5 ? t("now") : t("{time} ago", { time: seconds < 172_800 ? duration(seconds) : plural(Math.floor(seconds / 86_400), "{count} day", "{count} days") });

/** As the way of a day, or one that is short. */
export function distance(meters) {
    const { long, longSign } = units();
    if (meters < long) return height(meters);
    return `${meters < 100 * long ? tenths.format(meters / long) : count(meters / long)} ${longSign}`;
}

/** As an odometer has it. */
export const mileage = (meters) => `${count(meters / units().long)} ${units().longSign}`;

/** As an altitude, or an accuracy. */
export const height = (meters) => `${count(meters / units().short)} ${units().shortSign}`;

/** Of a part of one. */
export const percent = (part) => `${count(part * 100)} %`;

export const speed = (metersPerSecond) => (speedOf(metersPerSecond) === undefined ? "–" : `${count(metersPerSecond * units().speed)} ${units().sign}`);

const points = [t("N"), t("NE"), t("E"), t("SE"), t("S"), t("SW"), t("W"), t("NW")];
export const heading = (degrees) => points[Math.round(degrees / 45) % 8];

export const place = (latitude, longitude) => `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;

/** The time zone of whoever looks, in which everything is shown. */
export const zone = dayTime.resolvedOptions().timeZone;

/** The local day of a moment, as a date field has it. */
export function dayOf(time) {
    const date = new Date(time);
    const pad = (number) => String(number).padStart(2, "0");
    return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

/** Whether a text is such a day, of which there are 9,999 years. */
export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text ?? "") && !Number.isNaN(Date.parse(text));

/** Whether both are on one local day, so that times need no date. */
export const isOneDay = (from, to) => dayOf(from) === dayOf(to);

/** Such a day, as people read it. */
export const dayText = (day) => calendar.format(rangeOf(day)[0]);

/** First and last millisecond of a local day, which has 23 or 25 hours twice a year. */
export function rangeOf(day) {
    const [year, month, date] = day.split("-").map(Number);
    return [new Date(year, month - 1, date).getTime(), new Date(year, month - 1, date + 1).getTime() - 1];
}

/** A moment in a link: without milliseconds, in UTC, so that it is the same for whoever opens it. */
export const stamp = (time) => new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
