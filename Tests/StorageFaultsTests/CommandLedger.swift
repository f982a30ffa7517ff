import Storage

/// What the journal of commands should hold, without a database.
struct CommandLedger {
    private struct Entry {
        let id: String
        let digest: UInt8
        var isDone = false
        var error = ""
        var isSent = false

        var line: String {
            Contents.command(id: id, digest: digest, isDone: isDone, error: error, isSent: isSent)
        }
    }

    private var entries: [Entry] = []

    var lines: [String] { entries.map(\.line) }
    var hasWaiting: Bool { entries.contains { !$0.isDone } }

    mutating func write(_ commands: [NewCommand]) {
        for command in commands {
            let digest = command.digest.first ?? 0
            if let index = entries.firstIndex(where: { $0.id == command.id && $0.digest == digest }) {
                if entries[index].isDone { entries[index].isSent = false }
                continue
            }
            var entry = Entry(id: command.id, digest: digest)
            if entries.contains(where: { $0.id == command.id }) {
                (entry.isDone, entry.error) = (true, CommandRecord.reused)
            }
            entries.append(entry)
        }
    }

    /// The oldest that has yet to be run has been.
    mutating func run(error: String?) {
        guard let index = entries.firstIndex(where: { !$0.isDone }) else { return }
        (entries[index].isDone, entries[index].error) = (true, error ?? "")
    }

    mutating func send(_ limit: Int) {
        let queued = entries.indices.filter { entries[$0].isDone && !entries[$0].isSent }
        for index in queued.prefix(limit) { entries[index].isSent = true }
    }
}
