package import Base

/// A server's command that has been read from an answer, and is to be written down with it.
package struct NewCommand: Equatable, Sendable {
    /// The server's name for it: a command is carried out once for each, whatever else happens.
    package var id: String
    /// What is to be done, in the words of the wire: `set_config`.
    package var name: String
    /// Distinguishes this content from any other under the same id.
    package var digest: [UInt8]
    /// All that running it takes, as JSON; forgotten once it has been run.
    package var text: String
    /// The number of the signed list that it came in; nil where nothing is signed.
    package var counter: Int64?
    /// The command is not begun later than that; nil: it never expires.
    package var expiresAt: Timestamp?
    /// Why it is not run, unless its id is known; nil: it is.
    package var refusal: String?

    package init(
        id: String, name: String, digest: [UInt8], text: String, counter: Int64? = nil,
        expiresAt: Timestamp? = nil, refusal: String? = nil
    ) {
        self.id = id
        self.name = name
        self.digest = digest
        self.text = text
        self.counter = counter
        self.expiresAt = expiresAt
        self.refusal = refusal
    }
}

/// The commands that came with one answer, in their order.
package struct CommandList: Equatable, Sendable {
    /// Whose answer it was.
    package var destination: DestinationName
    /// What had been sent.
    package var batch: UUIDv7
    /// By the best clock known.
    package var receivedAt: Timestamp
    package var commands: [NewCommand]

    package init(
        from destination: DestinationName, answering batch: UUIDv7, at time: Timestamp,
        _ commands: [NewCommand]
    ) {
        self.destination = destination
        self.batch = batch
        receivedAt = time
        self.commands = commands
    }
}

/// What the journal knows of a list of commands that has not been written down.
package struct KnownCommands: Equatable, Sendable {
    /// Ids of the list that are in the journal, with whatever content.
    package var ids: Set<String> = []
    /// Rows that the list would add to it: commands to be run, and refusals.
    package var added = 0

    package init() {}
}

/// What has become of a list of commands.
package struct Journaling: Equatable, Sendable {
    /// To be run.
    package var new = 0
    /// Known already: answered from their results.
    package var repeated = 0
    /// Written down with the reason why they are not run.
    package var refused = 0
    /// Not taken at all: too many others have yet to be run.
    package var unheard = 0

    /// Commands that have a result, or will have one.
    package var count: Int { new + repeated + refused }

    package init() {}
}

/// A command as the journal has it.
package struct CommandRecord: Equatable, Sendable {
    /// Why a command is not run whose id is known with other content.
    package static let reused = "id_reused"
    /// Why one is not run that something newer has been wished against.
    package static let superseded = "superseded"
    /// How many are known: then the oldest that has been run is forgotten.
    package static let limit = 1000

    /// In the order of arrival.
    let seq: Int64
    let digest: [UInt8]
    /// The destination whose server sent the command, and gets its result.
    package let destination: DestinationName
    package let id: String
    /// The request whose answer it came with.
    package let batch: UUIDv7
    package let name: String
    /// What running it takes; nil once it has been run.
    package let text: String?
    package let receivedAt: Timestamp
    package let counter: Int64?
    package let expiresAt: Timestamp?
    /// nil while it has yet to be run.
    package let doneAt: Timestamp?
    package let outcome: CommandOutcome
    /// The server has its result.
    package let isSent: Bool
}

extension CommandRecord {
    /// The record with what came of the command.
    package func done(with outcome: CommandOutcome, at time: Timestamp?) -> CommandRecord {
        CommandRecord(
            seq: seq, digest: digest, destination: destination, id: id, batch: batch, name: name, text: nil,
            receivedAt: receivedAt, counter: counter, expiresAt: expiresAt, doneAt: time, outcome: outcome,
            isSent: isSent)
    }
}

/// What came of a command.
package struct CommandOutcome: Equatable, Sendable {
    /// Why it was not, or could not be, carried out; nil: it was.
    package var error: String?
    /// What it found out, as a JSON object; nil when that is nothing.
    package var result: String?
    /// When the vehicle was at the position in the result; nil when there is none. A deletion goes by it.
    package var positionAt: Timestamp?

    package init(error: String? = nil, result: String? = nil, positionAt: Timestamp? = nil) {
        self.error = error
        self.result = result
        self.positionAt = positionAt
    }

    /// What it found out is forgotten if that is where the vehicle was then or before.
    package mutating func forgetPosition(upTo cutoff: Timestamp) {
        if let positionAt, positionAt <= cutoff { (result, self.positionAt) = (nil, nil) }
    }
}

/// What is left to do for the commands of one destination.
package struct CommandCounts: Equatable, Sendable {
    /// Commands that have yet to be run.
    package var waiting = 0
    /// Results that have yet to be sent.
    package var results = 0

    package init(waiting: Int = 0, results: Int = 0) {
        self.waiting = waiting
        self.results = results
    }
}
