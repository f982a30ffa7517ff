import Base
import Glibc
import Linux

@testable import Sensors

/// `seconds` after the boot. CLOCK_MONOTONIC is the same here: nothing is suspended.
func booted(_ seconds: Double) -> BootInstant { BootInstant(nanoseconds: Int64(seconds * 1e9)) }

/// A GPIO line as the kernel has it: it numbers its edges, keeps the newest 1,024, and can go away.
final class FakeLine {
    private(set) var level: Bool
    private(set) var opened = 0
    /// errno of the next requests and readings.
    var failure: Int32?
    private var waiting: [GPIOInput.Edge] = []
    private var sequence: UInt32 = 0
    private var end: Int32 = -1

    init(_ level: Bool = false) { self.level = level }

    deinit { if end >= 0 { close(end) } }

    /// The request that a sensor makes.
    func open() throws(SystemError) -> GPIOInput {
        if let failure { throw SystemError("request line", code: failure) }
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &pair) == 0
        else { throw SystemError("socketpair") }
        if end >= 0 { close(end) }
        end = pair[1]
        (sequence, waiting) = (0, [])
        opened += 1
        return GPIOInput(owning: FileDescriptor(owning: pair[0])) { [unowned self] (_) throws(SystemError) in
            if let failure { throw SystemError("read line", code: failure) }
            return level
        }
    }

    func set(_ level: Bool, at seconds: Double) {
        guard level != self.level else { return }
        self.level = level
        sequence &+= 1
        waiting.append(
            GPIOInput.Edge(isRising: level, sequence: sequence, at: booted(seconds).nanoseconds))
        if waiting.count > Int(GPIOInput.buffer) { waiting.removeFirst() }
    }

    /// What waits can be read.
    func deliver() {
        var bytes: [UInt8] = []
        for edge in waiting {
            withUnsafeBytes(of: edge.at) { bytes += $0 }
            for word in [edge.isRising ? 1 : 2, 17, edge.sequence + 40, edge.sequence] {
                withUnsafeBytes(of: UInt32(word)) { bytes += $0 }
            }
            bytes += [UInt8](repeating: 0, count: 24)
        }
        waiting = []
        precondition(write(end, bytes, bytes.count) == bytes.count, "the socket is full")
    }
}
