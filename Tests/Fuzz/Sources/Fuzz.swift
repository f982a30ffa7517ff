import Glibc

/// One of the things that read what others wrote. It must neither trap nor hang, whatever the bytes are; what it gives
/// back must be within its bounds.
struct Subject: Sendable {
    let name: String
    let run: @Sendable (UnsafeRawBufferPointer) -> Void

    static let all = [answer, retryAfter, token, envelope, toml, configuration, varlink, gpsd]
}

/// Chosen by `BEEKOND_FUZZ_SUBJECT`: one program for all, because they share most of what must be linked.
private let subject: Subject = {
    let name = getenv("BEEKOND_FUZZ_SUBJECT").map { String(cString: $0) } ?? ""
    guard let found = Subject.all.first(where: { $0.name == name }) else {
        print("BEEKOND_FUZZ_SUBJECT must be one of: " + Subject.all.map(\.name).joined(separator: " "))
        exit(64)
    }
    return found
}()

/// What libFuzzer calls.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    subject.run(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
