internal import Base
internal import ControlProtocol
package import ControlTool
internal import DaemonConfiguration
internal import FoundationEssentials
internal import Glibc
internal import Linux
internal import Upload

/// Makes this vehicle known to a beekon-server, and its configuration with it. Each step is durable before the next, so that
/// it can be cut anywhere and run again.
package struct Enrollment {
    /// What an operator has asked for.
    package struct Request: Sendable {
        let address: ServerAddress
        /// A name in `[destination.NAME]`; nil: `[sync]`.
        let destination: String?
        let grant: ServerForm.Grant
        /// The vehicle at the server.
        package var name = ""
        /// Whether another server is to lose its place.
        package var replaces = false

        /// - Parameters:
        ///   - commands: `usual`, `all` or `none`.
        /// - Throws: a `Failure` that says which of them cannot be used.
        package init(url: String, destination: String?, commands: String) throws(Failure) {
            do throws(ServerAddress.Invalid) { address = try ServerAddress(url) } catch {
                throw Failure(error.message, exitCode: 64)
            }
            guard let grant = ServerForm.Grant(rawValue: commands) else {
                throw Failure("--commands is usual, all or none", exitCode: 64)
            }
            if let destination { try Self.check(destination) }
            (self.grant, self.destination) = (grant, destination)
        }

        /// - Throws: a `Failure` for a name that no further destination can have.
        static func check(_ destination: String) throws(Failure) {
            guard let name = DestinationName(destination), name != .main else {
                throw Failure(
                    "--destination takes 1 to 32 of a-z, 0-9, - and _, and not main, which is [sync]",
                    exitCode: 64)
            }
        }
    }

    /// What came of it, as `--json` prints it.
    package struct Result: Encodable, Sendable {
        /// The configuration with the tokens.
        package let file: String
        /// The number of the vehicle at the server.
        package let device: Int64
        /// What the server may ask of this vehicle; empty: nothing.
        package let commands: [String]
        /// The daemon goes by it already.
        package let isInForce: Bool
        /// The server took an empty batch with the new token.
        package let accepted: Bool
        /// What happened, a sentence each.
        package let lines: [String]

        private enum CodingKeys: String, CodingKey {
            case file, device, commands, accepted, lines
            case isInForce = "in_force"
        }
    }

    private let request: Request
    private let configuration: LiveConfiguration

    private var folder: String { configuration.folder }
    private var suffix: String { request.destination.map { "-" + $0 } ?? "" }
    private var file: DurableFile { DurableFile(folder: folder, name: "50-server\(suffix).toml") }
    private var keyFile: DurableFile { DurableFile(folder: folder, name: "server-key\(suffix).pem") }
    private var table: String { request.destination.map { "destination." + $0 } ?? "sync" }

    package init(_ request: Request, in configuration: LiveConfiguration) {
        (self.request, self.configuration) = (request, configuration)
    }

    // MARK: Before anything is sent

    /// The file that an earlier enrolment at this server has made; nil: there is none.
    ///
    /// - Throws: a `Failure` where the configuration cannot be read, or config set has another server.
    package func earlier() throws(Failure) -> String? {
        guard file.exists else { return nil }
        let url = try configuration.files().listing.first { $0.key == table + ".url" }
        guard let url, url.isIn(file.path), isOurs(url) else { return nil }
        try checkRuntime()
        return file.path
    }

    private func isOurs(_ url: Loaded.Entry) -> Bool {
        if case .string(let text) = url.value { text == ServerForm.url(of: request.address) } else { false }
    }

    /// What config set says wins over every file.
    private func checkRuntime() throws(Failure) {
        let key = table + ".url"
        guard let url = configuration.setByPerson(key) else { return }
        throw Failure(
            "\(key) was set by config set (\(shown(url))), which would win over "
                + "\(request.address.base): beekonctl config unset \(key), then run this again",
            exitCode: 78)
    }

    /// Refuses where something else decides already where the locations go.
    ///
    /// - Throws: a `Failure` that names both, and what to do.
    package func check() throws(Failure) {
        let found = try configuration.files()
        try checkRuntime()
        guard let url = found.listing.first(where: { $0.key == table + ".url" }),
            case .file(let path, let line) = url.origin
        else { return try checkUnused() }
        guard request.replaces else {
            var text: String?
            if case .string(let value) = url.value { text = value }
            throw Failure(
                "\(path):\(line) sends to \(shown(text)) already, and \(request.address.base) would take its place: "
                    + "--destination NAME adds a second one, --replace takes the place and keeps the old file as .before",
                exitCode: 78)
        }
        try checkReplaced(path, found)
        if path != file.path { try checkUnused() }
    }

    /// A file of this name that is not where the locations go by is somebody's own.
    private func checkUnused() throws(Failure) {
        guard file.exists else { return }
        throw Failure(
            "\(file.path) is there, and [\(table)] does not go by it: move it away, then run this again",
            exitCode: 78)
    }

    /// Only a file with nothing but the old destination can go.
    private func checkReplaced(_ path: String, _ found: Loaded) throws(Failure) {
        let (own, others) = found.listing.filter { entry in
            if case .file = entry.origin { true } else { false }
        }.reduce(into: ([Loaded.Entry](), [Loaded.Entry]())) { parts, entry in
            if entry.key.hasPrefix(table + ".") { parts.0.append(entry) } else { parts.1.append(entry) }
        }
        let isElsewhere = own.first { !$0.isIn(path) }
        if let other = others.first(where: { $0.isIn(path) }) {
            throw Failure(
                "\(path) has \(other.key), too, which is to stay: move [\(table)] from it to a file of its own in \(folder), "
                    + "then run this again", exitCode: 78)
        }
        if let isElsewhere, !isElsewhere.key.hasPrefix(table + ".commands.") {
            throw Failure(
                "\(isElsewhere.key) (\(isElsewhere.origin)) belongs to the old destination: remove it, then run this again",
                exitCode: 78)
        }
        if path != file.path, own.contains(where: { $0.key.hasPrefix(table + ".commands.") && $0.isIn(path) })
        {
            throw Failure(
                "\(path) has a [\(table).commands] of your own, which is never replaced: move it to a file of its own in "
                    + "\(folder), then run this again", exitCode: 78)
        }
    }

    private func shown(_ url: String?) -> String { Settings.redacted(url: url ?? "another server") }

    // MARK: The server

    /// Enrols, writes the file, makes the daemon read it, and sends an empty batch.
    ///
    /// - Parameters:
    ///   - code: of the claim.
    ///   - show: is told what the file will say, before it is written.
    package func run(code: String, show: ([String]) -> Void) throws(Failure) -> Result {
        try check()
        let form = try ask(code, nonce: try nonce())
        let found = try configuration.files()
        let old = found.listing.first { $0.key == table + ".url" }
        let isOwn = found.listing.contains { entry in
            entry.key.hasPrefix(table + ".commands.") && entry.path.map { $0 != file.path } ?? false
        }
        show(describe(form, hasCommands: !isOwn))
        try write(form, old: old, hasCommands: !isOwn)
        let (isInForce, words) = configuration.reload()
        let (accepted, answer) = try test(form)
        return Result(
            file: file.path, device: form.device, commands: isOwn ? [] : form.commands, isInForce: isInForce,
            accepted: accepted, lines: ["\(file.path) is written.", words, answer])
    }

    private func nonce() throws(Failure) -> String {
        do throws(SystemError) {
            var random = RandomSource()
            return try EnrolmentNonce.keep(in: StateDirectory(configuration.stateDirectory), using: &random)
                .text
        } catch {
            throw Failure(
                "\(configuration.stateDirectory) keeps no nonce: \(error); nothing was sent", exitCode: 74)
        }
    }

    private struct Body: Encodable {
        let code: String
        let name: String
        let nonce: String
    }

    private struct Reply: Decodable {
        struct Commands: Decodable {
            let allow: [String]?
            let settings: [String]?
        }
        let id: Int64
        let accessToken: String
        let expiresAt: String
        let refreshToken: String
        let heartbeat: Int?
        let commands: Commands?
        let verifyKey: String?

        private enum CodingKeys: String, CodingKey {
            case id, commands
            case accessToken = "access_token"
            case expiresAt = "expires_at"
            case refreshToken = "refresh_token"
            case heartbeat = "heartbeat_seconds"
            case verifyKey = "verify_key"
        }
    }

    private func ask(_ code: String, nonce: String) throws(Failure) -> ServerForm {
        let body = Body(code: code, name: request.name, nonce: nonce)
        guard let bytes = try? JSONEncoder().encode(body) else {
            throw Failure("the name is no text", exitCode: 64)
        }
        let answer = try post(
            "/v1/enroll", Array(bytes), ["Content-Type: application/json", "Accept: application/json"])
        guard answer.status == 201 else { throw refusal(answer, hiding: code) }
        guard let reply = try? JSONDecoder().decode(Reply.self, from: Data(answer.body)),
            let expires = Timestamp(iso8601: reply.expiresAt)
        else {
            throw Failure(
                "\(request.address.base) answers as no beekon-server does: check the address", exitCode: 76)
        }
        do throws(ServerForm.Invalid) {
            return try ServerForm(
                device: reply.id, accessToken: reply.accessToken, expires: expires.milliseconds / 1000,
                refreshToken: reply.refreshToken, heartbeat: reply.heartbeat,
                allow: reply.commands?.allow,
                settings: reply.commands?.settings, verifyKey: reply.verifyKey, grant: request.grant)
        } catch {
            throw Failure(
                "\(request.address.base) is not to be believed: \(error.message); nothing was written",
                exitCode: 76)
        }
    }

    private func refusal(_ answer: Answer, hiding code: String) -> Failure {
        let said = answer.reason { $0.replacing(code, with: "(code)") }.map { " (it says: \($0))" } ?? ""
        switch answer.status {
        case 403:
            return Failure(
                "the server does not take this code\(said): make a new one with beekon-server claim add, and run this again",
                exitCode: 65)
        case 409:
            return Failure(
                "the server has another vehicle \(request.name)\(said): give this one another name with --name",
                exitCode: 65)
        case 429, 500...599:
            return Failure(
                "the server answers \(answer.status)\(said): run this again later, with the same code",
                exitCode: 75)
        case 400: return Failure("the server refuses the request\(said)", exitCode: 65)
        default:
            return Failure(
                "\(request.address.base)/v1/enroll answers \(answer.status)\(said): is it the address of a beekon-server?",
                exitCode: 76)
        }
    }

    private func post(_ path: String, _ body: [UInt8], _ headers: [String]) throws(Failure) -> Answer {
        guard let client = HTTPClient(), let wakeup = try? Wakeup() else {
            throw Failure("there is no memory for a request", exitCode: 71)
        }
        let options = HTTPOptions(
            url: request.address.base + path, headers: headers, userAgent: "beekonctl/" + Release.version,
            timeout: 30)
        switch client.post(body, options, wakeup: wakeup, isCancelled: { false }) {
        case .answer(let answer): return answer
        case .failure(let failure) where failure.kind == .clock:
            throw Failure(
                "the certificate is not valid yet by this machine's clock: set the clock", exitCode: 75)
        case .failure(let failure):
            throw Failure(
                "\(request.address.base) gives no answer (\(failure.message)): run this again, with the same code",
                exitCode: 69)
        // Nobody does.
        case .cancelled: throw Failure("cancelled", exitCode: 75)
        }
    }

    // MARK: The file

    private func describe(_ form: ServerForm, hasCommands: Bool) -> [String] {
        var lines = [
            "This vehicle is device \(form.device) of \(request.address.base), named \(request.name)."
        ]
        if !hasCommands {
            lines.append("[\(table).commands] stays as you wrote it.")
        } else if form.commands.isEmpty {
            lines.append("The server may ask nothing of it.")
        } else {
            lines.append("The server may ask it: \(form.commands.joined(separator: ", ")).")
            if !form.settings.isEmpty {
                lines.append("It may change: \(form.settings.joined(separator: ", ")).")
            }
            if form.verifyKey != nil {
                lines.append(
                    "Only what is signed with the server's key counts; this trusts the key at first use.")
            }
        }
        return lines
    }

    private func write(_ form: ServerForm, old: Loaded.Entry?, hasCommands: Bool) throws(Failure) {
        let text = { (keyFile: String?) in
            form.text(
                for: request.address, destination: request.destination, keyFile: keyFile,
                hasCommands: hasCommands)
        }
        // The form has looked at the key, whose file is written only once all else is good.
        _ = try configuration.loaded(draft: (file, text(nil)), without: old?.path)
        let key = hasCommands ? form.verifyKey : nil
        if let old { try keep(old, newKey: key) }
        let group = LiveConfiguration.group
        // Before the file that names it.
        if let key { try keyFile.replace(with: key, mode: 0o644, group: group) }
        try file.replace(with: text(keyFile.path), mode: 0o640, group: group)
    }

    /// Keeps what is replaced as `NAME.before`. An own file is there until the new one takes its name; another must be gone before,
    /// or its settings and the new ones would be mixed.
    private func keep(_ old: Loaded.Entry, newKey: String?) throws(Failure) {
        guard let path = old.path, let slash = path.lastIndex(of: "/") else { return }
        guard path == file.path else {
            let other = DurableFile(
                folder: String(path[..<slash]), name: String(path[path.index(after: slash)...]))
            return try other.moveAside()
        }
        try file.keepBefore()
        if let newKey, keyFile.exists, !keyFile.holds(newKey) { try keyFile.keepBefore() }
    }

    // MARK: Afterwards

    /// Makes beekond read the file of an earlier enrolment that was cut off before it could.
    ///
    /// - Returns: what came of it; nil where beekond goes by the file, or does not run.
    package func catchUp() -> String? {
        let known = configuration.inForce(table + ".url")
        guard configuration.isRunning, known != ServerForm.url(of: request.address) else { return nil }
        return configuration.reload().words
    }

    /// An empty batch with the new token.
    private func test(_ form: ServerForm) throws(Failure) -> (accepted: Bool, words: String) {
        let sync = try configuration.loaded().settings.destination(
            request.destination ?? Settings.Destination.main)?.sync
        guard let sync,
            let (_, empty) = BackendProbe.harmless(
                sync, installID: Host.installID(in: configuration.stateDirectory), newest: nil)
        else { return (false, "No empty batch was sent: there is no memory for it.") }
        let factory = RequestFactory(sync, version: Release.version)
        let options = factory.options(for: empty, authorization: "Bearer " + form.accessToken)
        guard let client = HTTPClient(), let wakeup = try? Wakeup() else {
            return (false, "No empty batch was sent: there is no memory for it.")
        }
        switch client.post(empty.body, options, wakeup: wakeup, isCancelled: { false }) {
        case .answer(let answer) where (200...299).contains(answer.status) && !answer.isPage:
            return (true, "The server takes uploads of this vehicle: an empty batch got \(answer.status).")
        case .answer(let answer):
            let said =
                answer.reason { $0.replacing(form.accessToken, with: "(token)") }.map { ": " + $0 } ?? ""
            return (
                false,
                "The server answers \(answer.status) to an empty batch\(said). See sudo beekonctl doctor."
            )
        case .failure(let failure):
            return (false, "An empty batch got no answer (\(failure.message)). See sudo beekonctl doctor.")
        case .cancelled: return (false, "")
        }
    }
}

extension Loaded.Entry {
    /// The file that it stands in.
    fileprivate var path: String? {
        if case .file(let path, _) = origin { path } else { nil }
    }

    fileprivate func isIn(_ path: String) -> Bool { self.path == path }
}
