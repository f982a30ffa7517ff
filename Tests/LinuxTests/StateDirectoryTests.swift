import Glibc
import Support
import Synchronization
import Testing

@testable import Linux

@Test("a replaced file reads back, and a missing one is nil")
func replaceAndRead() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.path)
    #expect(try directory.read("intent.json") == nil)
    for content in [[], [1, 2, 3], [UInt8](repeating: 7, count: 200_000), [9]] as [[UInt8]] {
        try directory.replace("intent.json", with: content)
        #expect(try directory.read("intent.json") == content)
    }
    #expect(try temporary.names() == ["intent.json"], "no temporary file stays behind")
    var status = stat()
    #expect(stat(temporary.file("intent.json"), &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
}

@Test("a power cut before the rename leaves the old content, and the next replacement ignores the remains")
func cutBeforeRename() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.path)
    try directory.replace("intent.json", with: Array("old".utf8))
    try temporary.write("intent.json.tmp", Array("half of the new, longer than what comes n".utf8))
    #expect(try directory.read("intent.json") == Array("old".utf8))
    try directory.replace("intent.json", with: Array("new".utf8))
    #expect(try directory.read("intent.json") == Array("new".utf8))
}

@Test("a disk that fails while the old file makes way for the new one leaves the old", arguments: 1...2)
func failingRename(number: Int) throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.path, on: FailingRenames(number))
    try StateDirectory(temporary.path).replace("tokens", with: Array("old".utf8))
    #expect(throws: SystemError.self) {
        try directory.replace("tokens", with: Array("new".utf8), movingOldAside: true)
    }
    #expect(try directory.read("tokens") == Array("old".utf8))
    try directory.replace("tokens", with: Array("new".utf8), movingOldAside: true)
    #expect(try directory.read("tokens") == Array("new".utf8))
    #expect(try directory.read("tokens.aside-1") == Array("old".utf8))
}

/// Files of which one, the n-th from now on, cannot be renamed.
private final class FailingRenames: Files {
    private let system = SystemFiles()
    private let left: Atomic<Int>

    init(_ number: Int) { left = Atomic(number) }

    func rename(_ path: String, to target: String) throws(SystemError) {
        guard left.subtract(1, ordering: .relaxed).newValue != 0 else {
            throw SystemError("rename \(path)", code: EIO)
        }
        try system.rename(path, to: target)
    }

    func open(_ path: String, _ opening: FileOpening) throws(SystemError) -> any OpenedFile {
        try system.open(path, opening)
    }

    var vfs: String? { system.vfs }
    func status(_ path: String) throws(SystemError) -> FileStatus? { try system.status(path) }
    func isWritable(_ path: String) -> Bool { system.isWritable(path) }
    func names(in directory: String) throws(SystemError) -> [String] { try system.names(in: directory) }
    func remove(_ path: String) throws(SystemError) { try system.remove(path) }
    func makeDirectory(_ path: String) throws(SystemError) -> String { try system.makeDirectory(path) }
    func freeSpace(in directory: String) -> Int? { system.freeSpace(in: directory) }
    func time() -> Int64 { system.time() }
}

@Test("whoever reads while a file is replaced finds the old content or the new, whole")
func oldOrNew() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.path)
    let contents = (0..<2).map { [UInt8](repeating: UInt8($0), count: 100_000 + $0) }
    try directory.replace("state", with: contents[0])
    let done = try Wakeup()
    try startThread(named: "replace") {
        for round in 1...40 { try? directory.replace("state", with: contents[round % 2]) }
        done.signal()
    }
    var reads = 0
    let isDone = try wait {
        let content = try #require(try directory.read("state"))
        try #require(contents.contains(content))
        reads += 1
        var poll = Rest()
        poll.add(done.descriptor)
        poll.wait(seconds: 0)
        return poll.isReadable(0)
    }
    #expect(isDone && reads > 0)
}

@Test(
    "a directory that others may write to is refused",
    arguments: [
        (0o700, true), (0o750, true), (0o755, true), (0o770, false), (0o702, false), (0o777, false),
        (0o1777, false),
    ] as [(mode_t, Bool)])
func directoryMode(mode: mode_t, isAccepted: Bool) throws {
    let temporary = try TemporaryDirectory()
    #expect(chmod(temporary.path, mode) == 0)
    if isAccepted {
        _ = try StateDirectory(temporary.path)
    } else {
        let error = #expect(throws: SystemError.self) { try StateDirectory(temporary.path) }
        #expect(error?.code == EPERM)
        #expect(error?.operation.contains(temporary.path) == true)
    }
}

@Test("a missing directory is created for its owner only; a file in its place is refused")
func directoryIsMade() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.file("state"))
    var status = stat()
    #expect(stat(directory.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o700)
    try temporary.write("file", [1])
    #expect(throws: SystemError.self) { try StateDirectory(temporary.file("file")) }
    #expect(throws: SystemError.self) { try StateDirectory(temporary.file("no/parent")) }
}

@Test("links that lead to the directory are followed once; what they lead to is judged")
func linkedDirectory() throws {
    let temporary = try TemporaryDirectory()
    #expect(mkdir(temporary.file("data"), 0o700) == 0)
    #expect(symlink("data", temporary.file("link")) == 0)
    for path in ["link", "link/", "link/state"] {
        let found = try StateDirectory(temporary.file(path))
        #expect(found.path == temporary.file(path.hasSuffix("state") ? "data/state" : "data"))
        try found.replace("intent.json", with: [1])
        #expect(try found.read("intent.json") == [1])
    }
    let found = try StateDirectory(temporary.file("link"))
    #expect(unlink(temporary.file("link")) == 0 && symlink("nowhere", temporary.file("link")) == 0)
    #expect(try found.read("intent.json") == [1], "it keeps to the directory that it found")
    for path in ["link", "link/state"] {
        let error = #expect(throws: SystemError.self) { try StateDirectory(temporary.file(path)) }
        #expect(error?.description.contains("link to nowhere") == true)
    }
    #expect(unlink(temporary.file("link")) == 0 && symlink("data", temporary.file("link")) == 0)
    #expect(chmod(temporary.file("data"), 0o770) == 0)
    #expect(throws: SystemError.self) { try StateDirectory(temporary.file("link")) }
}

@Test("a file of another user is refused", .enabled(if: geteuid() == 0, "only root can give files away"))
func foreignFile() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.path)
    try directory.replace("intent.json", with: [1])
    #expect(chown(directory.file("intent.json"), 12_345, 12_345) == 0)
    let error = #expect(throws: SystemError.self) { try directory.read("intent.json") }
    #expect(error?.code == EINVAL)
    // Whose directory it is may write into it.
    #expect(chown(directory.path, 12_345, 12_345) == 0)
    #expect(try StateDirectory(temporary.path).read("intent.json") == [1])
}

@Test("symbolic links in the state directory are not followed")
func linksAreNotFollowed() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.file("state"))
    try temporary.write("elsewhere", [1, 2, 3])
    for name in ["intent.json", "intent.json.tmp", "lock"] {
        #expect(symlink(temporary.file("elsewhere"), directory.file(name)) == 0)
    }
    #expect(throws: SystemError.self) { try directory.read("intent.json") }
    #expect(throws: SystemError.self) { try directory.replace("intent.json", with: [9]) }
    #expect(throws: SystemError.self) { _ = try directory.lock() }
    #expect(try temporary.read("elsewhere") == [1, 2, 3])
}

@Test("the lock keeps a second instance out, in this process and in another")
func lockExcludes() throws {
    let temporary = try TemporaryDirectory()
    let directory = try StateDirectory(temporary.path)
    do {
        let lock = try directory.lock()
        let error = #expect(throws: SystemError.self) { _ = try directory.lock() }
        #expect(error?.code == EWOULDBLOCK)
        #expect(!otherProcessLocks(directory.file("lock")))
        withExtendedLifetime(lock) {}
    }
    // A program that another test starts has a copy of the lock until it runs.
    #expect(wait { otherProcessLocks(directory.file("lock")) })
    _ = try directory.lock()
}

/// Runs flock(1), which exits with 1 when another process holds the lock.
private func otherProcessLocks(_ path: String) -> Bool {
    let words = ["flock", "--nonblock", path, "true"]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { $0.withCString { strdup($0) } } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child = pid_t()
    var status: Int32 = -1
    guard posix_spawnp(&child, "flock", nil, nil, &arguments, environ) == 0,
        waitpid(child, &status, 0) == child
    else { return false }
    return status == 0
}
