import Glibc

/// A parser of untrusted input. It must neither trap nor hang on any bytes, and its results must stay within their
/// bounds.
struct Subject: Sendable {
    let name: String
    let run: @Sendable (UnsafeRawBufferPointer) -> Void

    static let all = [
        answer, commands, request, retryAfter, token, envelope, toml, configuration, template, varlink, gpsd,
        mqtt,
    ]
}

/// Selected by `BEEKOND_FUZZ_SUBJECT`: a single program for all, because they share most of what must be linked.
private let subject: Subject = {
    let name = getenv("BEEKOND_FUZZ_SUBJECT").map { String(cString: $0) } ?? ""
    guard let found = Subject.all.first(where: { $0.name == name }) else {
        print("BEEKOND_FUZZ_SUBJECT must be one of: " + Subject.all.map(\.name).joined(separator: " "))
        exit(64)
    }
    return found
}()

/// libFuzzer's entry point.
@_cdecl("LLVMFuzzerTestOneInput")
package func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    subject.run(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
