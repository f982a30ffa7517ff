import Base
import DaemonConfiguration
import Simulation
import Tracking

@testable import Envelope
@testable import Upload

extension Subject {
    /// Status and headers of a response: decides what happens to the batch.
    static let answer = Subject(name: "answer") { input in
        let status = input.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        var (head, body, piecewise) = (AnswerHead(), AnswerBody(), AnswerBody())
        var rest = input.dropFirst(2)
        while !rest.isEmpty, !head.isComplete || rest.starts(with: "HTTP/".utf8) {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            head.read(UnsafeRawBufferPointer(rebasing: rest[rest.startIndex..<end]))
            rest = rest[end...]
        }
        body.append(rest)
        for byte in rest { piecewise.append(CollectionOfOne(byte)) }
        precondition(
            body.isPage(asHTML: true) == piecewise.isPage(asHTML: true) && body.isObject == piecewise.isObject
        )
        precondition(body.isPage(asHTML: true) || !body.isPage(asHTML: false))
        let text = Array(rest.prefix(JSONReader.byteLimit))
        let time = Timestamp(milliseconds: 1_781_000_000_000)
        let answer = Answer(
            status: status, head, body, isCut: text.count < rest.count, text: text)
        _ = BeekonFormat.doubt(answer, acknowledging: "x")
        let acceptance = Acceptance(member: "data.0.state", values: ["ok", "7", "null"])
        for (format, said) in Format.allCases.flatMap({ [($0, nil), ($0, acceptance)] }) {
            let judgement = format.judge(answer, acknowledging: nil, saying: said, at: time)
            precondition(!judgement.isSilent || said == nil && judgement.verdict == .accepted)
            switch judgement.verdict {
            case .accepted: precondition((200...299).contains(status))
            case .rejected: precondition(!format.traits.isForeign && (status == 400 || status == 422))
            case .unauthorised: precondition(status == 401 || status == 403)
            case .transient(let seconds): precondition(seconds.map { (0...3600).contains($0) } ?? true)
            case .permanent: break
            }
            if let cause = Format.Cause(judgement) { precondition(format.advice(cause).utf8.count <= 400) }
        }
    }

    /// The head of a frozen request, read back from the disk: a request of one line and known headers, or none.
    static let request = Subject(name: "request") { input in
        let format = Format.allCases[Int(input.first ?? 0) % Format.allCases.count]
        let head = Array(input.dropFirst())
        guard let request = Request(format: format.rawValue, head: head, body: [7]) else { return }
        precondition(request.format == format && request.body == [7])
        let texts = [request.query, request.contentType, request.encoding, request.topic].compactMap(\.self)
        for text in texts + request.headers.map(\.value) {
            precondition(text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        }
        // One request has one head, but for the usual one of beekon, which has none.
        precondition(request.head.map { $0 == head } ?? (format == .beekon))
    }

    /// A broker, in pieces, with time passing: nothing is acknowledged that was not sent, and no reason is too long to log.
    static let mqtt = Subject(name: "mqtt") { input in
        guard let first = input.first else { return }
        let version = first & 1 == 0 ? MQTTVersion.v5 : .v311
        let publication = MQTTPublication(MQTTMessage(topic: "t", payload: [1]), expectsEcho: first & 2 != 0)
        var now = BootInstant(nanoseconds: 0)
        // The same ids for the same input, or what was found would not be found again.
        var random = SplitMix64(seed: UInt64(first))
        var connection = MQTTConnection(
            MQTTConnect(version: version, clientID: "c", will: publication.message, keepAlive: 60),
            using: &random,
            now: now)
        _ = connection.begin(publication, deadline: now.advanced(bySeconds: 30), using: &random, now: now)
        let piece = max(1, Int(first >> 2))
        var rest = input.dropFirst()
        while !rest.isEmpty {
            connection.wrote(connection.output.bytes.count, now: now)
            let outcome = connection.receive(rest.prefix(piece), now: now) ?? connection.expire(now: now)
            rest = rest.dropFirst(piece)
            now = now.advanced(bySeconds: 1)
            guard case .answer(let answer) = outcome else { continue }
            precondition(answer.source != .puback || connection.wasSent)
            precondition(answer.reason.map { $0.count <= 200 && !$0.contains("\n") } ?? true)
            _ = OwnTracksMQTT.advice(answer)
            let verdict = OwnTracksMQTT.judge(answer, acceptsUnsubscribed: true).verdict
            precondition(verdict != .accepted || answer.source == .puback)
            if !connection.isOver {
                _ = connection.begin(
                    publication, deadline: now.advanced(bySeconds: 30), using: &random, now: now)
            }
        }
        precondition(connection.output.bytes.count < 100)
        precondition(!connection.isOver || connection.due == nil)
    }

    /// `Retry-After`, at any time.
    static let retryAfter = Subject(name: "retry-after") { input in
        let milliseconds = input.prefix(6).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let text = String(decoding: input.dropFirst(6), as: UTF8.self)
        let seconds = RetryAfter.seconds(text, at: Timestamp(milliseconds: milliseconds))
        precondition(seconds.map { (0...RetryAfter.limit).contains($0) } ?? true)
    }

    /// A token endpoint's response, parsed into a token and its expiry.
    static let token = Subject(name: "token") { input in
        let mapping = TokenMapping(accessToken: "data.0.t", expiresAt: "data.at", expiresIn: "in")
        for mapping in [TokenMapping(), mapping] {
            guard let answer = TokenAnswer(Array(input), mapping: mapping) else { continue }
            precondition(Tokens.isToken(answer.access) && answer.refresh.map { Tokens.isToken($0) } ?? true)
            switch answer.expiry {
            case .at(let moment): precondition((0...253_402_300_799).contains(moment))
            case .within(let seconds): precondition(seconds > 0 && seconds <= TokenAnswer.longest)
            case nil: break
            }
        }
    }

    /// The file that stores the tokens: nothing opens that was not sealed.
    static let envelope = Subject(name: "envelope") { input in
        guard let key = TokenKey(material: [UInt8](repeating: 7, count: 32)) else { return }
        let opened = try? TokenEnvelope.open(Array(input), with: [key])
        precondition(opened == nil)
    }
}
