import Base
import Testing

@testable import Daemon
@testable import DaemonConfiguration

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

    @Test("lines are kept where a server may ask for them, and nowhere else")
    func wish() {
        var settings = Settings()
        #expect(!settings.keepsLog)
        settings.sync = Settings.Sync()
        #expect(!settings.keepsLog)
        settings.sync?.commands = Settings.Commands()
        settings.sync?.commands?.allow = [.start, .stop]
        #expect(!settings.keepsLog)
        settings.sync?.commands?.allow = [.uploadLog]
        #expect(settings.keepsLog)
    }

    @Test("it is asked for once an hour, and again by the same command while it has yet to be sent")
    func upload() {
        let log = LogUpload()
        #expect(log.due == nil)
        #expect(log.want(for: "a", now: instant(0)) && log.want(for: "a", now: instant(1)))
        #expect(!log.want(for: "b", now: instant(2)) && log.due == instant(0))
        #expect(log.done() == "a" && log.done() == nil && log.due == nil)
        #expect(!log.want(for: "a", now: instant(3599)) && log.due == nil)
        #expect(log.want(for: "a", now: instant(3600)) && log.due == instant(0))
        // Three attempts have to do, a minute apart, or as long as the server says.
        #expect(log.begin() && log.postpone(by: nil, now: instant(3600)))
        #expect(log.due == instant(3660))
        #expect(log.begin() && log.postpone(by: 100, now: instant(3700)))
        #expect(log.due == instant(3800))
        #expect(log.begin() && !log.postpone(by: nil, now: instant(3800)) && !log.begin())
        #expect(log.done() == "a")
        #expect(log.want(for: "b", now: instant(7200)) && log.due == instant(0) && log.begin())
    }
}
