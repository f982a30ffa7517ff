/// How much one upload may hold. The sender is authenticated, not trusted.
package struct Limits: Sendable {
    /// Bytes of the body as it was sent.
    package var packed: Int
    /// Bytes of JSON. The longest batch of beekond, 1,000 locations with 1,000 events, is 0.5 MB.
    package var unpacked: Int
    /// Locations, and events, of one batch: as the schema has it.
    package var rows: Int
    /// Bytes of extras as they were sent: of 64 of 1,124 bytes, escapes make 430 kB.
    package var extras: Int
    /// Members of extras, as beekond has them.
    package var extrasCount: Int
    /// Bytes of the name of one, once escapes are read.
    package var extrasName: Int
    /// Bytes of its value, the same.
    package var extrasValue: Int
    /// Bytes of the status.
    package var status: Int
    /// Bytes of one event.
    package var event: Int
    /// Results of commands that are taken of one upload. beekond sends at most 32; others are passed over.
    package var results: Int
    /// Bytes of one result of a command.
    package var object: Int
    /// Levels of arrays and objects; an envelope has three.
    package var depth: Int
    /// Members of one object, those to be ignored among them.
    package var members: Int
    /// Bytes of one number; the shortest text of any Double has at most 24.
    package var number: Int

    /// What beekon-server allows.
    package init(
        packed: Int = 1 << 20, unpacked: Int = 4 << 20, rows: Int = 1000, extras: Int = 512 << 10,
        extrasCount: Int = 64, extrasName: Int = 100, extrasValue: Int = 1024, status: Int = 16 << 10,
        event: Int = 4 << 10, results: Int = 128, object: Int = 64 << 10, depth: Int = 16,
        members: Int = 1000,
        number: Int = 64
    ) {
        self.packed = packed
        self.unpacked = unpacked
        self.rows = rows
        self.extras = extras
        self.extrasCount = extrasCount
        self.extrasName = extrasName
        self.extrasValue = extrasValue
        self.status = status
        self.event = event
        self.results = results
        self.object = object
        self.depth = depth
        self.members = members
        self.number = number
    }
}
