// Kilometres, miles or nautical miles: as whoever looks has chosen, else as in the country of their language.
import { country, t } from "./language.js";

/** By name: what stands for the speed; its value for a metre a second; metres of the long unit and of the short one, and their signs. */
const systems = {
    metric: { sign: "km/h", speed: 3.6, long: 1000, longSign: "km", short: 1, shortSign: "m" },
    imperial: { sign: "mph", speed: 3600 / 1609.344, long: 1609.344, longSign: "mi", short: 0.3048, shortSign: "ft" },
    nautical: { sign: "kn", speed: 3600 / 1852, long: 1852, longSign: t("nmi"), short: 1, shortSign: "m" },
};
/** Countries whose road signs have miles. */
const miles = new Set(["US", "GB", "LR", "MM"]);
const KEY = "beekon-units";
const listeners = new Set();
let name = stored() ?? (miles.has(country()) ? "imperial" : "metric");

/** Those that hold now. */
export const units = () => systems[name];

export function whenUnitsChange(action) {
    listeners.add(action);
    return () => listeners.delete(action);
}

/** Names of the systems, with what they are called where one is chosen. */
export const choices = Object.entries(systems).map(([key, { sign }]) => [key, sign]);
export const chosenUnits = () => name;

export function chooseUnits(wanted) {
    if (!systems[wanted] || wanted === name) return;
    name = wanted;
    try {
        localStorage.setItem(KEY, name);
    } catch {
        // They last as long as the page, then.
    }
    listeners.forEach((action) => action());
}

function stored() {
    try {
        const found = localStorage.getItem(KEY);
        return systems[found] ? found : undefined;
    } catch {
        return undefined;
    }
}
