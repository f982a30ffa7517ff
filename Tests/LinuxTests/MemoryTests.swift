import CLinux
import Glibc
import Support
import Synchronization
import Testing

@testable import Linux

/// What a thread found of its stack.
private final class Findings: Sendable {
    struct Stack {
        var wasResident = false
        var isResident = true
        var isIntact = false
    }

    let found = Mutex<Stack?>(nil)
}

@Suite("giving memory back") struct MemoryTests {
    private static let page = UInt(4096)

    /// Uses so many kilobytes of stack.
    ///
    /// - Returns: the page that the deepest stands on.
    private static func dig(_ kilobytes: Int) -> UInt {
        withUnsafeTemporaryAllocation(byteCount: 1000, alignment: 8) { bytes in
            bytes.initializeMemory(as: UInt8.self, repeating: 1)
            guard kilobytes > 0 else { return UInt(bitPattern: bytes.baseAddress) & ~(page - 1) }
            return dig(kilobytes - 1)
        }
    }

    private static func isResident(_ address: UInt) -> Bool {
        var state: UInt8 = 0
        return mincore(UnsafeMutableRawPointer(bitPattern: address), Int(page), &state) == 0 && state & 1 == 1
    }

    @Test("what a stack has held is released, and what it holds stays") func stack() throws {
        let findings = Findings()
        try startThread(named: "digger") {
            withUnsafeTemporaryAllocation(byteCount: 512, alignment: 8) { bytes in
                bytes.initializeMemory(as: UInt8.self, repeating: 7)
                let deepest = Self.dig(200)
                var stack = Findings.Stack()
                stack.wasResident = Self.isResident(deepest)
                releaseUnusedStack()
                stack.isResident = Self.isResident(deepest)
                stack.isIntact = bytes.allSatisfy { $0 == 7 }
                findings.found.withLock { $0 = stack }
            }
        }
        #expect(wait(upTo: 30) { findings.found.withLock { $0 != nil } })
        let stack = try #require(findings.found.withLock { $0 })
        #expect(stack.wasResident && !stack.isResident && stack.isIntact)
    }
}
