/// How much one upload may hold. The sender is authenticated, not trusted.
package struct Limits: Sendable {
    /// Bytes of the body as it was sent.
    package var packed: Int
    /// Bytes of JSON. The longest batch of beekond, 1,000 locations with 1,000 events, is 0.5 MB.
    package var unpacked: Int
    /// Locations, and events, of one batch: as the schema has it.
    package var rows: Int
    /// Bytes of extras; beekond has at most 64 of 1,124 bytes, which escapes make six times as long.
    package var extras: Int
    /// Bytes of the status.
    package var status: Int
    /// Bytes of one event or one result of a command.
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
        status: Int = 16 << 10, object: Int = 64 << 10, depth: Int = 16, members: Int = 1000, number: Int = 64
    ) {
        self.packed = packed
        self.unpacked = unpacked
        self.rows = rows
        self.extras = extras
        self.status = status
        self.object = object
        self.depth = depth
        self.members = members
        self.number = number
    }
}
