import Glibc
import Testing

@testable import ControlProtocol

@Suite("the client")
struct ControlClientTests {
    private func count(_ number: Int) throws -> [UInt8] {
        try Reply.encode(Wire.GetPendingUploadCount.self, .init(count: number))
    }

    @Test("successive calls, with replies in any pieces")
    func calls() throws {
        let (one, two) = (try count(1), try count(2))
        let server = try TinyServer([[one], two.map { [$0] }])
        var client = try ControlClient(path: server.path)
        #expect(try client.call(Wire.GetPendingUploadCount.self, .init()).count == 1)
        #expect(try client.call(Wire.GetPendingUploadCount.self, .init()).count == 2)
        #expect(throws: ClientFailure.self) { try client.call(Wire.GetPendingUploadCount.self, .init()) }
    }

    @Test("a refusal by the daemon is a ControlError")
    func refused() throws {
        let server = try TinyServer([[Reply.encode(.invalidTime(value: "soon"))]])
        var client = try ControlClient(path: server.path)
        #expect(throws: ControlError.invalidTime(value: "soon")) {
            try client.call(Wire.DeleteLocations.self, .init(before: "soon"))
        }
    }

    @Test("a stream ends with its last reply, or when the reader has had enough")
    func streams() throws {
        let replies = try (1...4).map { number in
            try Reply.encode(
                Wire.GetLocations.self,
                .init(locations: Array(repeating: Samples.location, count: number)), continues: number < 4)
        }
        for wanted in 1...4 {
            let server = try TinyServer([[Array(replies.joined())]], stayOpen: true)
            var client = try ControlClient(path: server.path)
            var sizes: [Int] = []
            try client.stream(Wire.GetLocations.self, .init()) { page in
                sizes.append(page.locations.count)
                return sizes.count < wanted
            }
            #expect(sizes == Array(1...wanted))
        }
    }

    @Test("an interrupted stream is an error, not an end")
    func brokenStream() throws {
        let page = try Reply.encode(Wire.GetLocations.self, .init(locations: []), continues: true)
        let server = try TinyServer([[page]])
        var client = try ControlClient(path: server.path)
        let failure = #expect(throws: ClientFailure.self) {
            try client.stream(Wire.GetLocations.self, .init()) { _ in true }
        }
        #expect(failure?.kind == .unreachable)
    }

    @Test("a stream ends when the output has lost its reader")
    func outputGone() throws {
        var pipes: [Int32] = [-1, -1]
        #expect(pipe(&pipes) == 0)
        close(pipes[0])
        let page = try Reply.encode(Wire.GetLocations.self, .init(locations: []), continues: true)
        let server = try TinyServer([[page]], stayOpen: true)
        var client = try ControlClient(path: server.path)
        try client.stream(Wire.GetLocations.self, .init(), whileOpen: pipes[1]) { _ in true }
        close(pipes[1])
    }

    @Test("a silent daemon times out, even when it sends a trickle")
    func timeout() throws {
        let server = try TinyServer([[Array("{\"para".utf8)]], stayOpen: true)
        var client = try ControlClient(path: server.path)
        let failure = #expect(throws: ClientFailure.self) {
            try client.call(Wire.GetStatus.self, .init(), timeoutSeconds: 0.1)
        }
        #expect(failure?.kind == .timedOut)
        #expect(failure?.exitCode == 75)
    }

    @Test("garbage is reported as such", arguments: ["HTTP/1.1 400 Bad Request\0", "{\"parameters\":[]}\0"])
    func garbage(text: String) throws {
        let server = try TinyServer([[Array(text.utf8)]], stayOpen: true)
        var client = try ControlClient(path: server.path)
        let failure = #expect(throws: ClientFailure.self) { try client.call(Wire.GetStatus.self, .init()) }
        #expect(failure?.kind == .badReply)
        #expect(failure?.exitCode == 76)
    }

    @Test("an endless reply is cut off")
    func endless() throws {
        let megabyte = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
        let server = try TinyServer([Array(repeating: megabyte, count: 17)], stayOpen: true)
        var client = try ControlClient(path: server.path)
        let failure = #expect(throws: ClientFailure.self) {
            try client.call(Wire.GetStatus.self, .init(), timeoutSeconds: 60)
        }
        #expect(failure?.message.contains("more than \(Limits.reply) bytes") == true)
    }

    @Test("a connection that ends early raises no signal")
    func closedEarly() throws {
        let server = try TinyServer([])
        var client = try ControlClient(path: server.path)
        for _ in 0..<2 {
            let failure = #expect(throws: ClientFailure.self) {
                try client.call(Wire.GetStatus.self, .init())
            }
            #expect(failure?.exitCode == 69)
        }
    }

    @Test("each way of failing to reach the daemon says what to do")
    func unreachable() throws {
        func failure(_ path: String) -> ClientFailure? {
            do throws(ClientFailure) {
                _ = try ControlClient(path: path)
                return nil
            } catch { return error }
        }
        let absent = failure("/nonexistent/beekond.sock")
        #expect(absent?.exitCode == 69)
        #expect(absent?.message.contains("no socket at /nonexistent/beekond.sock") == true)
        // Whoever names a place has started it there.
        #expect(absent?.message.contains("beekond --socket /nonexistent/beekond.sock") == true)
        #expect(absent?.message.contains("systemctl") == false)
        let service = ClientFailure.connecting(to: ControlClient.defaultPath, code: ENOENT)
        #expect(service.message.contains("sudo systemctl start beekond"))
        // A group does not help root.
        let refusals = [false, true].map { ClientFailure.connecting(to: "/run/s", code: EACCES, isRoot: $0) }
        #expect(refusals.map { $0.message.contains("usermod") } == [true, false])
        #expect(refusals.allSatisfy { $0.exitCode == 77 })
        #expect(failure("/etc/passwd")?.exitCode == 69)
        #expect(failure("")?.exitCode == 64)
        #expect(failure(String(repeating: "x", count: 108))?.exitCode == 64)
    }
}
