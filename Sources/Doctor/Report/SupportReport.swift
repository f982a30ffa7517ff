internal import Base
internal import ControlProtocol
package import ControlTool
internal import DaemonConfiguration
internal import Glibc
internal import Linux

/// What somebody who is to help has to know, as one archive: what the caller may read of it, and without where anybody has
/// been or what gives access to anything.
package struct SupportReport {
    private let socket: String
    private let configuration: String?
    private let hasTrack: Bool
    private let now: Timestamp
    private var files: [(name: String, text: String)] = []
    private var gaps: [String] = []

    /// The folder in the archive.
    private static let folder = "beekond-report/"
    /// Lines of the journal in the report, from its end.
    private static let journalLines = 20_000
    /// Bytes of any one part.
    private static let limit = 16 << 20
    /// Seconds that another program may take.
    private static let patience = 30.0
    /// Seconds back that journal and track reach.
    private static let day: Int64 = 86_400

    /// - Parameters:
    ///   - socket: where beekond listens.
    ///   - configuration: its file; nil: as `Examination` finds it.
    ///   - hasTrack: with the locations of the last day, geofences, their events, and extras.
    package init(socket: String, configuration: String?, hasTrack: Bool) {
        self.socket = socket
        self.configuration = configuration
        self.hasTrack = hasTrack
        now = Timestamp(milliseconds: Clock.realtimeMilliseconds())
    }

    /// The archive, and a sentence for each part that could not be read.
    ///
    /// - Parameter progress: receives a description of each step.
    /// - Throws: when it cannot be packed.
    package consuming func make(
        progress: (String) -> Void
    ) throws(Failure) -> (archive: [UInt8], gaps: [String]) {
        let examination = Examination(socket: socket, configuration: configuration, stateDirectory: nil)
        let facts = examination.facts(progress: progress)
        progress("reading the journal")
        let settings = settings(facts)
        let listing = listing(facts)
        addStatus(facts)
        addDoctor(facts)
        addConfiguration(listing, facts)
        addVersions(facts)
        addDatabase(facts)
        addJournal(facts)
        if hasTrack {
            progress("reading the track")
            addTrack()
        }
        addContents()
        let scrubber = Scrubber(settings, listing: listing.map { ($0.key, $0.value) })
        var archive = TarArchive(time: now.milliseconds / 1000)
        for file in files {
            let isTrack = file.name.hasPrefix("track/")
            var text = isTrack ? file.text : scrubber.scrubbed(file.text)
            if !hasTrack { text = Self.withoutPlaces(text, file.name) }
            archive.add(Self.folder + file.name, Array(text.utf8))
        }
        guard let packed = archive.packed() else {
            throw Failure("no memory to pack the report", exitCode: 71)
        }
        return (packed, gaps)
    }

    /// Text of a file without positions, where it may repeat the words of a server.
    private static func withoutPlaces(_ text: String, _ name: String) -> String {
        switch name {
        case "status.json": Places.hidden(inJSON: text)
        case "doctor.txt", "journal.txt": Places.hidden(in: text)
        default: text
        }
    }

    private mutating func add(_ name: String, _ text: String) {
        files.append((name, text.hasSuffix("\n") || text.isEmpty ? text : text + "\n"))
    }

    private mutating func add(_ name: String, json value: some Encodable) {
        do { add(name, try JSONLine.encode(value)) } catch { gaps.append("\(name): \(error)") }
    }

    // MARK: Parts

    private mutating func addContents() {
        var lines = [
            "A report on beekond for support, made at \(now.iso8601).", "",
            "status.json, metrics.txt   what the daemon says of itself",
            "doctor.txt                 what beekonctl doctor has found",
            "configuration.txt          the settings in force, and where each comes from",
            "versions.txt, database.txt this machine, and the files of the database",
            "journal.txt                the last day of the daemon's log", "",
        ]
        lines.append(
            hasTrack
                ? "It CONTAINS where this machine has been (--with-track): the folder track. Secrets are replaced by (set)."
                : "Secrets are replaced by (set), what may be a coordinate by (number). No positions, geofences or extras are in it."
        )
        lines += gaps.isEmpty ? [] : ["", "What could not be read:"] + gaps.map { "- " + $0 }
        files.insert(("README.txt", lines.joined(separator: "\n") + "\n"), at: 0)
    }

    private mutating func addStatus(_ facts: Facts) {
        guard var status = facts.status else {
            let why = facts.connection?.message ?? "it does not answer"
            gaps.append("status.json and metrics.txt: beekond cannot be asked (\(why))")
            return
        }
        if !hasTrack { status.lastLocation = nil }
        add("status.json", json: status)
        do {
            var client = try ControlClient(path: socket)
            let answer = try client.call(Wire.GetMetrics.self, .init())
            add("metrics.txt", MetricsText(answer.status, answer.counters).lines().joined(separator: "\n"))
        } catch {
            gaps.append("metrics.txt: \(Failure(error)?.message ?? "\(error)")")
        }
    }

    private mutating func addDoctor(_ facts: Facts) {
        let lines = Diagnosis(facts).lines(width: 100, palette: Palette(enabled: false))
        add("doctor.txt", lines.joined(separator: "\n"))
    }

    private mutating func addConfiguration(_ listing: [Wire.Setting], _ facts: Facts) {
        if case .unreadable = facts.file {
            gaps.append(
                "\(facts.configuration) may not be read by \(facts.user.isRoot ? "root here" : "you"): what the daemon tells of it is here, with its secrets masked"
            )
        }
        if case .broken(let problems) = facts.file {
            add("configuration-problems.txt", problems.joined(separator: "\n"))
        }
        guard !listing.isEmpty else {
            gaps.append("configuration.txt: neither beekond nor \(facts.configuration) tells the settings")
            return
        }
        let lines = listing.map { setting in
            "\(setting.key) = \(Self.shown(setting, hasTrack: hasTrack))  # \(setting.origin)"
        }
        add("configuration.txt", lines.joined(separator: "\n"))
    }

    /// Templates and extras are texts of the operator's, and may say anything.
    private static func shown(_ setting: Wire.Setting, hasTrack: Bool) -> String {
        let isText = setting.key.hasSuffix("_template") || setting.key.hasPrefix("extras.")
        if isText, !hasTrack, let text = setting.value.stringValue, !text.isEmpty {
            return "(left out: \(text.utf8.count) bytes)"
        }
        return (try? JSONLine.encode(setting.value)) ?? "(unreadable)"
    }

    private mutating func addVersions(_ facts: Facts) {
        var name = utsname()
        uname(&name)
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        var lines = ["beekonctl \(Release.version)"]
        lines.append("beekond \(facts.status?.version ?? "unknown: it does not answer")")
        if case .answered(let release) = facts.gpsd.contact { lines.append("gpsd \(release)") }
        lines.append("kernel \(text(name.sysname)) \(text(name.release)) \(text(name.machine))")
        lines.append("time here \(now.iso8601), synchronised: \(facts.clock.isSynchronised)")
        let packages = [
            "libgps28", "libcurl4", "libsqlite3-0", "libsystemd0", "libssl3", "systemd", "chrony",
        ]
        let query = ["dpkg-query", "-W", "-f", "${Package} ${Version}\\n"] + packages
        // It fails when one of them is not installed, and tells the others all the same.
        let found = Subprocess.output(of: query, limit: 65_536, seconds: Self.patience, isStrict: false)
        lines += ["", "packages:", String(decoding: found ?? [], as: UTF8.self)]
        lines += ["", Host.text("/etc/os-release") ?? "no /etc/os-release"]
        add("versions.txt", lines.joined(separator: "\n"))
    }

    private mutating func addDatabase(_ facts: Facts) {
        let folder = facts.stateDirectory
        var lines = ["in \(folder)"]
        if let disk = facts.disk { lines.append("free on its disk: \(disk.freeBytes) bytes") }
        if access(folder, R_OK | X_OK) != 0 {
            let why = Examination.cannotRead(folder, errno)
            gaps.append("database.txt: \(why)" + (facts.user.isRoot ? "" : "; run beekonctl report as root"))
            return add("database.txt", lines.joined(separator: "\n"))
        }
        for name in Host.list(folder) {
            var status = stat()
            guard lstat(folder + "/" + name, &status) == 0 else { continue }
            let changed = Timestamp(milliseconds: Int64(status.st_mtim.tv_sec) &* 1000).iso8601
            lines.append(
                "\(String(status.st_mode & 0o7777, radix: 8)) \(status.st_uid) \(status.st_size) bytes, changed \(changed): \(name)"
            )
        }
        if let header = DatabaseHeader(path: folder + "/beekon.db") {
            lines += ["", "header of beekon.db:"] + header.lines
        } else {
            gaps.append("the header of beekon.db in \(folder) cannot be read")
        }
        add("database.txt", lines.joined(separator: "\n"))
    }

    private mutating func addJournal(_ facts: Facts) {
        let command = [
            "journalctl", "--unit=beekond", "--since=-1d", "--no-pager", "--quiet",
            "--output=short-iso-precise",
            "--lines=\(Self.journalLines)",
        ]
        let found = Subprocess.output(of: command, limit: Self.limit, seconds: Self.patience)
        guard let found, !found.isEmpty else {
            gaps.append(
                "journal.txt: journalctl shows nothing of beekond's last day"
                    + (facts.user.isRoot
                        ? "" : "; run beekonctl report as root, or as a member of group systemd-journal"))
            return
        }
        add("journal.txt", String(decoding: found, as: UTF8.self))
    }

    private mutating func addTrack() {
        do {
            var client = try ControlClient(path: socket)
            let from = Timestamp(milliseconds: now.milliseconds - Self.day * 1000).iso8601
            var lines: [String] = []
            try client.stream(Wire.GetLocations.self, .init(from: from), timeoutSeconds: 60) { page in
                for location in page.locations { lines.append(try JSONLine.encode(location)) }
                return true
            }
            add("track/locations.jsonl", lines.joined(separator: "\n"))
            var fences: [Wire.Geofence] = []
            try client.stream(Wire.ListGeofences.self, .init(), timeoutSeconds: 60) { page in
                fences += page.geofences
                return true
            }
            add("track/geofences.json", json: fences)
            let extras = try client.call(Wire.GetExtras.self, .init())
            add("track/extras.json", json: extras.extras)
        } catch {
            gaps.append("the folder track: \(Failure(error)?.message ?? "\(error)")")
        }
    }

    // MARK: Settings

    private func listing(_ facts: Facts) -> [Wire.Setting] {
        let told = facts.settings.isEmpty ? [] : (try? ask()) ?? []
        if !told.isEmpty { return told }
        let loaded = try? Loader.load(file: facts.configuration, isDefaultPath: configuration == nil)
        return (loaded?.listing ?? []).map {
            Wire.Setting(key: $0.key, value: JSONValue($0.value), origin: $0.origin.description)
        }
    }

    private func ask() throws -> [Wire.Setting] {
        var client = try ControlClient(path: socket)
        return try client.call(Wire.GetConfig.self, .init()).settings
    }

    /// With their secrets, where the caller may read these, so that they are found wherever they stand.
    private func settings(_ facts: Facts) -> Settings? {
        guard access(facts.configuration, R_OK) == 0 else { return nil }
        return try? Loader.load(file: facts.configuration, isDefaultPath: configuration == nil).settings
    }
}

extension JSONValue {
    fileprivate init(_ value: SettingValue) {
        self =
            switch value {
            case .bool(let flag): .bool(flag)
            case .integer(let number): .integer(Int64(number))
            case .number(let number): .number(number)
            case .string(let text): .string(text)
            case .list(let texts): .array(texts.map { .string($0) })
            }
    }
}

/// What the first 100 bytes of an SQLite database say: https://www.sqlite.org/fileformat2.html.
struct DatabaseHeader {
    let lines: [String]

    /// - Returns: nil when it cannot be read, or is none.
    init?(path: String) {
        guard let file = try? FileDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let bytes = try? file.read(upTo: 100), bytes.count == 100,
            bytes.starts(with: Array("SQLite format 3\u{0}".utf8))
        else { return nil }
        func number(_ offset: Int, _ size: Int) -> Int {
            bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int($1) }
        }
        let pageSize = number(16, 2)
        lines = [
            "page size \(pageSize == 1 ? 65_536 : pageSize)", "pages \(number(28, 4))",
            "free pages \(number(36, 4))",
            "schema version \(number(60, 4))", "change counter \(number(24, 4))",
            "journal mode \(bytes[18] == 2 ? "WAL" : "rollback")", "written by SQLite \(number(96, 4))",
        ]
    }
}
