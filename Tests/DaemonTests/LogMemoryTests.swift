import Base
import Testing

@testable import Daemon

@Suite("the log that is kept in memory")
struct LogMemoryTests {
    private func text(_ memory: LogMemory) -> String { String(decoding: memory.lines, as: UTF8.self) }

    @Test("lines are kept in order, and of the oldest as many go as there is no room for")
    func ring() {
        var memory = LogMemory()
        #expect(text(memory).isEmpty)
        var all: [String] = []
        for number in 0..<5000 {
            let line = "line \(number) " + String(repeating: "é", count: number % 40)
            memory.append(line)
            all.append(line)
            guard number % 250 == 0 || number == 4999 else { continue }
            let lines = text(memory).split(separator: "\n").map(String.init)
            #expect(lines == all.suffix(lines.count))
            let size = memory.lines.count
            let isWhole = lines.count == all.count
            #expect(size <= LogMemory.limit)
            // No more than a line is missing.
            #expect(isWhole || size > LogMemory.limit - 200)
        }
    }

    @Test("a line that is longer than the room is cut")
    func long() {
        var memory = LogMemory()
        memory.append("before")
        memory.append(String(repeating: "x", count: 3 * LogMemory.limit))
        memory.append("after")
        #expect(text(memory) == "after\n")
    }

    @Test("without a wish nothing is kept, and no line is made for it")
    func off() {
        let room = LogRoom()
        #expect(room.kept == nil)
        _ = room.admits(2) {
            Issue.record("a line is made that nobody keeps")
            return ""
        }
        room.keep(true)
        _ = room.admits(2) { "kept" }
        #expect(room.kept == Array("kept\n".utf8))
        // The same wish again forgets nothing.
        room.keep(true)
        #expect(room.kept?.isEmpty == false)
        room.keep(false)
        #expect(room.kept == nil && !room.isKeeping)
    }

    @Test("it is asked for once an hour, and again while it has yet to be sent")
    func errand() {
        let errand = LogErrand()
        #expect(!errand.isWanted)
        #expect(errand.want(now: instant(0)) && errand.want(now: instant(1)) && errand.isWanted)
        errand.done()
        #expect(!errand.isWanted)
        #expect(!errand.want(now: instant(3599)) && !errand.isWanted)
        #expect(errand.want(now: instant(3600)) && errand.isWanted)
    }
}
