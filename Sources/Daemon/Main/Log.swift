internal import Base
internal import DaemonConfiguration
internal import Glibc
internal import Linux
internal import Synchronization
internal import Systemd

/// Messages for the operator: one line per event that matters, none per fix.
///
/// Into the journal with fields and a stable MESSAGE_ID when standard error leads there, else to standard error.
enum Log {
    /// Each has its own MESSAGE_ID, which never changes.
    enum Event: String, CaseIterable {
        case started = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a01"
        case stopped = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a02"
        case sessionStarted = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a03"
        case sessionResumed = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a04"
        case sessionStopped = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a05"
        case sourceChanged = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a06"
        case receiverTime = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a07"
        case agesDoubted = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a44"
        case erased = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a45"
        case storageFailed = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a08"
        case storageRecovered = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a09"
        case databaseQuarantined = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0a"
        case databaseLost = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a50"
        case rowsDropped = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0b"
        case deadLettersExpired = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a41"
        case uploadFailed = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0c"
        case answerUnmatched = "3e076da8b79149128f85741ed7345eaa"
        case acceptanceDoubtful = "b464e3501e5c4c39b896031a9b5b5dbd"
        case uploadRecovered = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0d"
        case batchRejected = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0e"
        case batchDissolved = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a42"
        case rowsResent = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a43"
        case destinationForgotten = "8d1f3be27c5a4d0b9b6e40a1f72c9d58"
        case uploadDeferred = "3e8c1f5a9b7d4c26a0e4d1785f6b2c93"
        case uploaded = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a0f"
        case control = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a10"
        case configuration = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a11"
        case identity = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a12"
        case fileDamaged = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a17"
        case threadStuck = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a13"
        case settingsChanged = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a14"
        case settingsLeftOut = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a15"
        case tokenRefreshed = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a30"
        case tokenFailed = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a31"
        case geofenceCrossed = "5b0d6f3a1c8e4f0d9a6f1d2c7e4b8a16"
        case sensorChanged = "3d1f7c52a8e64b0c9f2e5a7b61c4d893"
        case eventRecorded = "a6c30d7e915f4b28b74c2f60d8e1935a"
        case heartbeatRefused = "2f6a90c47be14d1d8c35e0a97f12b8d4"
        case logSent = "b94d2e6170f84a3bb5c1d7e8092f46a3"
        case requestStage = "7c2e9a41d06b4f7ea1f83d5529b6c0e4"
        case homeAssistant = "c0f2a86d5e7b4931a4d8160bf39e72c5"
        case serverCommand = "c4d17f6be02a4b3f8a95e1c6d8730b2f"
    }

    enum Field: String {
        case session = "BEEKOND_SESSION"
        case batch = "BEEKOND_BATCH"
        case httpStatus = "BEEKOND_HTTP_STATUS"
        case count = "BEEKOND_COUNT"
        case uid = "BEEKOND_UID"
        case pid = "BEEKOND_PID"
        case method = "BEEKOND_METHOD"
        case device = "BEEKOND_DEVICE"
        case geofence = "BEEKOND_GEOFENCE"
        case stage = "BEEKOND_STAGE"
        case destination = "BEEKOND_DESTINATION"
        case command = "BEEKOND_COMMAND"
    }

    /// Bytes: a pipe with room for any takes as many (PIPE_BUF).
    private static let lineLimit = 4095
    private static let room = LogRoom()

    /// `BEEKOND_LOG=debug` in the environment asks for all lines, whatever the configuration says.
    private static let isForced = getenv("BEEKOND_LOG").map { String(cString: $0) } == "debug"
    /// The priority down to which lines are written.
    private static let level = Atomic(Journal.Priority.info.rawValue)

    /// From now on, lines at least as severe as these settings say are written, and the latest are kept in memory where a
    /// server may ask for them.
    static func use(_ settings: Settings) {
        level.store(Journal.Priority(settings.logLevel).rawValue, ordering: .relaxed)
        room.keep(settings.keepsLog)
    }

    /// The latest lines are kept.
    static var isKept: Bool { room.isKeeping }

    /// The latest lines, each with its time, oldest first; nil while none are kept.
    static func kept() -> [UInt8]? { room.kept }

    private static func isWritten(_ priority: Journal.Priority) -> Bool {
        priority.rawValue <= level.load(ordering: .relaxed) || isForced
    }

    static func error(_ event: Event, _ message: String, _ fields: [(Field, String)] = []) {
        write(.error, event, message, fields)
    }

    static func warning(_ event: Event, _ message: String, _ fields: [(Field, String)] = []) {
        write(.warning, event, message, fields)
    }

    static func notice(_ event: Event, _ message: String, _ fields: [(Field, String)] = []) {
        write(.notice, event, message, fields)
    }

    static func info(_ event: Event, _ message: String, _ fields: [(Field, String)] = []) {
        write(.info, event, message, fields)
    }

    /// The texts are built only when they are written.
    static func debug(
        _ event: Event, _ message: @autoclosure () -> String,
        _ fields: @autoclosure () -> [(Field, String)] = []
    ) {
        guard isWritten(.debug) else { return }
        write(.debug, event, message(), fields())
    }

    private static func write(
        _ priority: Journal.Priority, _ event: Event, _ message: String, _ fields: [(Field, String)]
    ) {
        guard isWritten(priority) else { return }
        let text = escaped(message)
        let isAdmitted = room.admits(Journal.isOurs ? Journal.queue : STDERR_FILENO) {
            let time = Timestamp(milliseconds: Clock.realtimeMilliseconds())
            return "\(time.iso8601) \(mark(priority))" + Self.cut(text)
        }
        guard isAdmitted else { return }
        let lost = room.takeLost()
        let gap = lost > 0 ? " (\(lost) lines before this one are lost: nobody read them)" : ""
        let message = text + gap
        if Journal.isOurs {
            let all = [(name: "MESSAGE_ID", value: event.rawValue)] + fields.map { ($0.rawValue, $1) }
            if Journal.send(message, priority: priority, fields: all) { return }
        }
        // One write per line, so that the lines of several threads do not mix. Nothing can be done about a lost line.
        let line = Array("beekond: \(mark(priority))\(message)".utf8.prefix(lineLimit)) + [UInt8(ascii: "\n")]
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }

    private static func mark(_ priority: Journal.Priority) -> String {
        switch priority {
        case .error: "error: "
        case .warning: "warning: "
        case .notice, .info, .debug: ""
        }
    }

    /// The text, cut to what a line may have.
    private static func cut(_ text: String) -> String {
        String(decoding: text.utf8.prefix(lineLimit), as: UTF8.self)
    }

    /// Texts from servers and receivers become part of lines: their control characters must not start a new line, or reach a
    /// terminal.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            return text
        }
        return text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control
                ? "\\u{" + String(scalar.value, radix: 16) + "}" : String(scalar)
        }.joined()
    }
}

extension Settings {
    /// A server may ask for the log.
    var keepsLog: Bool {
        allDestinations.contains { $0.sync.commands?.allow.contains(.uploadLog) == true }
    }
}

extension Journal.Priority {
    init(_ level: Settings.LogLevel) {
        self =
            switch level {
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug: .debug
            }
    }
}
