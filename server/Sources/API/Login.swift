internal import Accounts
internal import Base
internal import Envelope
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// Sessions of browsers.
///
/// The cookie is made by this server alone and anew with each login, so that nobody can have fixed it before. It is sent by
/// the browser with requests of other sites' pages as little as the browser can (`SameSite=Strict`), and changes need the
/// session's CSRF token as well, which such a page cannot read.
struct Login: Sendable {
    let store: Store
    let bodies: BodyReader
    let passwords: Passwords
    let guesses = Guesses()

    /// The cookie of a browser from which a user has logged in before; it is sent with logins alone.
    private static let known = "beekon_known"
    /// The header with the CSRF token of the session; a name that is always valid.
    static let companion = HTTPField.Name("X-CSRF-Token")

    /// `POST /v1/login` with `{"name":…,"password":…}`
    func begin(_ request: Request, now: Timestamp) async throws -> Response {
        // A form of another site can send anything but this.
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/json") ?? false else {
            throw Problem(.unsupportedMediaType, "A login must be JSON, and Content-Type must say so.")
        }
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let (name, password) = (try fields.text("name"), try fields.text("password"))
        // Nobody has it, and PostgreSQL could not even be asked.
        guard Devices.canBe(name) else { throw Self.wrong }
        let browser = Gatekeeper.values(of: Self.known, in: request.headers).lazy.compactMap {
            KnownBrowser($0)
        }.first
        // Before the database is asked: guesses cost nothing.
        if browser == nil { try judge(name) }
        let stored = try await passwords.stored(of: name)
        let isKnown = passwords.isKnown(browser, to: stored, now: now)
        // Each browser that is known has guesses of its own, and those of others at the name are not its.
        let guesser = isKnown ? browser?.text ?? name : name
        try judge(guesser)
        guard
            let entry = try await passwords.logIn(
                name, password, stored: stored, isKnown: isKnown, now: now)
        else {
            guesses.noteWrong(guesser, now: .now)
            throw Self.wrong
        }
        if let old = Gatekeeper.session(request.headers) {
            try await store.write(isRepeatable: true) { database throws(StoreError) in
                try Sessions.end(old, in: database)
            }
        }
        return Self.welcome(entry, request)
    }

    /// The answer to a login that succeeded, with the cookies of the session.
    private static func welcome(_ entry: Passwords.Entry, _ request: Request) -> Response {
        let identity = Identity(
            caller: .user(entry.user.role), name: entry.user.name, session: entry.session,
            viewer: entry.user.viewer)
        var response = description(of: identity)
        response.headers[values: .setCookie] = [
            cookie(
                known, entry.browser.text, seconds: Int(KnownBrowser.lifetime), path: "/v1/login",
                of: request),
            cookie(Gatekeeper.cookie, entry.session.text, seconds: Int(Sessions.lifetime), of: request),
        ]
        return response
    }

    /// - Parameter guesser: a name, or a browser that is known.
    private func judge(_ guesser: String) throws(Problem) {
        if let seconds = guesses.delay(of: guesser, now: .now) { throw Problem.tooManyGuesses(seconds) }
    }

    private static var wrong: Problem {
        var problem = Problem(.unauthorized, "The name or the password is wrong.")
        problem.isChallenge = false
        return problem
    }

    /// `POST /v1/logout`
    func end(_ request: Request, _ identity: Identity) async throws -> Response {
        guard let secret = identity.session else {
            throw Problem(.conflict, "A token has no session to end; an admin removes its user.")
        }
        try await store.write(isRepeatable: true) { database throws(StoreError) in
            try Sessions.end(secret, in: database)
        }
        var response = Response(status: .noContent)
        // The browser stays known.
        response.headers[.setCookie] = Self.cookie(Gatekeeper.cookie, "", seconds: 0, of: request)
        return response
    }

    /// `GET /v1/session`
    static func description(of identity: Identity) -> Response {
        let role =
            switch identity.caller {
            case .user(let role): role.name
            case .local: UserEntry.Role.admin.name
            case .nobody, .device, .guest: ""
            }
        var text = Array(#"{"name":"#.utf8)
        JSONString.append(identity.name, to: &text)
        text += Array(#","role":"\#(role)""#.utf8)
        if let session = identity.session { text += Array(#","csrf":"\#(session.companion)""#.utf8) }
        text += Array("}\n".utf8)
        return Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    /// `PUT /v1/users/NAME/password` with `{"password":…}`
    ///
    /// - Parameter confirm: throws when the right of who asks has ended.
    func setPassword(
        of name: String, _ request: Request, now: Timestamp, _ confirm: Right.Confirm
    ) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let password = try fields.text("password")
        if let complaint = Passwords.complaint(about: password) {
            throw Problem(field: "password", complaint)
        }
        guard Devices.canBe(name) else { throw Problem.notFound("There is no user of that name.") }
        let hashed = try await passwords.hashed(password, of: name)
        // Others may have been before it in the line, for seconds.
        try await confirm()
        guard try await passwords.set(hashed, of: name, now: now) else {
            throw Problem.notFound("There is no user of that name.")
        }
        return Response(status: .noContent)
    }

    /// `PUT /v1/session/password` with `{"current":…,"password":…}`: all sessions of the user end, and a new one begins.
    func changePassword(_ request: Request, _ identity: Identity, now: Timestamp) async throws -> Response {
        guard let session = identity.session else {
            throw Problem(.conflict, "A token has no password; an admin sets that of its user.")
        }
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let (current, password) = (try fields.text("current"), try fields.text("password"))
        if let complaint = Passwords.complaint(about: password) {
            throw Problem(field: "password", complaint)
        }
        // Whoever has found a session has few guesses by it, and takes none from the user.
        try judge(session.text)
        guard let stored = try await passwords.stored(of: identity.name),
            try await passwords.isRight(current, stored: stored, of: identity.name, isKnown: true)
        else {
            guesses.noteWrong(session.text, now: .now)
            throw Problem(.forbidden, "The current password is wrong.")
        }
        let hashed = try await passwords.hashed(password, of: identity.name)
        guard let entry = try await passwords.change(stored, to: hashed, ending: session, now: now) else {
            throw Problem(.conflict, "The password or the session was changed meanwhile.")
        }
        return Self.welcome(entry, request)
    }

    private static func cookie(
        _ name: String, _ value: String, seconds: Int, path: String = "/", of request: Request
    ) -> String {
        // nginx says so; without TLS the browser would not keep a cookie that demands it.
        let forwarded = HTTPField.Name("X-Forwarded-Proto").flatMap { request.headers[$0] }
        let secure = forwarded?.lowercased() == "https" ? "; Secure" : ""
        return "\(name)=\(value); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=\(seconds)\(secure)"
    }
}
