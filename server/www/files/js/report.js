// Sums of trips, by vehicle and day, in the time zone of whoever looks. No element, no request.
import { dayOf } from "./format.js";
import { speedOf } from "./status.js";

/** What can be summed up: the key of a trip's row. */
const keys = {
    trip: (trip) => `${trip.device} ${trip.start}`,
    day: (trip) => `${trip.device} ${trip.day}`,
    vehicle: (trip) => String(trip.device),
    fleet: (trip) => trip.day,
};

/** A trip as the server tells it, with its times as numbers. It belongs to the day on which it began. */
function read(trip) {
    const start = Date.parse(trip.start), end = Date.parse(trip.end);
    return { ...trip, start, end, day: dayOf(start) };
}

/**
 * Rows of a report, each with its sums. A stop is what lies between two trips of a vehicle on one day; it stands with the second.
 * @param trips as the server tells them: by vehicle and time
 * @param by "trip": each trip; "day": each day of each vehicle; "vehicle"; "fleet": each day
 */
export function rowsOf(trips, by) {
    const rows = new Map();
    let before = null;
    for (const trip of trips.map(read)) {
        const key = keys[by](trip);
        let row = rows.get(key);
        if (!row) {
            row = {
                key, device: by === "fleet" ? null : trip.device, name: by === "fleet" ? "" : trip.name, day: by === "vehicle" ? "" : trip.day,
                trips: 0, distance: 0, driving: 0, idle: 0, stops: 0, stopped: 0, first: trip.start, last: trip.end, top: undefined, isEstimate: false,
            };
            rows.set(key, row);
        }
        row.trips += 1;
        row.distance += trip.distance_meters;
        row.driving += trip.duration_seconds - (trip.idle_seconds ?? 0);
        row.idle += trip.idle_seconds ?? 0;
        row.first = Math.min(row.first, trip.start);
        row.last = Math.max(row.last, trip.end);
        const top = speedOf(trip.top_speed);
        if (top !== undefined) row.top = Math.max(row.top ?? 0, top);
        row.isEstimate ||= trip.source === "locations";
        if (before?.device === trip.device && before.day === trip.day && trip.start >= before.end) {
            row.stops += 1;
            row.stopped += (trip.start - before.end) / 1000;
        }
        before = trip;
    }
    return [...rows.values()].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
}

/** The sums of all rows. */
export function totalOf(rows) {
    const total = { trips: 0, distance: 0, driving: 0, idle: 0, stops: 0, stopped: 0, top: undefined, isEstimate: false };
    for (const row of rows) {
        for (const name of ["trips", "distance", "driving", "idle", "stops", "stopped"]) total[name] += row[name];
        if (row.top !== undefined) total.top = Math.max(total.top ?? 0, row.top);
        total.isEstimate ||= row.isEstimate;
    }
    return total;
}

/** A moment with the offset of the time zone of whoever looks. */
function local(time) {
    const minutes = -new Date(time).getTimezoneOffset();
    const pad = (number) => String(number).padStart(2, "0");
    const sign = minutes < 0 ? "-" : "+", size = Math.abs(minutes);
    return `${new Date(time + minutes * 60_000).toISOString().slice(0, 19)}${sign}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

// What begins so is a formula for programs that show tables.
const quoted = (text) => `"${/^[=+\-@]/.test(text) ? "'" : ""}${text.replaceAll('"', '""')}"`;

/** Each trip as CSV, with the columns of the server's, in metres and seconds. */
export function tripsCsv(trips) {
    const lines = trips.map(read).map((trip) => [
        trip.device, quoted(trip.name), local(trip.start), local(trip.end), trip.distance_meters.toFixed(0), trip.duration_seconds.toFixed(0),
        trip.idle_seconds?.toFixed(0) ?? "", speedOf(trip.top_speed)?.toFixed(1) ?? "", trip.source,
    ].join(","));
    return ["device,name,start,end,distance_meters,duration_seconds,idle_seconds,top_speed,source", ...lines, ""].join("\r\n");
}

/** Rows as CSV, in metres and seconds. */
export function csvOf(rows) {
    const lines = rows.map((row) => [
        row.device ?? "", quoted(row.name), row.day, row.trips, row.distance.toFixed(0), row.driving.toFixed(0), row.idle.toFixed(0),
        row.stops, row.stopped.toFixed(0), local(row.first), local(row.last), row.top?.toFixed(1) ?? "", row.isEstimate ? "locations" : "vehicle",
    ].join(","));
    return ["device,name,day,trips,distance_meters,driving_seconds,idle_seconds,stops,stopped_seconds,first_start,last_end,top_speed_meters_per_second,source",
        ...lines, ""].join("\r\n");
}
