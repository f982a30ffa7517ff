import API
import ArgumentParser
import Base
import Glibc
import HTTPTypes
import ServerStore

/// What may be wrong with a server.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Check the database, rights, disk, users, keys and alerts. Exits with 1 when something is wrong.")

    @OptionGroup var database: DatabaseOption
    @OptionGroup(visibility: .hidden) var mail: MailOption
    @OptionGroup(visibility: .hidden) var copy: ReadDatabaseOption

    private enum Verdict: String {
        case ok = "ok  "
        case note = "note"
        case bad = "BAD "
    }

    func run() async throws {
        var isGood = true
        func tell(_ verdict: Verdict, _ text: String) {
            if verdict == .bad { isGood = false }
            print("\(verdict.rawValue)  \(text)")
        }
        let place: String
        let copy: Store.Place?
        // With PostgreSQL, this answers for the servers.
        var options = ServerOptions(address: .socket(""))
        do {
            let settings = try database.settings()
            place = database.place(settings)
            copy = self.copy.place(settings)
            try mail.apply(settings, to: &options)
            options.forwards = settings.forwards
            options.retentionDays = settings.retention
        } catch {
            tell(.bad, "configuration: \(error)")
            throw ExitCode(1)
        }
        do {
            let bytes = try await LocalClient(database: place, copy: copy, options: options).ask(
                .get, "/v1/doctor")
            judge(try Answer.read(Answer.Facts.self, bytes), tell)
        } catch {
            tell(.bad, "database: \(error)")
        }
        if case .sqlite(let path) = Store.Place(place) { judgeFile(path, tell) }
        guard isGood else { throw ExitCode(1) }
    }

    private func judge(_ facts: Answer.Facts, _ tell: (Verdict, String) -> Void) {
        tell(.ok, "database: \(facts.program), schema \(facts.schema), \(facts.size / 1_000_000) MB")
        if let damage = facts.damage {
            tell(.bad, "database: it is damaged: \(damage); 'beekon-server restore FILE' restores a backup")
        }
        if let loss = facts.loss { tell(.bad, "database: \(loss)") }
        for stray in facts.strays ?? [] { tell(.bad, "database: \(stray)") }
        if let citus = facts.citus {
            for trouble in citus.troubles { tell(.bad, "citus: \(trouble)") }
            if citus.troubles.isEmpty { tell(.ok, "citus: \(citus.summary)") }
        }
        if let trouble = facts.copyTrouble { tell(.bad, "read_database: \(trouble)") }
        if let lag = facts.copyLag {
            tell(
                lag < Self.mostLag ? .ok : .bad,
                lag < Self.mostLag
                    ? "read_database: it follows"
                    : "read_database: it is \(lag) s behind, and lists are as old as that: look at the standby's log"
            )
        }
        tell(
            facts.durable ? .ok : .bad,
            facts.durable
                ? "durability: COMMIT waits for the disk"
                : "durability: fsync or synchronous_commit is off, so that a power cut loses what vehicles have deleted"
        )
        tell(
            facts.devices > 0 ? .ok : .note,
            facts.devices > 0
                ? "devices: \(facts.devices)"
                : "devices: none; 'beekon-server claim add' prints a code with which one enrols")
        if facts.removals > 0 {
            tell(.note, "devices: the data of \(facts.removals) more is being deleted")
        }
        tell(
            facts.users > 0 ? .ok : .note,
            facts.users > 0
                ? "users: \(facts.users), \(facts.passwords) of them with a password"
                : "users: none, so that nobody can read; 'beekon-server user add NAME' makes one")
        tell(
            .ok,
            facts.retention.map { "retention: \($0) days" }
                ?? "retention: forever; --retention DAYS changes that")
        tell(
            // Without a retention nothing grows old.
            !facts.clock.isAhead ? .ok : facts.retention == nil ? .note : .bad,
            facts.clock.isAhead
                ? "clock: it shows \(facts.clock.time), and \(facts.clock.confirmed) is confirmed: nothing is deleted for its age by the new time until it has held, or 'beekon-server clock confirm' says that it is right"
                : "clock: \(facts.clock.time)")
        if let trouble = facts.mapTrouble {
            tell(
                .bad,
                "map: \(trouble); the server's own account must be able to read it, and its unit sees nothing below /home (ProtectHome)"
            )
        } else if facts.map == true {
            tell(.ok, "map: the file can be read")
        }
        judge(facts.alerts, at: facts.clock.time, tell)
        for forward in facts.forwards ?? [] { judge(forward, at: facts.clock.time, tell) }
        tell(.ok, facts.signs ? "commands: signed" : "commands: not signed, or no server runs here")
    }

    /// Seconds by which a standby may be behind, by a clock that goes once a minute.
    private static let mostLag: Int64 = 180

    /// Seconds for which alerts may wait before it is told.
    private static let patience = 900.0

    private func judge(_ alerts: Answer.Facts.Alerts, at time: String, _ tell: (Verdict, String) -> Void) {
        let now = Timestamp(iso8601: time)
        var isGood = true
        func complain(_ text: String) {
            isGood = false
            tell(.bad, "alerts: \(text)")
        }
        if let trouble = alerts.mailTrouble { complain("\(trouble); no mail is sent") }
        if alerts.mailRules > 0, !alerts.mailServer, alerts.mailTrouble == nil {
            complain(
                "rules that ask for mail: \(alerts.mailRules), and no mail server is configured: smtp and smtp_from"
            )
        }
        if alerts.isShutIn {
            complain(
                "the service may not reach other machines; its drop-in alerts.conf opens the network: see beekon-server(8)"
            )
        }
        for (name, waiting) in [("webhooks", alerts.webhooks), ("mail", alerts.mails)] {
            if let text = Self.complaint(about: waiting.waiting, for: name, since: waiting.since, now) {
                complain(text)
            }
        }
        if alerts.failed > 0 {
            complain(
                "\(alerts.failed) given up within the last day\(alerts.reason.map { ": \($0)" } ?? "")")
        }
        if isGood, alerts.mailServer || alerts.mailRules > 0 { tell(.ok, "alerts: nothing waits for long") }
    }

    /// - Returns: nil when nothing has waited for long.
    private static func complaint(
        about count: Int64, for name: String, since: String?, _ now: Timestamp?
    ) -> String? {
        guard let since = since.flatMap({ Timestamp(iso8601: $0) }), let now,
            now.seconds(since: since) > patience
        else { return nil }
        return "\(count) wait for \(name), the oldest since \(since.iso8601)"
    }

    private func judge(_ forward: Answer.Facts.Forward, at time: String, _ tell: (Verdict, String) -> Void) {
        var isGood = true
        func complain(_ text: String) {
            isGood = false
            tell(.bad, "forward '\(forward.name)': \(text)")
        }
        guard forward.isConfigured else {
            return complain(
                "\(forward.waiting) batches wait, and no [[forward]] has that name any more: give it back, or they are dropped when they are 30 days old"
            )
        }
        if let trouble = forward.trouble {
            complain("it takes nothing\(forward.troubleSince.map { " since \($0)" } ?? ""): \(trouble)")
        }
        if let text = Self.complaint(
            about: forward.waiting, for: "it", since: forward.since, Timestamp(iso8601: time))
        {
            complain(text)
        }
        if let share = forward.fullPercent, share >= 50 {
            complain("\(share) % of what may wait does: the oldest are dropped at 100 %")
        }
        if forward.refused > 0 {
            complain(
                "\(forward.refused) batches are not accepted, and others are\(forward.refusal.map { ": \($0)" } ?? "")"
            )
        }
        let account =
            "\(forward.forwarded) batches forwarded, \(forward.waiting) wait, \(forward.dropped) dropped"
        tell(isGood && forward.dropped == 0 ? .ok : .note, "forward '\(forward.name)': \(account)")
    }

    private func judgeFile(_ path: String, _ tell: (Verdict, String) -> Void) {
        var status = stat()
        if stat(path, &status) == 0 {
            let isPrivate = status.st_mode & 0o077 == 0
            tell(
                isPrivate ? .ok : .bad,
                isPrivate
                    ? "rights: the file is for its owner alone"
                    : "rights: others may read \(path), and see where people were: chmod 600")
        }
        var system = statvfs()
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if statvfs(folder, &system) == 0 {
            let free = UInt64(system.f_bavail) * UInt64(system.f_frsize) / 1_000_000
            tell(free < 1000 ? .bad : .ok, "disk: \(free) MB are free")
        }
    }
}
