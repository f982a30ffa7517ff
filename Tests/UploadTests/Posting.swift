import Base
import Linux
import Support
import Testing

@testable import Upload

/// What a request came to, as the format `beekon` sees it.
enum Seen: Equatable {
    case response(status: Int, retryAfter: String?, doubt: Doubt? = nil)
    case failure(TransportFailure)
    case cancelled

    init(_ outcome: HTTPOutcome, acknowledging id: String? = nil) {
        switch outcome {
        case .answer(let answer):
            let doubt =
                (200...299).contains(answer.status) ? BeekonFormat.doubt(answer, acknowledging: id) : nil
            self = .response(status: answer.status, retryAfter: answer.retryAfter, doubt: doubt)
        case .failure(let failure): self = .failure(failure)
        case .cancelled: self = .cancelled
        }
    }

    /// There is no complete answer, and neither the clock nor the user is to blame.
    var isNetworkFailure: Bool {
        if case .failure(let failure) = self {
            failure.kind == .network && !failure.message.isEmpty
        } else {
            false
        }
    }
}

func httpClient() throws -> HTTPClient {
    guard let client = HTTPClient() else { throw SetUpFailed(operation: "libcurl", code: 0) }
    return client
}

/// The present moment.
func bootTime() -> BootInstant { BootInstant(nanoseconds: Clock.boot()) }

extension Rest {
    /// Until it is over, or somebody signals, or a second has passed.
    func wait(or wakeup: Wakeup) {
        let now = bootTime()
        var rest = self
        rest.add(wakeup.descriptor)
        rest.end(by: now.advanced(bySeconds: 1))
        rest.wait(now: now)
    }
}

extension HTTPClient {
    /// Waits until there is anything to do, and does it.
    func advance(wakeup: Wakeup) -> Progress {
        rest(now: bootTime()).wait(or: wakeup)
        return advance()
    }
}

extension MQTTClient {
    /// Waits until there is anything to do, and does it.
    mutating func advance(wakeup: Wakeup) -> Progress {
        rest(now: bootTime()).wait(or: wakeup)
        return advance(now: bootTime())
    }

    mutating func tend() -> String? { tend(now: bootTime()) }
}

extension Carrier {
    /// Waits until there is anything to do, and does it.
    mutating func advance(wakeup: Wakeup) -> Progress {
        rest(now: bootTime()).wait(or: wakeup)
        return advance(now: bootTime())
    }

    mutating func tend() -> String? { tend(now: bootTime()) }
}

/// There is a connection to be kept alive.
func isTended(_ carrier: inout Carrier) -> Bool { carrier.tendingRest.end != nil }

extension HTTPClient {
    /// Sends a batch, and judges the answer.
    func ask(
        _ body: [UInt8], _ options: HTTPOptions, acknowledging id: String? = nil, wakeup: Wakeup,
        isCancelled: () -> Bool
    ) -> Seen {
        let outcome = post(body, options, wakeup: wakeup, isCancelled: isCancelled)
        return Seen(outcome, acknowledging: id)
    }
}

/// One POST with a client of its own.
func post(
    _ url: String, _ body: [UInt8] = Array("{}".utf8), headers: [String] = [], timeout: Double = 10
) throws -> Seen {
    let client = try httpClient()
    return client.ask(body, options(url, headers: headers, timeout: timeout), wakeup: try Wakeup()) { false }
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
