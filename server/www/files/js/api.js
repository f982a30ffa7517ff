// Requests to the server, and who makes them.
import { ofServer, t } from "./language.js";

/** What the server refused, in its own words, or in those of the page's language. */
export class Problem extends Error {
    constructor(status, detail) {
        super(detail);
        this.status = status;
    }

    static async of(answer) {
        try {
            const { detail } = await answer.json();
            return new Problem(answer.status, ofServer(detail ?? answer.statusText));
        } catch {
            return new Problem(answer.status, t("The server answered {status}.", { status: `${answer.status} ${answer.statusText}`.trim() }));
        }
    }
}

let session = null;
let ended = () => {};

export const user = () => session;
export const isAdmin = () => session?.role === "admin";
export const whenEnded = (action) => { ended = action; };

export async function request(path, { method = "GET", body, headers = {}, signal } = {}) {
    const fields = { ...headers };
    if (body !== undefined) fields["Content-Type"] = "application/json";
    if (method !== "GET" && session?.csrf) fields["X-CSRF-Token"] = session.csrf;
    let answer;
    try {
        answer = await fetch(path, { method, headers: fields, body: body === undefined ? undefined : JSON.stringify(body), signal });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Problem(0, t("The server cannot be reached. Is this machine online?"));
    }
    if (answer.ok) return answer;
    const problem = await Problem.of(answer);
    if (answer.status === 401 && session) {
        session = null;
        ended();
    }
    throw problem;
}

export const read = async (path, options) => (await request(path, options)).json();
export const send = (method, path, body, headers) => request(path, { method, body, headers });

/** Whether a session is there. */
export async function resume() {
    try {
        session = await read("/v1/session");
    } catch (problem) {
        if (problem.status !== 401) throw problem;
        session = null;
    }
    return session;
}

export async function signIn(name, password) {
    session = await (await send("POST", "/v1/login", { name, password })).json();
}

/** Another password for oneself; it ends all other sessions. */
export async function changePassword(current, password) {
    session = await (await send("PUT", "/v1/session/password", { current, password })).json();
}

export async function signOut() {
    await send("POST", "/v1/logout");
    session = null;
    ended();
}
