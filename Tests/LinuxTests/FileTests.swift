import Glibc
import Support
import Testing

@testable import Linux

@Test("a file is read up to its limit and not one byte beyond", arguments: [0, 1, 65_536, 65_537, 200_000])
func readFileLimit(size: Int) throws {
    let temporary = try TemporaryDirectory()
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    try temporary.write("file", content)
    #expect(try readFile(temporary.file("file"), limit: size) == content)
    if size > 0 {
        let error = #expect(throws: SystemError.self) {
            try readFile(temporary.file("file"), limit: size - 1)
        }
        #expect(error?.code == EFBIG)
    }
}

@Test("anything but a regular file is refused without blocking")
func readFileRefuses() throws {
    let temporary = try TemporaryDirectory()
    #expect(mkfifo(temporary.file("fifo"), 0o600) == 0)
    #expect(mkdir(temporary.file("directory"), 0o700) == 0)
    for path in [temporary.file("fifo"), temporary.file("directory"), "/dev/zero"] {
        let error = #expect(throws: SystemError.self) { try readFile(path, limit: 100) }
        #expect(error?.code == EINVAL)
    }
    let error = #expect(throws: SystemError.self) { try readFile(temporary.file("missing"), limit: 100) }
    #expect(error?.code == ENOENT)
    #expect(error?.description == "open \(temporary.file("missing")): No such file or directory")
}

@Test("no data yet is nil, end of file is empty")
func readStates() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let reader = FileDescriptor(owning: ends[0])
    #expect(fcntl(reader.raw, F_SETFL, O_NONBLOCK) == 0)
    do {
        let writer = FileDescriptor(owning: ends[1])
        #expect(try reader.read(upTo: 10) == nil)
        try writer.writeAll([1, 2, 3])
        #expect(try reader.read(upTo: 2) == [1, 2])
        #expect(try reader.read(upTo: 10) == [3])
    }
    // A program that another test starts may have the other end until it is over.
    var rest = Rest()
    rest.add(reader.raw)
    rest.wait(seconds: 60)
    #expect(try reader.read(upTo: 10) == [])
}

@Test("more than a pipe holds is written completely")
func writeAllWaits() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let reader = FileDescriptor(owning: ends[0])
    let write = ends[1]
    let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try startThread(named: "write") { try? FileDescriptor(owning: write).writeAll(content) }
    var read: [UInt8] = []
    while let more = try reader.read(upTo: 65_536), !more.isEmpty { read += more }
    #expect(read == content)
}
