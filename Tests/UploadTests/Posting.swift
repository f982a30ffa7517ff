import Linux
import Support
import Testing

@testable import Upload

func httpClient() throws -> HTTPClient {
    guard let client = HTTPClient() else { throw SetUpFailed(operation: "libcurl", code: 0) }
    return client
}

/// One POST with a client of its own.
func post(
    _ url: String, _ body: [UInt8] = Array("{}".utf8), headers: [String] = [], timeout: Double = 10
) throws -> HTTPOutcome {
    var client = try httpClient()
    return client.post(body, options(url, headers: headers, timeout: timeout), wakeup: try Wakeup()) { false }
}

func options(_ url: String, headers: [String] = [], timeout: Double = 10) -> HTTPOptions {
    HTTPOptions(url: url, headers: headers, userAgent: "beekond/1.2.3", timeout: timeout)
}

/// Serves one answer to every request of every connection.
func answering(_ answer: String) throws -> RawServer {
    try RawServer { link in
        while link.request() { link.send(answer) }
    }
}

extension HTTPOutcome {
    /// There is no complete answer, and neither the clock nor the user is to blame.
    var isNetworkFailure: Bool {
        if case .failure(let failure) = self {
            failure.kind == .network && !failure.message.isEmpty
        } else {
            false
        }
    }
}
