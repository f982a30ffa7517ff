import Base
import Glibc
import Linux
import Support
import Testing
import Tracking

@testable import Storage

/// A state directory with an intent that has been written down.
private struct Desk {
    let temporary: TemporaryDirectory
    let directory: StateDirectory
    let files: SmallFiles
    let intent: StoredIntent

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try StateDirectory(temporary.path)
        files = SmallFiles(directory)
        var random = SeededGenerator(seed: 3)
        var ids = UUIDv7Generator(using: &random)
        let time = Timestamp(milliseconds: 1_805_097_600_000)
        intent = StoredIntent(state: .tracking, session: ids.next(at: time), startedAt: time)
        try files.write(intent)
    }

    func write(_ name: String, _ text: String) throws {
        try temporary.write(name, Array(text.utf8))
    }
}

/// What a file can come to.
private let damages: [(String, String)] = [
    ("", "empty"), (String(repeating: "\0", count: 150), "zeros"),
    ("{\"state\":\"tracking\",\"ses", "damaged"),
    ("[]", "damaged"), ("{\"state\":1,\"sessionID\":\"x\",\"startedAt\":1}", "damaged"),
    ("{\"state\":\"tracking\",\"sessionID\":\"x\",\"startedAt\":1}", "damaged"),
    (
        "{\"state\":\"stopped\",\"sessionID\":\"01a1fc88-5403-7594-8da2-72bc52769f44\",\"startedAt\":9223372036854775807}",
        "damaged"
    ), (String(repeating: " ", count: (1 << 20) + 1), "too large"),
]

@Test("a damaged file is moved aside, and its copy takes its place", arguments: damages)
private func copyTakesItsPlace(content: String, reason: String) throws {
    let desk = try Desk()
    try desk.write("intent.json", content)
    let found = desk.files.read(StoredIntent.self)
    #expect(found.content == desk.intent)
    let trouble = try #require(found.trouble)
    #expect(trouble.reason.contains(reason) && trouble.isRestored)
    let aside = try #require(trouble.aside)
    #expect(aside == desk.directory.file("intent.json.aside-1"))
    #expect(try desk.temporary.read("intent.json.aside-1") == Array(content.utf8))
    // Told once.
    #expect(desk.files.read(StoredIntent.self).trouble == nil)
    #expect(desk.files.read(StoredIntent.self).content == desk.intent)
}

@Test("without a copy there is nothing, and it is told", arguments: damages)
private func nothingIsLeft(content: String, reason: String) throws {
    let desk = try Desk()
    try desk.write("intent.json", content)
    try desk.write("intent.json.copy", content)
    let found = desk.files.read(StoredIntent.self)
    #expect(found.content == nil)
    #expect(found.trouble?.name == "intent.json" && found.trouble?.isRestored == false)
    #expect(try desk.temporary.names() == ["intent.json.aside-1", "intent.json.copy.aside-1"])
    #expect(desk.files.read(StoredIntent.self).trouble == nil)
}

@Test("a damaged copy is written anew, one that a cut has left behind as well")
func copyIsRenewed() throws {
    let desk = try Desk()
    let whole = try desk.temporary.read("intent.json")
    for other in ["", "old"] {
        try desk.write("intent.json.copy", other)
        #expect(desk.files.read(StoredIntent.self).content == desk.intent)
        #expect(try desk.temporary.read("intent.json.copy") == whole)
    }
    #expect(unlink(desk.directory.file("intent.json.copy")) == 0)
    #expect(desk.files.read(StoredIntent.self).trouble == nil)
    #expect(try desk.temporary.read("intent.json.copy") == whole)
}

@Test("a copy that cannot be written does not stay behind as it was")
func noOldCopy() throws {
    let desk = try Desk()
    #expect(mkdir(desk.directory.file("intent.json.copy.tmp"), 0o700) == 0)
    var stopped = desk.intent
    stopped.state = .stopped
    try desk.files.write(stopped)
    #expect(try desk.temporary.names() == ["intent.json", "intent.json.copy.tmp"])
    #expect(desk.files.read(StoredIntent.self).content == stopped)
}

@Test("what never was is no trouble; a link in its place is")
func missing() throws {
    let desk = try Desk()
    #expect(
        desk.files.read(ExtrasChanges.self).content == nil
            && desk.files.read(ExtrasChanges.self).trouble == nil)
    #expect(symlink("/etc/passwd", desk.directory.file("extras.json")) == 0)
    #expect(desk.files.read(ExtrasChanges.self).trouble?.name == "extras.json")
}

@Test(
    "fences whose keys could not be counted on are damaged",
    arguments: ["9223372036854775807", "-1", "1"])
func keys(key: String) throws {
    let desk = try Desk()
    try desk.write(
        "geofences.json",
        """
        {"nextKey":\(key),"geofences":[{"key":\(key),"id":"a","latitude":1,"longitude":1,"radius":100,\
        "notifiesOnEntry":true,"notifiesOnExit":true}]}
        """)
    let found = desk.files.read(StoredGeofences.self)
    #expect((found.content != nil) == (key == "1"))
    #expect((found.trouble == nil) == (key == "1"))
    // An earlier version wrote it.
    #expect(found.content?.value?.addedAt("a") == nil)
}

@Test("fences come back with the time they were added")
func timeOfAdding() throws {
    let desk = try Desk()
    let time = Timestamp(milliseconds: 1_805_097_600_123)
    var fences = Geofences()
    _ = fences.add([try Geofence(id: "a", latitude: 1, longitude: 2, radius: 3)], at: time)
    try desk.files.write(StoredGeofences(fences))
    #expect(desk.files.read(StoredGeofences.self).content?.value?.items == fences.items)
    #expect(desk.files.read(StoredGeofences.self).content?.value?.addedAt("a") == time)
}

@Test("fences come back with who has added them, and those of an earlier version with nobody")
func origins() throws {
    let desk = try Desk()
    var fences = Geofences()
    _ = fences.add([try Geofence(id: "a", latitude: 1, longitude: 2, radius: 3)], by: .server)
    _ = fences.add([try Geofence(id: "b", latitude: 1, longitude: 2, radius: 3)])
    try desk.files.write(StoredGeofences(fences))
    let found = try #require(desk.files.read(StoredGeofences.self).content?.value)
    #expect(found.items.map(\.origin) == [.server, .person])
    try desk.files.write(
        StoredGeofences(
            Geofences([.init(key: 1, fence: try Geofence(id: "c", latitude: 1, longitude: 2, radius: 3))])))
    #expect(desk.files.read(StoredGeofences.self).content?.value?.items.map(\.origin) == [nil])
}

@Test("other files go as they are told, and no others")
func otherFiles() throws {
    let desk = try Desk()
    let before = Set(try desk.temporary.names())
    for name in ["tokens-a", "tokens-a.aside-1", "tokens-ab"] { try desk.write(name, "x") }
    try desk.files.remove { $0 == "tokens-a" || $0.hasPrefix("tokens-a.") }
    #expect(Set(try desk.temporary.names()) == before.union(["tokens-ab"]))
    try desk.files.remove { _ in false }
}

@Test("the largest set of fences fits its file, and is read as it was written")
func largestGeofences() throws {
    let desk = try Desk()
    let name = String(repeating: "\u{1F600}\\", count: 47)
    var fences = Geofences(
        try (0..<Geofences.limit).map { number in
            let id = name + String(1000 + number)
            guard number < Geofences.cornerLimit / 500 else {
                return .init(
                    key: 1 << 59,
                    fence: try Geofence(id: id, latitude: -1.0 / 3, longitude: -500.0 / 3, radius: 1e7 / 3))
            }
            // Coordinates with as many digits as there can be.
            let ring = (0..<500).map { corner in
                let turn = Double(corner) / 250 * .pi
                return [-100 + cos(turn) / 3 - Double(number) / 7, -10 + sin(turn) / 3]
            }
            return .init(key: 1 << 59, fence: try Geofence(id: id, ring: ring))
        })
    try desk.files.write(StoredGeofences(fences))
    let found = try #require(desk.files.read(StoredGeofences.self).content?.value)
    #expect(found.items == fences.items)
    #expect(fences.add([try Geofence(id: "one more", ring: [[0, 0], [1, 0], [0, 1]])]) != nil)
}

@Test("polygons are read back; what is no polygon is damaged")
func polygons() throws {
    let desk = try Desk()
    let ring = [[13.0, 52.0], [13.1, 52.0], [13.0, 52.1]]
    let fence = try Geofence(id: "yard", ring: ring, notifiesOnEntry: false)
    try desk.files.write(StoredGeofences(Geofences([.init(key: 7, fence: fence)], nextKey: 9)))
    let found = try #require(desk.files.read(StoredGeofences.self).content?.value)
    #expect(found.items.map(\.fence) == [fence] && found.items[0].key == 7 && found.nextKey == 9)
    try desk.write(
        "geofences.json",
        """
        {"nextKey":2,"geofences":[{"key":1,"id":"a","latitude":1,"longitude":1,"radius":100,"polygon":[[1,1],[2,2]],\
        "notifiesOnEntry":true,"notifiesOnExit":true}]}
        """)
    #expect(unlink(desk.directory.file("geofences.json.copy")) == 0)
    #expect(desk.files.read(StoredGeofences.self).trouble?.reason == "damaged")
}

@Test(
    "another machine's database is moved aside with its companions, also in two steps, and nothing is written over"
)
func foreignDatabase() throws {
    let temporary = try TemporaryDirectory()
    let time = Timestamp(milliseconds: 1_805_097_600_000)
    let files = DatabaseFiles(in: temporary.path)
    func name() -> String { files.foreignName(at: time) }
    #expect(name() == "beekon.db.foreign-1805097600")
    #expect(try !files.moveAside(as: name()))
    try temporary.write("beekon.db", [1])
    try temporary.write("beekon.db-wal", [2])
    // A cut between the two.
    let first = name()
    #expect(rename(temporary.file("beekon.db-wal"), temporary.file(first + "-wal")) == 0)
    #expect(try files.moveAside(as: first))
    #expect(try files.moveAside(as: first), "once more, after a cut")
    #expect(try temporary.read(first) == [1] && temporary.read(first + "-wal") == [2])
    #expect(name() == first + "-2")
}
